"""Tests of scores: BLEU and chrF, exact match, and BLEU as in papers."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.grammar import PHENOMENA
from clearhead.errors import UserError
from clearhead.evaluation.evaluation import evaluate
from clearhead.evaluation.examples import Examples
from clearhead.evaluation.scores import Count, MosesBleu, compare, exact_match, moses_bleu, score
from tests.evaluation.tiny import pairs

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


@pytest.mark.parametrize("column", [np.array, iter, tuple])
def test_columns_of_a_table_are_scored_as_lists_are(column: Callable[[list[str]], Any]) -> None:
    assert score(column(HYPOTHESES), column(REFERENCES)) == score(HYPOTHESES, REFERENCES)
    expected = compare(HYPOTHESES, REFERENCES, REFERENCES, resamples=10)
    assert compare(*map(column, (HYPOTHESES, REFERENCES, REFERENCES)), resamples=10) == expected


def test_a_text_is_no_list_of_lines() -> None:
    with pytest.raises(UserError, match=r"got one str; write \[text\]"):
        score("Le chat dort.", "Le chien dort.")
    with pytest.raises(UserError, match="text 0 is of type list; expected a str"):
        score(["Le chat dort."], [["Le chien dort."]])  # type: ignore[list-item]


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


@pytest.mark.parametrize("seed", ["x", "", "-1", "4294967296"])
def test_a_seed_that_is_no_number_is_one_line(monkeypatch: pytest.MonkeyPatch, seed: str) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    with pytest.raises(UserError, match=r"SACREBLEU_SEED.*whole number"):
        compare(BETTER, WORSE, NUMBERED, 50)


def test_a_system_does_not_differ_from_itself() -> None:
    for comparison in compare(BETTER, BETTER, NUMBERED, 50):
        assert comparison.difference == 0
        assert comparison.p_value == 1


def test_a_single_line_shows_no_significant_difference() -> None:
    for comparison in compare(NUMBERED[:1], WORSE[:1], NUMBERED[:1], 50):
        assert comparison.difference > 0
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


def test_the_references_are_all_right() -> None:
    generated = pairs(count=30)
    found = exact_match([pair.target for pair in generated], generated)
    assert found.overall == Count(30, 30)
    assert all(c.percent == 100 for c in found.by_phenomenon.values())
    assert all(c.percent == 100 for c in found.by_construction.values())


@given(st.lists(st.booleans(), min_size=30, max_size=30))
def test_each_sentence_counts_once_overall_and_once_per_phenomenon(right: list[bool]) -> None:
    generated = pairs(count=30)
    found = exact_match(
        [p.target if r else p.target + " !" for p, r in zip(generated, right, strict=True)],
        generated,
    )
    assert found.overall == Count(sum(right), 30)
    assert sum(c.total for c in found.by_construction.values()) == 30
    assert sum(c.right for c in found.by_construction.values()) == sum(right)
    for name in PHENOMENA:
        of_kind = [r for p, r in zip(generated, right, strict=True) if name in p.phenomena]
        assert found.by_phenomenon.get(name, Count(0, 0)) == Count(sum(of_kind), len(of_kind))


def test_another_space_before_a_question_mark_is_wrong() -> None:
    question = next(pair for pair in pairs(count=30) if pair.target.endswith("?"))
    assert exact_match([question.target.replace("\u202f", " ")], [question]).overall.right == 0


def test_a_missing_hypothesis_is_refused() -> None:
    with pytest.raises(UserError, match="1 hypotheses for 2 references"):
        exact_match(["a"], pairs()[:2])


sacremoses = pytest.importorskip("sacremoses")

MOSES_REFERENCES = [
    "Un homme en T-shirt rouge dort sur l'herbe.",
    "«\u00a0C'est aujourd’hui\u00a0!\u00a0» dit M. Dupont, 42\u00a0ans…",
    "",
    "Une fille [et son chien] courent sur la plage ; il fait beau & chaud.",
]
MOSES_HYPOTHESES = [
    "Un homme au t-shirt rouge dort sur l’herbe.",
    "“C'est aujourd'hui!” a dit M. Dupont, 42 ans...",
    "rien",
    "Une fille [avec un chien] court sur la plage; il fait beau & froid.",
]


def preprocessed(text: str, language: str = "fr") -> str:
    normalized = sacremoses.MosesPunctNormalizer(lang=language).normalize(text)
    tokens = sacremoses.MosesTokenizer(lang=language).tokenize(normalized.lower(), escape=True)
    return " ".join(tokens)


def plain_bleu(hypotheses: list[str], references: list[str]) -> float:
    found = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="none", force=True)
    return float(found.score)


def test_the_score_is_that_of_sacremoses_and_sacrebleu() -> None:
    expected = plain_bleu(
        [preprocessed(line) for line in MOSES_HYPOTHESES],
        [preprocessed(line) for line in MOSES_REFERENCES],
    )
    assert 20 < expected < 90
    assert moses_bleu().score(MOSES_HYPOTHESES, MOSES_REFERENCES).value == expected


def test_tokenized_references_are_not_tokenized_again() -> None:
    ready = [preprocessed(line) for line in MOSES_REFERENCES]
    raw = moses_bleu().score(MOSES_HYPOTHESES, MOSES_REFERENCES)
    assert moses_bleu(tokenized=ready).score(MOSES_HYPOTHESES, ["unused"] * 4) == raw
    # Its escapes would be escaped twice.
    assert moses_bleu(tokenized=ready).score(
        MOSES_REFERENCES, MOSES_REFERENCES
    ).value == pytest.approx(100)


def test_the_references_themselves_score_100() -> None:
    assert moses_bleu().score(MOSES_REFERENCES, MOSES_REFERENCES).value == pytest.approx(100)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Normalized first: typographic quotation marks become ASCII.
        ("«\u00a0Oui\u00a0»", "&quot; oui &quot;"),
        ("l’eau…", "l&apos; eau ..."),
        # Lower-cased before tokenization: a full stop before a lower-case letter is kept.
        ("Il dort. Elle rit.", "il dort. elle rit ."),
        # With escapes; hyphens stay in their words.
        ("[A & B] | <c>", "&#91; a &amp; b &#93; &#124; &lt; c &gt;"),
        ("Un demi-tour", "un demi-tour"),
    ],
)
def test_a_line_is_normalized_then_lower_cased_then_tokenized(text: str, tokens: str) -> None:
    assert moses_bleu().preprocess(text) == tokens == preprocessed(text)


def test_the_tokenizer_is_that_of_the_language() -> None:
    assert moses_bleu("fr").preprocess("It's l'eau") == "it&apos; s l&apos; eau"
    assert moses_bleu("en").preprocess("It's l'eau") == "it &apos;s l &apos;eau"


def test_the_signature_contains_case_tokenizer_language_and_versions() -> None:
    signature = moses_bleu().score(MOSES_HYPOTHESES, MOSES_REFERENCES).signature
    assert signature == (
        f"nrefs:1|case:lc|eff:no|tok:moses-norm-fr-sacremoses-{sacremoses.__version__}"
        f"|smooth:exp|version:{sacrebleu.__version__}"
    )


def test_it_is_reported_in_addition_to_the_scores() -> None:
    examples = Examples(["a", "b", "c", "d"], MOSES_REFERENCES)
    plain, both = (
        evaluate(examples, MOSES_HYPOTHESES),
        evaluate(examples, MOSES_HYPOTHESES, papers=moses_bleu()),
    )
    assert plain.as_papers is None
    assert both.scores == plain.scores
    assert both.as_papers == moses_bleu().score(MOSES_HYPOTHESES, MOSES_REFERENCES)


def test_a_missing_line_is_refused() -> None:
    with pytest.raises(UserError, match="3 hypotheses for 4 references"):
        moses_bleu().score(MOSES_HYPOTHESES[:-1], MOSES_REFERENCES)
    with pytest.raises(UserError, match="4 hypotheses for 1 references"):
        moses_bleu(tokenized=["une"]).score(MOSES_HYPOTHESES, MOSES_REFERENCES)


@pytest.mark.parametrize("language", ["xx", "french", ""])
def test_a_language_without_a_tokenizer_is_refused(language: str) -> None:
    with pytest.raises(UserError, match=f"does not support the language '{language}'.* en, .* fr,"):
        moses_bleu(language)


def test_without_sacremoses_the_error_has_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(UserError, match=r"needs sacremoses.* pip install 'clearhead\[compare\]'"):
        moses_bleu()


def test_the_preprocessing_can_be_replaced() -> None:
    other = MosesBleu(lambda text: text.replace("!", " !"), "mine")
    assert other.score(["le chat dort ici!"], ["le chat dort ici !"]).value == pytest.approx(100)
