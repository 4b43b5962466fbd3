import json
import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import first_sentences
from benchmarks.first_sentences import (
    DATA,
    FirstSentence,
    contains,
    expand,
    missing,
    normalize,
    read_sentences,
    score,
    tally,
)
from clearhead.errors import UserError

SENTENCES = read_sentences(DATA)
COUNTS = {
    "everyday": 36,
    "grammar": 34,
    "travel": 30,
    "numbers and dates": 30,
    "names": 26,
    "field": 44,
}
TRAIN = FirstSentence(
    "travel",
    "Karin's train leaves at 4:20 pm.",
    ("Le train de Karin {part|s'en va} à 16\u00a0h\u00a020.",),
    names=(("Karin",),),
    numbers=(("16\u00a0h\u00a020", "16:20"),),
)
HELD_OUT = read_sentences(DATA.with_name("first_sentences_held_out.jsonl"))
REFERENCES = [(sentence, text) for sentence in SENTENCES for text in sentence.references]


def words_of(text: str) -> str:
    """A text as its letters and digits, so that case and punctuation hide no duplicate."""
    return "".join(re.findall(r"\w", text.casefold()))


def prose(sentence: FirstSentence, reference: str) -> str:
    """A reference without its names: URLs and code have punctuation of their own."""
    for form in [form for forms in sentence.names for form in forms]:
        reference = reference.replace(form, "Name")
    return reference


def next_digits(text: str) -> str:
    return re.sub("[0-9]", lambda digit: str((int(digit[0]) + 1) % 10), text)


BOTH_SETS = pytest.mark.parametrize("sentences", [SENTENCES, HELD_OUT], ids=["dev", "held out"])


@BOTH_SETS
def test_a_set_has_200_sentences_in_six_categories(sentences: list[FirstSentence]) -> None:
    assert Counter(sentence.category for sentence in sentences) == COUNTS


@BOTH_SETS
def test_no_sentence_occurs_twice(sentences: list[FirstSentence]) -> None:
    assert len({words_of(sentence.source) for sentence in sentences}) == len(sentences)


def test_a_sentence_has_2_to_30_words() -> None:
    assert not [s.source for s in SENTENCES if not 2 <= len(s.source.split()) <= 30]


def test_a_sentence_has_two_distinct_references() -> None:
    assert not [s.source for s in SENTENCES if len({words_of(text) for text in s.references}) < 2]


def test_texts_are_nfc_with_straight_apostrophes_and_single_spaces() -> None:
    texts = [text for _, text in REFERENCES] + [sentence.source for sentence in SENTENCES]
    assert not [text for text in texts if text != unicodedata.normalize("NFC", text).strip()]
    assert not [text for text in texts if re.search(r"[{}|’]|\s\s|\( | \)", text)]


def test_punctuation_of_references_has_no_break_spaces() -> None:
    wrong = '(?<!\u202f)[;!?]|(?<!\u00a0)[:»]|«(?!\u00a0)|"| [,.]'
    assert not [text for pair, text in REFERENCES if re.search(wrong, prose(pair, text))]


def test_numbers_of_references_have_no_break_spaces() -> None:
    units = r"€|\$|°C|h|km|kg|g|m|heures|minutes|ans|dollars|euros"
    wrong = rf"\d (\d{{3}}(?!\d)|%|({units})(?!\w))"
    assert not [text for pair, text in REFERENCES if re.search(wrong, prose(pair, text))]


def test_a_reference_ends_as_its_source_or_as_a_sentence() -> None:
    for sentence, text in REFERENCES:
        if (end := sentence.source[-1]) in ".!?":
            assert text[-1] == end, text
        else:  # an emoji, or a last word without a full stop
            assert text[-1] == end or text[-1].isalnum() or text[-1] in ".!?", text


def test_a_reference_contains_the_names_and_numbers() -> None:
    for sentence, text in REFERENCES:
        assert not missing([*sentence.names, *sentence.numbers], normalize(text)), text


@BOTH_SETS
def test_a_reference_scores_100_and_is_correct(sentences: list[FirstSentence]) -> None:
    for sentence in sentences:
        for text in (sentence.references[0], sentence.references[-1]):
            outcome = score(sentence, text)
            assert outcome.chrf == pytest.approx(100), text
            assert outcome.correct, text


@pytest.mark.parametrize(
    "sentence",
    [s for s in SENTENCES if s.category == "numbers and dates" and re.search(r"\d", s.source)],
    ids=lambda s: s.source,
)
def test_a_wrong_number_is_not_correct(sentence: FirstSentence) -> None:
    wrong = [next_digits(r) for r in sentence.references if next_digits(r) != r]
    assert wrong
    for translation in (wrong[0], wrong[-1]):
        outcome = score(sentence, translation)
        assert outcome.missing_numbers
        assert not outcome.correct


def test_a_wrong_time_is_caught_although_chrf_is_high() -> None:
    outcome = score(TRAIN, "Le train de Karin part à 16 h 21.")
    assert outcome.chrf >= 85
    assert outcome.missing_numbers == ["16\u00a0h\u00a020"]
    assert not outcome.correct


def test_a_wrong_name_is_caught() -> None:
    assert score(TRAIN, "Le train de Karina part à 16 h 20.").missing_names == ["Karin"]


def test_another_sentence_is_not_correct() -> None:
    outcome = score(TRAIN, "Karin achète du pain à 16 h 20.")
    assert not outcome.missing_names + outcome.missing_numbers
    assert not outcome.correct


@pytest.mark.parametrize("time", ["16 h 20", "16h20", "16\u202fh\u202f20"])
def test_spaces_and_apostrophes_of_any_kind_are_equal(time: str) -> None:
    outcome = score(TRAIN, f"Le train de Karin s’en va à {time}.")
    assert outcome.chrf == pytest.approx(100)
    assert outcome.correct


def test_the_best_reference_is_the_nearest() -> None:
    assert "s'en va" in score(TRAIN, "Le train de Karin s'en va.").best_reference


@pytest.mark.parametrize(
    "text",
    ["14", "le 14.", "le 14, puis", "(14)", "à 14 et 3", "d'ici le 14 !"],
)
def test_a_number_is_found_among_punctuation(text: str) -> None:
    assert contains(text, "14")


@pytest.mark.parametrize("text", ["140", "214", "1,14", "14,5", "1 14", "14 000", "B14", "3-14"])
def test_a_part_of_a_longer_number_is_not_that_number(text: str) -> None:
    assert not contains(text, "14")


@pytest.mark.parametrize("text", ["Annette", "Joanne", "anne", "Anne-Marie", "anne@Anne.org"])
def test_a_part_of_a_longer_name_is_not_that_name(text: str) -> None:
    assert not contains(text, "Anne")


def test_a_pattern_stands_for_the_product_of_its_choices() -> None:
    assert list(expand("{Il|Elle} dort {ici|là}.")) == [
        "Il dort ici.",
        "Il dort là.",
        "Elle dort ici.",
        "Elle dort là.",
    ]


def test_the_categories_add_up_to_all() -> None:
    some = SENTENCES[::9]
    outcomes = [score(sentence, sentence.references[0][: 7 + n]) for n, sentence in enumerate(some)]
    *categories, total = tally(some, outcomes).values()
    assert total.sentences == sum(one.sentences for one in categories) == len(some)
    assert total.chrf == pytest.approx(sum(one.chrf for one in categories))
    assert total.numbers == sum(one.numbers for one in categories)
    assert total.names_copied == sum(one.names_copied for one in categories)


@pytest.mark.parametrize(
    "line",
    [
        "Hello",
        "[]",
        '{"category": "names", "source": "Hello!"}',
        '{"category": "x", "source": "", "references": ["Non."], "names": [], "numbers": []}',
        '{"category": "x", "source": "No.", "references": [], "names": [], "numbers": []}',
        '{"category": "x", "source": "No.", "references": "Non.", "names": [], "numbers": []}',
        '{"category": "x", "source": "Al.", "references": ["Al."], "names": ["Al"], "numbers": []}',
        '{"category": "x", "source": "Al.", "references": ["Al."], "names": [[]], "numbers": []}',
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    good = DATA.read_text(encoding="utf-8").splitlines()[0]
    path = tmp_path / "set.jsonl"
    path.write_text(f"{good}\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"set\.jsonl, line 2"):
        read_sentences(path)


@pytest.mark.parametrize("content", [None, b"", b"\xff\n"])
def test_a_set_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "set.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=r"set\.jsonl"):
        read_sentences(path)


@pytest.fixture
def two_sentences(tmp_path: Path) -> Path:
    lines = DATA.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join([lines[0], lines[-1]]), encoding="utf-8")
    return path


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["first_sentences.py", "--beam-size", "1", *arguments])
    first_sentences.main()


def test_the_shipped_model_is_scored_by_category(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], two_sentences: Path
) -> None:
    run_main(monkeypatch, "--data", str(two_sentences), "--json")
    result = json.loads(capsys.readouterr().out)
    assert [row["sentences"] for row in result["categories"].values()] == [1, 1, 2]
    assert [row["category"] for row in result["sentences"]] == ["everyday", "field"]
    run_main(monkeypatch, "--data", str(two_sentences), "--show")
    shown = capsys.readouterr().out
    for row in result["sentences"]:
        assert row["translation"] in shown
    assert re.search(r"^all +\d/2 ", shown, re.MULTILINE)


def test_a_missing_model_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        run_main(monkeypatch, "--model", str(tmp_path / "absent"))
    assert "\n" not in str(stopped.value)
