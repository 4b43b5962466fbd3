"""Names, numbers, URLs and so on that are missing, and marks on doubtful translations."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from clearhead.decoding import DecodingOptions
from clearhead.native.choice import EngineName
from clearhead.translation import Translation, Translator
from clearhead.translation.doubt.english import NO_WORDS
from clearhead.translation.doubt.marker import (
    LOW_SCORE,
    DoubtMarker,
    literals,
    missing_copies,
    missing_literals,
)
from tests.corpora import FOLDER
from tests.translation.tiny import parts

KINDS = [
    ("Look at https://example.com/docs/setup.html.", "URL", "https://example.com/docs/setup.html"),
    ("Visit www.example.fr, please.", "URL", "www.example.fr"),
    ("Look at nvidia.eu/a_b/train?q=x&p=4.", "URL", "nvidia.eu/a_b/train?q=x&p=4"),
    ("Open server/docs_v6.jpg.", "file name", "server/docs_v6.jpg"),
    ("Write to claire.dupont@example.org.", "e-mail address", "claire.dupont@example.org"),
    ("Type `make test` now.", "code", "make test"),
    ("Follow #OpenScience today.", "hashtag", "#OpenScience"),
    ("Thanks to @maya_k!", "name", "@maya_k"),
    ("Open report_final_v2.docx.", "file name", "report_final_v2.docx"),
    ("Copy it to /data/photos.", "path", "/data/photos"),
    ("The variable user_name is empty.", "identifier", "user_name"),
    ("See you on Sunday 🎂", "emoji", "🎂"),
    ("Where is gate B12?", "code", "B12"),
    ("It is called GPT-4.", "code", "GPT-4"),
]


@pytest.mark.parametrize(("source", "kind", "text"), KINDS)
def test_what_is_not_copied_letter_by_letter_is_named(source: str, kind: str, text: str) -> None:
    assert missing_copies(source, source) == []
    wrong = source.replace(text, text[:-1] + "ü")
    assert f"{kind} {text} missing" in [
        literal.message for literal in missing_copies(source, wrong)
    ]


def test_an_english_word_that_stays_is_named() -> None:
    marker = DoubtMarker(-1.0)
    source, kept = "The talk (this evening) was cancelled.", "Le talk (this evening) cancelled."
    reasons = marker(source, kept, -0.1, True)
    assert reasons == tuple(f"{word} not translated" for word in ("this", "evening", "cancelled"))
    for source, kept in (
        ("The table is `red`.", "La table est `red`."),
        ("She is called Prudence Hill.", "Elle s'appelle Prudence Hill."),
        ("Open the dropout menu.", "Ouvre le menu dropout."),
    ):
        assert marker(source, kept, -0.1, True) == ()


@pytest.mark.parametrize(
    "text", ["and/or", "at 60 km/h", "the 14th", "250g of flour", "mid-1990s", "it costs 5.50 e.g."]
)
def test_ordinary_writing_is_no_literal(text: str) -> None:
    assert literals(text)[0] == []


REPEATED = ("a.", "a/", "aa.bb", "a-", "a_", "@a", "#a", "`a", "1.", "1,", "1-", "1:", "A1-", "😀")


@pytest.mark.parametrize("part", REPEATED)
def test_long_lines_take_linear_time(part: str) -> None:
    """With quadratic time a line of this length would take many minutes."""
    text = part * (200_000 // len(part))
    missing_copies(f"See {text} and {text}! now", "")


def test_the_digits_of_a_literal_are_not_numbers() -> None:
    assert missing_copies("Open data_2.csv at 7.", "Ouvrez à 7 h.") == [("file name", "data_2.csv")]


def test_human_translations_copy_every_literal() -> None:
    lines = (FOLDER / "copies.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t")[:2] for line in lines if not line.startswith("#")]
    found = [literals(source)[0] for source, _ in pairs]
    assert sum(map(len, found)) > 100
    alarms = [missing_literals(own, pair[1]) for own, pair in zip(found, pairs, strict=True)]
    assert not [alarm for alarm in alarms if alarm]


TEXTS = [
    "Hello world, how are you?",
    "",
    "The cat 408 is on the table. I am fine, Aleksandra.",
    "...",
    "Comment allez-vous ? Je vais bien.",
]


@pytest.fixture(params=["native", "readable"])
def translator(request: pytest.FixtureRequest) -> Iterator[Translator]:
    engine: EngineName = request.param
    yield Translator(*parts(), engine=engine)


def marked(translator: Translator, texts: list[str], n_best: int = 1) -> list[list[Translation]]:
    options = DecodingOptions(beam_size=3, n_best=n_best, max_length=7, scores=False)
    return translator.translate_detailed(texts, options, mark_doubt=True)


def test_marking_changes_no_translation(translator: Translator) -> None:
    options = DecodingOptions(beam_size=3, n_best=2, max_length=7)
    plain = translator.translate_detailed(TEXTS, options)
    found = marked(translator, TEXTS, n_best=2)
    assert [[replace(t, doubt=None) for t in best] for best in found] == plain
    assert all(t.doubt is None for best in plain for t in best)


def test_a_batch_is_marked_as_single_texts_are(translator: Translator) -> None:
    together = [best[0].doubt for best in marked(translator, TEXTS)]
    alone = [marked(translator, [text])[0][0].doubt for text in TEXTS]
    assert together == alone


def test_what_is_missing_in_a_sentence_marks_the_text(translator: Translator) -> None:
    """A model that knows nothing loses the number of one sentence and the name of the other."""
    doubt = marked(translator, TEXTS)[2][0].doubt
    assert doubt is not None
    assert {"number 408 missing", "name Aleksandra missing"} <= set(doubt)


def test_a_blank_text_has_no_words_and_no_other_doubt(translator: Translator) -> None:
    assert (
        marked(translator, ["", " \t"], n_best=2)
        == [[Translation("", 0.0, 0.0, True, (), doubt=(NO_WORDS,))] * 2] * 2
    )


def test_only_a_score_below_the_threshold_is_low(translator: Translator) -> None:
    score = marked(translator, ["Hello world"])[0][0].per_token
    for threshold, low in ((score - 0.01, False), (score + 0.01, True)):
        translator.doubt_threshold = threshold
        doubt = marked(translator, ["Hello world"])[0][0].doubt
        assert doubt is not None
        assert (LOW_SCORE in doubt) == low


def test_the_score_of_a_text_is_that_of_its_least_certain_sentence(translator: Translator) -> None:
    text = "Hello world. I am fine."
    single = [marked(translator, [part])[0][0] for part in ("Hello world.", "I am fine.")]
    assert marked(translator, [text])[0][0].per_token == pytest.approx(
        min(t.per_token for t in single)
    )
    for t in single:
        assert t.per_token == pytest.approx(t.score / (len(t.ids[0]) + 1))


def test_a_copy_of_the_french_translation_has_no_doubt() -> None:
    marker = DoubtMarker(-0.5)
    assert marker("Tom is 5 years old.", "Tom a 5 ans.", -0.1, True) == ()
    assert marker("Tom is 5 years old.", "Tom a cinq ans.", -0.1, False) == ("cut off",)
    assert marker("Tom is 5 years old.", "Tom est vieux.", float("nan"), True) == (
        LOW_SCORE,
        "number 5 missing",
    )
