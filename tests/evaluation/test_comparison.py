import pytest
import sacrebleu

from clearhead.errors import UserError
from clearhead.evaluation.comparison import compare

REFERENCES = [f"le chat numéro {n} dort sur la grande table." for n in range(40)]
BETTER = [line.replace("grande", "petite") if n % 8 == 0 else line
          for n, line in enumerate(REFERENCES)]  # fmt: skip
WORSE = [line.replace("dort sur", "est à") for line in REFERENCES]


def test_the_same_systems_compare_the_same_every_time() -> None:
    assert compare(BETTER, WORSE, REFERENCES, 50) == compare(BETTER, WORSE, REFERENCES, 50)


def test_a_system_does_not_differ_from_itself() -> None:
    for comparison in compare(BETTER, BETTER, REFERENCES, 50):
        assert comparison.difference == 0
        assert comparison.p_value == 1


def test_a_clear_difference_is_significant_and_has_the_sign_of_the_better_one() -> None:
    for ours, theirs, sign in ((BETTER, WORSE, 1), (WORSE, BETTER, -1)):
        for comparison in compare(ours, theirs, REFERENCES, 200):
            assert comparison.difference * sign > 0
            assert comparison.p_value < 0.05


def test_exchanging_the_systems_exchanges_their_scores() -> None:
    for one, other in zip(
        compare(BETTER, WORSE, REFERENCES, 50),
        compare(WORSE, BETTER, REFERENCES, 50),
        strict=True,
    ):
        assert (one.value, one.other) == (other.other, other.value)
        assert one.p_value == other.p_value


def test_values_are_the_scores_of_the_whole_set_and_the_signature_tells_the_test() -> None:
    bleu, chrf = compare(BETTER, WORSE, REFERENCES, 50)
    assert (bleu.metric, chrf.metric) == ("BLEU", "chrF")
    assert bleu.value == pytest.approx(sacrebleu.corpus_bleu(BETTER, [REFERENCES]).score)
    assert chrf.other == pytest.approx(sacrebleu.corpus_chrf(WORSE, [REFERENCES]).score)
    assert "bs:50|seed:12345|" in bleu.signature


def test_a_missing_line_is_refused() -> None:
    with pytest.raises(UserError, match="39 hypotheses for 40 references"):
        compare(BETTER, WORSE[:-1], REFERENCES)
