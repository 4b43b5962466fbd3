"""The labels of labelled examples, and a share of each set aside for validation."""

from collections import Counter

import pytest

from clearhead.data.labelled import (
    LabelledText,
    LabelledWords,
    check_labels,
    label_set,
    split_off,
)
from clearhead.errors import UserError


def texts(labels: str, contents: str | None = None) -> list[LabelledText]:
    contents = contents or "".join(chr(0x4E00 + i) for i in range(len(labels)))
    return [
        LabelledText(f"a, line {n}", text, None, label)
        for n, (label, text) in enumerate(zip(labels, contents, strict=True), start=2)
    ]


def test_labels_are_sorted_alphabetically_and_integers_by_size() -> None:
    assert label_set(texts("bacab"), "a") == ["a", "b", "c"]
    some = [
        t._replace(label=label) for t, label in zip(texts("xxx"), ("10", "9", "1"), strict=True)
    ]
    assert label_set(some, "a") == ["1", "9", "10"]


def test_a_single_label_is_refused() -> None:
    with pytest.raises(UserError, match=r"a\.csv: the only label is 'x'; there is nothing"):
        label_set(texts("xxx"), "a.csv")


def test_a_label_that_is_not_in_the_training_data_is_named_with_its_line() -> None:
    with pytest.raises(UserError, match=r"a, line 4: the label 'c' never occurs .* has a, b;"):
        check_labels(texts("abca"), ["a", "b"])


def test_the_same_share_of_each_label_is_set_aside_for_the_same_seed() -> None:
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


def test_a_label_of_a_few_words_alone_stays_in_training() -> None:
    items = [LabelledWords(f"a, line {n}", [str(n), "b"], ["X", "Y"]) for n in range(40)]
    items[7] = LabelledWords("a, line 7", ["7", "b", "c"], ["X", "Y", "RARE"])
    for seed in range(20):
        kept, aside = split_off(items, 0.3, seed)
        assert items[7] in kept and len(aside) in (11, 12)


@pytest.mark.parametrize("share", [0.0, 0.01, 1.0])
def test_a_share_that_leaves_no_example_on_a_side_is_refused(share: float) -> None:
    with pytest.raises(UserError, match="leaves no"):
        split_off(texts("abab"), share, 1)


def test_a_split_is_refused_for_the_number_of_different_texts_of_a_label() -> None:
    with pytest.raises(UserError, match="the most frequent label has 1 different text:"):
        split_off(texts("abcdefghi"), 0.1, 1)
    with pytest.raises(UserError, match="the most frequent label has 2 different texts:"):
        split_off(texts("aab" * 30, "xyz" * 30), 0.1, 1)
