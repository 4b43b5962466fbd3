"""15 % of the words, of these 80 % masks, 10 % others, 10 % as they were; never a sign."""

import numpy as np
import pytest

from clearhead.data.masking import UNASKED, Vocabulary, hide

SIGNS, MASK, SIZE = (0, 1, 2, 3), 2, 50
VOCABULARY = Vocabulary(SIZE, SIGNS, MASK)
IDS = np.random.default_rng(3).integers(-1, SIZE, size=(120, 90))  # -1: nothing


def test_the_share_of_hidden_tokens_is_exact_and_signs_are_left_alone() -> None:
    ids, labels = hide(IDS, VOCABULARY, 7)
    words = (IDS >= 0) & ~np.isin(IDS, SIGNS)
    assert (labels != UNASKED).sum() == round(0.15 * words.sum())
    assert not (labels != UNASKED)[~words].any()
    assert (ids == IDS)[labels == UNASKED].all()
    assert (labels == IDS)[labels != UNASKED].all()


def test_of_the_hidden_80_are_masks_10_others_10_stay() -> None:
    ids, labels = hide(IDS, VOCABULARY, 7)
    asked = labels != UNASKED
    seen, truth = ids[asked], labels[asked]
    count = len(seen)
    chance = 1 / (SIZE - len(SIGNS))  # that another token drawn is the same
    expected = {"mask": 0.8, "same": 0.1 + 0.1 * chance, "other": 0.1 * (1 - chance)}
    shares = {"mask": (seen == MASK), "same": (seen == truth)}
    shares["other"] = ~(shares["mask"] | shares["same"])
    for name, p in expected.items():
        assert abs(shares[name].mean() - p) < 4 * np.sqrt(p * (1 - p) / count), name
    others = seen[shares["other"]]
    assert not np.isin(others, SIGNS).any() and (others >= 0).all()
    assert len(np.unique(others)) > 0.7 * (SIZE - len(SIGNS))


def test_another_epoch_hides_other_words_and_the_same_seed_the_same() -> None:
    first, again, other = (hide(IDS, VOCABULARY, 7, epoch, 3).labels for epoch in (0, 0, 1))
    assert (first == again).all()
    both = ((first >= 0) & (other >= 0)).sum() / (first >= 0).sum()
    assert both < 0.3


@pytest.mark.parametrize("row", [[5], [1, 5, 3], [0, 1, 2, 3, 49]])
def test_a_single_word_is_hidden_all_the_same(row: list[int]) -> None:
    labels = hide(np.array([row]), VOCABULARY, 1).labels
    assert (labels >= 0).sum() == 1


def test_where_there_are_only_signs_nothing_is_hidden() -> None:
    assert (hide(np.array([[1, 3, -1]]), VOCABULARY, 1).labels == UNASKED).all()
