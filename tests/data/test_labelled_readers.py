"""Readers of labelled examples: tables, CoNLL, and the grammar, whose labels can be checked."""

import json
from pathlib import Path

import pytest

from clearhead.data.grammar import words
from clearhead.data.labelled_readers import (
    Columns,
    labelled_roles,
    labelled_sentences,
    read_labelled_texts,
    read_labelled_words,
)
from clearhead.errors import UserError


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8", newline="")
    return path


def test_texts_are_read_with_their_label_and_an_optional_second_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,same\none,uno,yes\ntwo,tre, no \n")
    (first, second) = read_labelled_texts(path, "a", "same", "b")
    assert first[1:] == ("one", "uno", "yes") and second[1:] == ("two", "tre", "no")
    assert read_labelled_texts(path, "b", "same")[0].pair is None


CONLL = "Tom B-PER\nsaw O\nAnn B-PER\n\n-DOCSTART- -X- O\n\nIt O\nrains O"


@pytest.mark.parametrize("sign", [" ", "\t", " _ "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_conll_has_a_word_a_line_and_a_blank_line_between_sentences(
    sign: str, end: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.conll", CONLL.replace(" ", sign).replace("\n", end))
    first, second = read_labelled_words(path)
    assert first.words == ["Tom", "saw", "Ann"] and first.tags == ["B-PER", "O", "B-PER"]
    assert second.words == ["It", "rains"] and second.place.endswith("line 7")


def test_lists_and_strings_of_letters_and_a_mask(tmp_path: Path) -> None:
    rows = [
        {"words": ["Tom", "runs"], "tags": ["N", "V"]},
        {"words": "MKV", "tags": "HHC"},
    ]
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    first, second = read_labelled_words(path)
    assert (first.words, first.tags) == (["Tom", "runs"], ["N", "V"])
    assert (second.words, second.tags) == (["M", "K", "V"], ["H", "H", "C"])
    table = write(tmp_path / "a.tsv", "id\tsequence\tlabels\tmask\n1\tMKV\tHHC\t101\n")
    (third,) = read_labelled_words(table, Columns("sequence", "labels", "mask"))
    assert third.tags == ["H", None, "C"] and third.labels == ["H", "C"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.conll", "Tom N\nruns\n", r"line 2: 'runs' is not a word and its label"),
        ("a.conll", "Tom N\n\n# id 7\nAnn N\n", r"line 3: 3 columns, and 2 in the lines"),
        ("a.conll", "# id = 7\nTom N\n", r"line 2: 2 columns, and 4 in the lines"),
        ("a.conll", "\n\n", r"holds no labelled example"),
        (
            "a.tsv",
            "words\ttags\nMKV\tHH\n",
            r"line 2: 'words' has 3 elements and 'tags' 2; expected one",
        ),
        ("a.tsv", "sequence\ttags\nMKV\tHH\n", r"no column 'words'; choose among sequence, tags"),
        ("a.csv", "text,label\nx,y\n", r"--set data\.words=NAME --set data\.tags=NAME"),
        ("a.csv", "words,tags\nTom runs,N V\n", r"'words' holds a text with spaces, .*\.conll"),
        ("a.tsv", "words\ttags\nMKV\t\n", r"line 2: 'tags' holds nothing, expected a list"),
        (
            "a.jsonl",
            '{"words": 3, "tags": "a"}',
            r"holds a value of type int, expected a list",
        ),
        (
            "a.jsonl",
            '{"words": ["a", null], "tags": "HH"}',
            r"element 2 of 'words' is None; expected a string",
        ),
        ("a.docx", "x", r"expected \.conll, \.bio, \.iob, \.txt, \.csv, \.tsv, \.jsonl"),
    ],
)
def test_malformed_labelled_words_are_one_line(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        read_labelled_words(write(tmp_path / name, content))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("11", "'words' has 3 elements and 'm' 2"),
        ("1x1", "'m' holds 'x', expected 0 .ignore. or 1"),
    ],
)
def test_a_mask_has_0_or_1_for_each_word(mask: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"words,tags,m\nMKV,HHC,{mask}\n")
    with pytest.raises(UserError, match=message):
        read_labelled_words(path, Columns(mask="m"))


def test_both_tasks_label_the_same_sentences_for_the_same_seed() -> None:
    texts, tags = labelled_sentences("grammar:train:60:3"), labelled_roles("grammar:train:60:3")
    assert texts == labelled_sentences("grammar:train:60:3")
    assert texts != labelled_sentences("grammar:train:60")
    for text, tagged in zip(texts, tags, strict=True):
        assert len(tagged.words) == len(tagged.tags)
        assert (
            "".join(words(text.text)).lower()
            == "".join("".join(words(word)) for word in tagged.words).replace(" ", "").lower()
        )


def test_no_sentence_is_in_two_splits() -> None:
    made = [{t.text for t in labelled_sentences(f"grammar:{s}:200")} for s in ("train", "test")]
    assert not made[0] & made[1]


def test_the_role_of_a_word_depends_on_the_sentence() -> None:
    found: dict[str, set[str | None]] = {}
    for sentence in labelled_roles("grammar:train:2000"):
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            found.setdefault(word, set()).add(tag)
    assert {"relative", "conjunction", "determiner"} <= found["that"]
    assert {"verb", "auxiliary"} <= found["is"]
    assert found["."] == {"end mark"} and found["Paul"] == {"noun"}


@pytest.mark.parametrize(
    "spec",
    ["grammar:", "grammar:long:5", "grammar:train:x", "grammar:train:0", "grammar:wide:train:9"],
)
def test_a_malformed_specification_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match=r"expected grammar:SPLIT:COUNT .* train, dev, test"):
        labelled_sentences(spec)
