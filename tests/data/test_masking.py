"""15 % of the tokens, of these 80 % masks, 10 % random, 10 % unchanged; no special token."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from clearhead.data.masking import IGNORED, MaskedBatches, Vocabulary, mask_tokens
from clearhead.data.token_stream import PackedCorpus

SPECIAL, MASK, SIZE = (0, 1, 2, 3), 2, 50
VOCABULARY = Vocabulary(SIZE, SPECIAL, MASK)
IDS = np.random.default_rng(3).integers(-1, SIZE, size=(120, 90))  # -1: padding


def test_the_share_of_mchosen_tokens_is_exact_and_special_tokens_stay() -> None:
    ids, labels = mask_tokens(IDS, VOCABULARY, 7)
    words = (IDS >= 0) & ~np.isin(IDS, SPECIAL)
    assert (labels != IGNORED).sum() == round(0.15 * words.sum())
    assert not (labels != IGNORED)[~words].any()
    assert (ids == IDS)[labels == IGNORED].all()
    assert (labels == IDS)[labels != IGNORED].all()


def test_of_the_chosen_80_are_masks_10_random_10_unchanged() -> None:
    ids, labels = mask_tokens(IDS, VOCABULARY, 7)
    chosen = labels != IGNORED
    seen, truth = ids[chosen], labels[chosen]
    count = len(seen)
    chance = 1 / (SIZE - len(SPECIAL))  # that the random token is the same
    expected = {"mask": 0.8, "same": 0.1 + 0.1 * chance, "other": 0.1 * (1 - chance)}
    shares = {"mask": (seen == MASK), "same": (seen == truth)}
    shares["other"] = ~(shares["mask"] | shares["same"])
    for name, p in expected.items():
        assert abs(shares[name].mean() - p) < 4 * np.sqrt(p * (1 - p) / count), name
    others = seen[shares["other"]]
    assert not np.isin(others, SPECIAL).any() and (others >= 0).all()
    assert len(np.unique(others)) > 0.7 * (SIZE - len(SPECIAL))


def test_another_epoch_masks_other_tokens_and_the_same_seeds_the_same() -> None:
    first, again, other = (mask_tokens(IDS, VOCABULARY, 7, epoch, 3).labels for epoch in (0, 0, 1))
    assert (first == again).all()
    both = ((first >= 0) & (other >= 0)).sum() / (first >= 0).sum()
    assert both < 0.3


@pytest.mark.parametrize("row", [[5], [1, 5, 3], [0, 1, 2, 3, 49]])
def test_a_single_token_is_masked_too(row: list[int]) -> None:
    labels = mask_tokens(np.array([row]), VOCABULARY, 1).labels
    assert (labels >= 0).sum() == 1


def test_special_tokens_alone_are_not_masked() -> None:
    assert (mask_tokens(np.array([[1, 3, -1]]), VOCABULARY, 1).labels == IGNORED).all()


SEP = 3
TEXTS = ["abc", "d", "efghijk", "lmnopqrstuvw", "xy", "z"]


def encode(texts: Sequence[str]) -> list[list[int]]:
    return [[ord(c) for c in text] for text in texts]


def masked(directory: Path) -> MaskedBatches:
    corpus = PackedCorpus.build(TEXTS, encode, SEP, 200, directory)
    return MaskedBatches(corpus, Vocabulary(200, (0, 1, 2, SEP), 2), (1, SEP, 0), 7, 2, seed=4)


def test_rows_are_framed_and_padded_and_lose_no_token(tmp_path: Path) -> None:
    batches, found = masked(tmp_path), list[int]()
    while batches.epoch == 0:
        batch = next(batches)
        truth = np.where(batch.labels >= 0, batch.labels, batch.ids)
        for row in truth.tolist():
            length = len(row) - row.count(0)
            assert row[0] == 1 and row[length - 1] == SEP and not any(row[length:])
            found += row[1 : length - 1]
    assert sorted(found) == sorted([SEP, *(i for ids in encode(TEXTS) for i in (*ids, SEP))])


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_masked_batches_resume_from_a_saved_position(steps: int, tmp_path: Path) -> None:
    one, other = masked(tmp_path / "one"), masked(tmp_path / "other")
    for _ in range(steps):
        next(one)
    other.restore(one.state())
    for _ in range(6):
        assert next(one).ids.tolist() == next(other).ids.tolist()
    assert one.epoch == other.epoch > 0
