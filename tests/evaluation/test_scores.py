import json
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.evaluation.scores import compare, score

REFERENCES = [
    "Le chat est assis sur la table.",
    "Il fait beau aujourd'hui, n'est-ce pas\u202f?",
    "",
    "Une phrase assez longue pour quatre mots.",
]
HYPOTHESES = [
    "Le chat est sur la table.",
    "Il fait beau aujourd'hui\u202f!",
    "rien",
    "Une phrase assez longue pour quatre mots.",
]
WORDS = ["le", "chat", "dort", "sur", "la", "table", ".", "?"]
LINE = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
LINES = st.lists(st.tuples(LINE, LINE), min_size=1, max_size=6)


def test_scores_are_those_of_the_sacrebleu_library() -> None:
    found = score(HYPOTHESES, REFERENCES)
    assert found.bleu.value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert found.chrf.value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score


def test_scores_and_signatures_are_those_of_the_sacrebleu_command(tmp_path: Path) -> None:
    for name, lines in (("hyp", HYPOTHESES), ("ref", REFERENCES)):
        text = "".join(f"{line}\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8", newline="\n")
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "hyp", "-m", "bleu", "chrf", "-w9"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True, timeout=120
    )
    bleu, chrf = json.loads(done.stdout)
    found = score(HYPOTHESES, REFERENCES)
    for ours, theirs in ((found.bleu, bleu), (found.chrf, chrf)):
        assert ours.value == pytest.approx(theirs["score"], abs=1e-8)
        assert ours.signature == theirs["signature"]


def test_the_reference_itself_scores_100() -> None:
    found = score(REFERENCES, REFERENCES)
    assert found.bleu.value == pytest.approx(100)
    assert found.chrf.value == pytest.approx(100)
    assert found.length_ratio == 1


@given(LINES)
def test_scores_stay_between_0_and_100(lines: list[tuple[str, str]]) -> None:
    hypotheses, references = [h for h, _ in lines], [r for _, r in lines]
    found = score(hypotheses, references)
    assert 0 <= found.bleu.value <= 100 + 1e-9
    assert 0 <= found.chrf.value <= 100 + 1e-9


@given(LINES)
def test_the_length_ratio_counts_tokens_of_both_sides(lines: list[tuple[str, str]]) -> None:
    hypotheses, references = [h for h, _ in lines], [r for _, r in lines]
    words = sum(len(r.split()) for r in references)
    expected = sum(len(h.split()) for h in hypotheses) / words if words else None
    assert score(hypotheses, references).length_ratio == expected


def test_a_line_that_is_empty_on_both_sides_does_not_change_bleu() -> None:
    lines = ["Le chat est assis sur la table."]
    assert score([*lines, ""], [*lines, ""]).bleu == score(lines, lines).bleu


def test_different_numbers_of_lines_are_refused() -> None:
    with pytest.raises(UserError, match="2 hypotheses for 3 references"):
        score(["a", "b"], ["a", "b", "c"])


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(UserError, match="no line to score"):
        score([], [])


NUMBERED = [f"le chat numéro {n} dort sur la grande table." for n in range(40)]
BETTER = [line.replace("grande", "petite") if n % 8 == 0 else line
          for n, line in enumerate(NUMBERED)]  # fmt: skip
WORSE = [line.replace("dort sur", "est à") for line in NUMBERED]


def test_the_comparison_is_deterministic() -> None:
    assert compare(BETTER, WORSE, NUMBERED, 50) == compare(BETTER, WORSE, NUMBERED, 50)


def test_a_system_does_not_differ_from_itself() -> None:
    for comparison in compare(BETTER, BETTER, NUMBERED, 50):
        assert comparison.difference == 0
        assert comparison.p_value == 1


def test_a_clear_difference_is_significant_and_positive_for_the_better_system() -> None:
    for ours, theirs, direction in ((BETTER, WORSE, 1), (WORSE, BETTER, -1)):
        for comparison in compare(ours, theirs, NUMBERED, 200):
            assert comparison.difference * direction > 0
            assert comparison.p_value < 0.05


def test_swapping_the_systems_swaps_their_scores() -> None:
    for one, other in zip(
        compare(BETTER, WORSE, NUMBERED, 50),
        compare(WORSE, BETTER, NUMBERED, 50),
        strict=True,
    ):
        assert (one.value, one.other) == (other.other, other.value)
        assert one.p_value == other.p_value


def test_values_are_the_scores_of_the_whole_set_with_the_signature_of_the_test() -> None:
    bleu, chrf = compare(BETTER, WORSE, NUMBERED, 50)
    assert (bleu.metric, chrf.metric) == ("BLEU", "chrF")
    assert bleu.value == pytest.approx(sacrebleu.corpus_bleu(BETTER, [NUMBERED]).score)
    assert chrf.other == pytest.approx(sacrebleu.corpus_chrf(WORSE, [NUMBERED]).score)
    assert "bs:50|seed:12345|" in bleu.signature


def test_a_comparison_with_a_missing_line_is_refused() -> None:
    with pytest.raises(UserError, match="39 hypotheses for 40 references"):
        compare(BETTER, WORSE[:-1], NUMBERED)
