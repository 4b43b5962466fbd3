"""Labelled examples: what is read, which labels there are, and a fair share set aside."""

import json
from collections import Counter
from pathlib import Path

import pytest

from clearhead.data.labelled import (
    LabelledText,
    check_labels,
    label_set,
    read_labelled_texts,
    split_off,
)
from clearhead.data.labelled_words import Columns, read_labelled_words
from clearhead.errors import UserError


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8", newline="")
    return path


def test_texts_come_with_their_label_and_perhaps_a_second_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,same\none,uno,yes\ntwo,tre, no \n")
    (first, second) = read_labelled_texts(path, "a", "same", "b")
    assert first[1:] == ("one", "uno", "yes") and second[1:] == ("two", "tre", "no")
    assert read_labelled_texts(path, "b", "same")[0].pair is None


def texts(labels: str, contents: str | None = None) -> list[LabelledText]:
    contents = contents or "".join(chr(0x4E00 + i) for i in range(len(labels)))
    return [
        LabelledText(f"a, line {n}", text, None, label)
        for n, (label, text) in enumerate(zip(labels, contents, strict=True), start=2)
    ]


def test_labels_stand_in_the_order_of_the_alphabet_and_numbers_by_size() -> None:
    assert label_set(texts("bacab"), "a") == ["a", "b", "c"]
    some = [
        t._replace(label=label) for t, label in zip(texts("xxx"), ("10", "9", "1"), strict=True)
    ]
    assert label_set(some, "a") == ["1", "9", "10"]


def test_one_label_is_nothing_to_tell_apart() -> None:
    with pytest.raises(UserError, match=r"a\.csv: the only label is 'x'; there is nothing"):
        label_set(texts("xxx"), "a.csv")


def test_a_label_that_training_never_saw_is_named_with_its_line() -> None:
    with pytest.raises(UserError, match=r"a, line 4: the label 'c' never occurs .* has a, b;"):
        check_labels(texts("abca"), ["a", "b"])


def test_the_share_set_aside_is_a_share_of_every_label_and_always_the_same() -> None:
    items = texts("a" * 60 + "b" * 30 + "c" * 10)
    kept, aside = split_off(items, 0.2, seed=3)
    assert Counter(item.label for item in aside) == {"a": 12, "b": 6, "c": 2}
    assert sorted(kept + aside) == sorted(items)
    assert split_off(items, 0.2, seed=3) == (kept, aside) != split_off(items, 0.2, seed=4)


def test_equal_texts_stay_on_one_side_even_where_their_labels_differ() -> None:
    items = texts("abababababab", "ssssttttuvwx")
    for seed in range(20):
        kept, aside = split_off(items, 0.4, seed)
        assert not {item.text for item in kept} & {item.text for item in aside}


@pytest.mark.parametrize("share", [0.0, 0.01, 1.0])
def test_a_share_that_leaves_nothing_is_refused(share: float) -> None:
    with pytest.raises(UserError, match="leaves nothing on one side"):
        split_off(texts("abab"), share, 1)


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
        ("a.conll", "\n\n", r"holds no labelled example"),
        ("a.tsv", "words\ttags\nMKV\tHH\n", r"line 2: 3 in 'words' and 2 in 'tags'; expected one"),
        ("a.tsv", "sequence\ttags\nMKV\tHH\n", r"no column 'words' among sequence, tags"),
        ("a.tsv", "words\ttags\nMKV\t\n", r"line 2: 'tags' holds nothing, expected a list"),
        ("a.jsonl", '{"words": 3, "tags": "a"}', r"'words' holds a int, expected a list"),
        ("a.jsonl", '{"words": ["a", null], "tags": "HH"}', r"holds None as number 2, not a text"),
        ("a.docx", "x", r"expected \.conll, \.bio, \.iob, \.txt, \.csv, \.tsv, \.jsonl"),
    ],
)
def test_bad_words_cost_one_line(name: str, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        read_labelled_words(write(tmp_path / name, content))


@pytest.mark.parametrize(
    ("mask", "message"),
    [("11", "3 in 'words' and 2 in 'm'"), ("1x1", "'m' holds 'x', expected 0 .ignore. or 1")],
)
def test_a_mask_must_say_yes_or_no_to_each(mask: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"words,tags,m\nMKV,HHC,{mask}\n")
    with pytest.raises(UserError, match=message):
        read_labelled_words(path, Columns(mask="m"))
