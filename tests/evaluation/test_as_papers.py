import sys

import pytest
import sacrebleu

from clearhead.errors import UserError
from clearhead.evaluation.as_papers import AsPapers, as_papers
from clearhead.evaluation.examples import Examples
from clearhead.evaluation.judge import judge

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


def by_hand(text: str, language: str = "fr") -> str:
    normalized = sacremoses.MosesPunctNormalizer(lang=language).normalize(text)
    tokens = sacremoses.MosesTokenizer(lang=language).tokenize(normalized.lower(), escape=True)
    return " ".join(tokens)


def bleu_by_hand(hypotheses: list[str], references: list[str]) -> float:
    found = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="none", force=True)
    return float(found.score)


def test_the_score_is_that_of_sacremoses_and_sacrebleu_called_by_hand() -> None:
    expected = bleu_by_hand(
        [by_hand(line) for line in HYPOTHESES], [by_hand(line) for line in REFERENCES]
    )
    assert 20 < expected < 90
    assert as_papers().score(HYPOTHESES, REFERENCES).value == expected


def test_references_that_went_the_road_before_are_taken_as_they_are() -> None:
    ready = [by_hand(line) for line in REFERENCES]
    raw = as_papers().score(HYPOTHESES, REFERENCES)
    assert as_papers(tokenized=ready).score(HYPOTHESES, ["not looked at"] * 4) == raw
    # Not tokenised a second time: its escapes would be escaped once more.
    assert as_papers(tokenized=ready).score(REFERENCES, REFERENCES).value == pytest.approx(100)


def test_the_references_themselves_score_100() -> None:
    assert as_papers().score(REFERENCES, REFERENCES).value == pytest.approx(100)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Normalised first: the typographer's quotation marks are those of a typewriter.
        ("«\u00a0Oui\u00a0»", "&quot; oui &quot;"),
        ("l’eau…", "l&apos; eau ..."),
        # Lower-cased before it is tokenised: where no capital follows, a full stop stays.
        ("Il dort. Elle rit.", "il dort. elle rit ."),
        # Escapes on, and hyphens left in their words.
        ("[A & B] | <c>", "&#91; a &amp; b &#93; &#124; &lt; c &gt;"),
        ("Un demi-tour", "un demi-tour"),
    ],
)
def test_a_line_is_normalised_then_lower_cased_then_tokenised(text: str, tokens: str) -> None:
    assert as_papers().road(text) == tokens == by_hand(text)


def test_the_tokenizer_is_that_of_the_language() -> None:
    assert as_papers("fr").road("It's l'eau") == "it&apos; s l&apos; eau"
    assert as_papers("en").road("It's l'eau") == "it &apos;s l &apos;eau"


def test_the_signature_tells_case_tokenizer_language_and_versions() -> None:
    signature = as_papers().score(HYPOTHESES, REFERENCES).signature
    assert signature == (
        f"nrefs:1|case:lc|eff:no|tok:moses-norm-fr-sacremoses-{sacremoses.__version__}"
        f"|smooth:exp|version:{sacrebleu.__version__}"
    )


def test_it_stands_beside_the_scores_and_never_in_their_place() -> None:
    examples = Examples(["a", "b", "c", "d"], REFERENCES)
    plain, both = judge(examples, HYPOTHESES), judge(examples, HYPOTHESES, papers=as_papers())
    assert plain.as_papers is None
    assert both.scores == plain.scores
    assert both.as_papers == as_papers().score(HYPOTHESES, REFERENCES)


def test_a_missing_line_is_refused() -> None:
    with pytest.raises(UserError, match="3 hypotheses for 4 references"):
        as_papers().score(HYPOTHESES[:-1], REFERENCES)
    with pytest.raises(UserError, match="4 hypotheses for 1 references"):
        as_papers(tokenized=["une"]).score(HYPOTHESES, REFERENCES)


@pytest.mark.parametrize("language", ["xx", "french", ""])
def test_a_language_without_a_tokenizer_is_refused(language: str) -> None:
    with pytest.raises(UserError, match=f"does not know the language '{language}'.* en, .* fr,"):
        as_papers(language)


def test_without_sacremoses_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(UserError, match=r"needs sacremoses.* pip install 'clearhead\[compare\]'"):
        as_papers()


def test_the_road_may_be_another() -> None:
    shouting = AsPapers(lambda text: text.replace("!", " !"), "mine")
    assert shouting.score(["le chat dort ici!"], ["le chat dort ici !"]).value == pytest.approx(100)
