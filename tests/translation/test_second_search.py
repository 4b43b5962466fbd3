"""The second search: for what was not copied, and only for that."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from clearhead.decoding import DecodingOptions
from clearhead.native.choice import EngineName
from clearhead.translation import Translation, Translator
from clearhead.translation.doubt.marker import Literal, missing_copies
from clearhead.translation.second_search import restored, stand_ins, swapped
from tests.corpora import corpus_pairs
from tests.translation.tiny import parts, save

# What the shipped translator loses with its first search, and what it keeps.
LOST = [
    "My name is Kwabena Osei-Tutu and I live in Wollongong.",
    "See https://docs.example.org/en/latest/guide.html for details.",
    "Write to jean-claude.vandervelde@post.example.be before Friday.",
    "I can't believe it 🤯🤯",
    "Run `pip install -U numpy` first.",
    "Please read quarterly_report_final_v3.docx again.",
    "Thanks to @maya_k for the photos!",
    "Our flight is XQ7143, and gate C27 is closed.",
]
KEPT = ["Where is the station?", "I have two cats.", "Tom lives in Paris.", "", "  "]
OPTIONS = DecodingOptions(beam_size=3)


@pytest.fixture(scope="module", params=["native", "readable"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Translator, Translator]]:
    """The shipped translator with and without the second search."""
    engine: EngineName = request.param
    plain = Translator.from_pretrained(engine=engine)
    plain.check_copies = False
    yield Translator.from_pretrained(engine=engine), plain


def lacking(texts: Sequence[str], found: list[list[Translation]]) -> list[int]:
    return [len(missing_copies(t, best[0].text)) for t, best in zip(texts, found, strict=True)]


def test_what_lacks_nothing_is_translated_as_without_it(
    pair: tuple[Translator, Translator],
) -> None:
    texts = KEPT + [source for source, _ in Random(3).sample(corpus_pairs(), 60)]
    checked, plain = (t.translate_detailed(texts, OPTIONS) for t in pair)
    complete = [lack == 0 for lack in lacking(texts, plain)]
    assert sum(complete) > 40
    for one, other, same in zip(checked, plain, complete, strict=True):
        assert one == other or not same


def test_no_translation_lacks_more_than_without_it(pair: tuple[Translator, Translator]) -> None:
    checked, plain = (lacking(LOST, t.translate_detailed(LOST, OPTIONS)) for t in pair)
    assert all(now <= before for now, before in zip(checked, plain, strict=True))
    assert sum(checked) < sum(plain) / 2


def test_a_sentence_alone_is_translated_as_in_a_batch(pair: tuple[Translator, Translator]) -> None:
    texts = [*LOST, *KEPT]
    together = pair[0].translate(texts)
    assert together == [pair[0].translate([text])[0] for text in texts]


def test_both_engines_agree() -> None:
    native, readable = (
        Translator.from_pretrained(engine=engine).translate(LOST)
        for engine in ("native", "readable")
    )
    assert native == readable


def test_ids_and_links_and_doubt_are_those_of_the_text(
    pair: tuple[Translator, Translator],
) -> None:
    for text in LOST:
        (best,) = pair[0].translate_detailed([text], OPTIONS, -2, mark_doubt=True)[0]
        # The model reads and writes a name for code.
        assert pair[0].tokenizer.decode(best.ids[0]) == re.sub("`.*`", "X1", best.text)
        assert best.alignment is not None and best.doubt is not None
        words = set(range(len(best.text.split())))
        if code := re.search("`.*`", best.text):  # of which the first word is aligned
            first = len(best.text[: code.start()].split())
            words -= set(range(first + 1, first + len(code[0].split())))
        assert {word for _, word in best.alignment} == words
        missing = {literal.message for literal in missing_copies(text, best.text)}
        assert {reason for reason in best.doubt if reason.endswith(" missing")} == missing
        assert best.per_token <= 0


def test_of_an_n_best_list_the_first_is_the_complete_one(
    pair: tuple[Translator, Translator],
) -> None:
    options = replace(OPTIONS, n_best=3)
    checked = pair[0].translate_detailed([" ".join(LOST[:3])], options)[0]
    single = pair[0].translate(LOST[:3], beam_size=3)
    assert checked[0].text == " ".join(single)
    ranks = [translation.normalized for translation in checked]
    assert ranks == sorted(ranks, reverse=True)


def test_a_model_that_knows_nothing_gets_no_worse() -> None:
    texts = ["The cat 408 is on the table. I am fine, Aleksandra.", *LOST[:2]]
    plain = Translator(*parts()).translate_detailed(texts, OPTIONS)
    translator = Translator(*parts())
    translator.check_copies = True
    checked = translator.translate_detailed(texts, OPTIONS)
    before, now = lacking(texts, plain), lacking(texts, checked)
    assert all(a <= b for a, b in zip(now, before, strict=True))


def test_only_the_shipped_translator_is_checked_unless_asked(tmp_path: Path) -> None:
    assert not Translator.from_pretrained(save(tmp_path)).check_copies
    assert Translator.from_pretrained().check_copies


SENTENCE = "Ask Kwabena, not Aba, about `run.py` 🤯 or room 4711; Kwabena's room is 12."
MISSING = [
    Literal("name", "Kwabena"),
    Literal("name", "Aba"),
    Literal("code", "run.py"),
    Literal("emoji", "🤯"),
    Literal("number", "4711"),
]


@pytest.mark.parametrize("attempt", range(3))
def test_stand_ins_are_reversible_and_differ(attempt: int) -> None:
    swaps = stand_ins(SENTENCE, MISSING, attempt)
    changed = swapped(SENTENCE, swaps)
    assert [swap.original for swap in swaps] == [literal.text for literal in MISSING]
    assert len({swap.stand_in for swap in swaps}) == len(swaps)
    assert not any(swap.original in changed for swap in swaps)
    assert restored(changed, swaps) == SENTENCE


def test_a_stand_in_that_is_lost_or_repeated_restores_nothing() -> None:
    swaps = stand_ins(SENTENCE, MISSING, 0)
    changed = swapped(SENTENCE, swaps)
    for swap in swaps:
        assert restored(changed.replace(swap.stand_in, "", 1), swaps) is None
        assert restored(f"{changed} {swap.stand_in}", swaps) is None


def test_a_country_and_a_people_return_in_french_with_their_gender() -> None:
    missing = [Literal("name", "Zimbabwe"), Literal("name", "Rwandans")]
    text = "Two Rwandans went to Zimbabwe."
    for attempt in range(3):
        swaps = stand_ins(text, missing, attempt)
        changed = swapped(text, swaps)
        assert "Rwand" not in changed and "Zimb" not in changed
        men = {"Canadians": "Canadiens", "Italians": "Italiens", "Mexicans": "Mexicains"}
        women = {"Canadians": "Canadiennes", "Italians": "Italiennes", "Mexicans": "Mexicaines"}
        country, people = swaps[0].forms[0][0], swaps[1].stand_in
        for forms, expected in ((men, "Rwandais"), (women, "Rwandaises")):
            french = f"Deux {forms[people]} sont allés au {country}."
            assert restored(french, swaps) == f"Deux {expected} sont allés au Zimbabwe."


@pytest.mark.parametrize(
    ("time", "others"),
    [
        ("9:31PM", ["9:31 p.m.", "9:31 pm", "21:31"]),
        ("12 am", ["12:00 a.m.", "12:00 am", "0:00"]),
        ("7.05 a.m.", ["7:05 a.m.", "7:05 am", "7:05"]),
        ("Sept.", ["September", "September"]),
        ("02/21/1941", ["February 21, 1941"]),
    ],
)
def test_a_time_a_month_or_a_date_is_written_in_other_words_and_its_translation_stays(
    time: str, others: list[str]
) -> None:
    for attempt, other in enumerate(others):
        swaps = stand_ins(f"Come at {time}", [Literal("number", time)], attempt)
        assert swapped(f"Come at {time}", swaps) == f"Come at {other}"
        assert restored("Viens à 21 h 31", swaps) == "Viens à 21 h 31"


def test_a_month_and_a_day_return_in_french_behind_the_same_elision() -> None:
    missing = [Literal("name", "August"), Literal("name", "Tuesday")]
    text = "Tuesday, August 4"
    for attempt in range(3):
        swaps = stand_ins(text, missing, attempt)
        month, day = swaps[0].forms[0][0], swaps[1].forms[1][0]
        assert swapped(text, swaps) == f"{swaps[1].stand_in}, {swaps[0].stand_in} 4"
        assert month[0] in "ao" and day[0].isupper()
        assert restored(f"{day} au début d'{month}", swaps) == "Mardi au début d'août"


def test_a_number_of_another_form_has_no_stand_in() -> None:
    for number in ("1,250.50", "15:30", "two hundred", "123456"):
        assert stand_ins(f"It is {number}.", [Literal("number", number)], 0) == []
