"""15 % of the tokens, of these 80 % masks, 10 % random, 10 % unchanged; no special token."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.masking import IGNORED, MaskedBatches, Vocabulary, mask_tokens

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


CLS, SEP, PAD = 1, 3, 0
ROWS = [[CLS, *range(10 * k, 10 * k + length)] for k, length in enumerate([3, 1, 7, 9, 2, 1], 1)]


def encode(texts: Sequence[str]) -> list[list[int]]:
    return [ROWS[int(text)] for text in texts]


def masked(directory: Path) -> MaskedBatches:
    corpus = EncodedCorpus.build_rows([*"012345"], encode, directory)
    plan = BatchPlan(12, window=4, seed=4, pad_id=PAD, eos_id=SEP)
    return MaskedBatches(TokenBatches(corpus, plan), Vocabulary(200, (PAD, CLS, 2, SEP), 2))


def test_each_row_of_an_epoch_is_one_row_of_the_corpus_and_padding(tmp_path: Path) -> None:
    batches, found = masked(tmp_path), list[list[int]]()
    while batches.epoch == 0:
        ids, labels = next(batches)
        assert (labels[np.isin(ids, (PAD, CLS, SEP))] == IGNORED).all() and (labels >= 0).any()
        truth = np.where(labels >= 0, labels, ids)
        for row in truth.tolist():
            length = len(row) - row.count(PAD)
            assert row[length - 1] == SEP and not any(row[length:])
            found.append(row[: length - 1])
    assert sorted(found) == ROWS


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_masked_batches_resume_from_a_saved_position(steps: int, tmp_path: Path) -> None:
    one, other = masked(tmp_path / "one"), masked(tmp_path / "other")
    for _ in range(steps):
        next(one)
    other.restore(one.state())
    for _ in range(6):
        mine, theirs = next(one), next(other)
        assert mine.ids.tolist() == theirs.ids.tolist()
        assert mine.labels.tolist() == theirs.labels.tolist()
    assert one.epoch == other.epoch > 0
