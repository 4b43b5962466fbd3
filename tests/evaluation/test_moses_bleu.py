import sys

import pytest
import sacrebleu

from clearhead.errors import UserError
from clearhead.evaluation.evaluation import evaluate
from clearhead.evaluation.examples import Examples
from clearhead.evaluation.moses_bleu import MosesBleu, moses_bleu

sacremoses = pytest.importorskip("sacremoses")

REFERENCES = [
    "Un homme en T-shirt rouge dort sur l'herbe.",
    "«\u00a0C'est aujourd’hui\u00a0!\u00a0» dit M. Dupont, 42\u00a0ans…",
    "",
    "Une fille [et son chien] courent sur la plage ; il fait beau & chaud.",
]
HYPOTHESES = [
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
        [preprocessed(line) for line in HYPOTHESES], [preprocessed(line) for line in REFERENCES]
    )
    assert 20 < expected < 90
    assert moses_bleu().score(HYPOTHESES, REFERENCES).value == expected


def test_tokenized_references_are_not_tokenized_again() -> None:
    ready = [preprocessed(line) for line in REFERENCES]
    raw = moses_bleu().score(HYPOTHESES, REFERENCES)
    assert moses_bleu(tokenized=ready).score(HYPOTHESES, ["unused"] * 4) == raw
    # Its escapes would be escaped twice.
    assert moses_bleu(tokenized=ready).score(REFERENCES, REFERENCES).value == pytest.approx(100)


def test_the_references_themselves_score_100() -> None:
    assert moses_bleu().score(REFERENCES, REFERENCES).value == pytest.approx(100)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Normalised first: typographic quotation marks become ASCII.
        ("«\u00a0Oui\u00a0»", "&quot; oui &quot;"),
        ("l’eau…", "l&apos; eau ..."),
        # Lower-cased before tokenisation: a full stop before a lower-case letter is kept.
        ("Il dort. Elle rit.", "il dort. elle rit ."),
        # With escapes; hyphens stay in their words.
        ("[A & B] | <c>", "&#91; a &amp; b &#93; &#124; &lt; c &gt;"),
        ("Un demi-tour", "un demi-tour"),
    ],
)
def test_a_line_is_normalised_then_lower_cased_then_tokenised(text: str, tokens: str) -> None:
    assert moses_bleu().preprocess(text) == tokens == preprocessed(text)


def test_the_tokenizer_is_that_of_the_language() -> None:
    assert moses_bleu("fr").preprocess("It's l'eau") == "it&apos; s l&apos; eau"
    assert moses_bleu("en").preprocess("It's l'eau") == "it &apos;s l &apos;eau"


def test_the_signature_contains_case_tokenizer_language_and_versions() -> None:
    signature = moses_bleu().score(HYPOTHESES, REFERENCES).signature
    assert signature == (
        f"nrefs:1|case:lc|eff:no|tok:moses-norm-fr-sacremoses-{sacremoses.__version__}"
        f"|smooth:exp|version:{sacrebleu.__version__}"
    )


def test_it_is_reported_in_addition_to_the_scores() -> None:
    examples = Examples(["a", "b", "c", "d"], REFERENCES)
    plain, both = (
        evaluate(examples, HYPOTHESES),
        evaluate(examples, HYPOTHESES, papers=moses_bleu()),
    )
    assert plain.as_papers is None
    assert both.scores == plain.scores
    assert both.as_papers == moses_bleu().score(HYPOTHESES, REFERENCES)


def test_a_missing_line_is_refused() -> None:
    with pytest.raises(UserError, match="3 hypotheses for 4 references"):
        moses_bleu().score(HYPOTHESES[:-1], REFERENCES)
    with pytest.raises(UserError, match="4 hypotheses for 1 references"):
        moses_bleu(tokenized=["une"]).score(HYPOTHESES, REFERENCES)


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
