"""Masked spans: their share, their length, and what an overlap leaves visible."""

import numpy as np
import pytest

from clearhead.data.masking import IGNORED, Spans, hide_spans

ORDINARY = np.arange(5, 69)


def many(length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    ids = rng.choice(ORDINARY, size=(300, 97))
    ids[:, 0], ids[:, -1] = 2, 3
    return ids, *hide_spans(ids, Spans(0.15, length, 4, ORDINARY), 1, 2)


@pytest.mark.parametrize("length", [1, 3, 6])
def test_the_share_does_not_depend_on_the_length_of_spans(length: int) -> None:
    _, _, labels = many(length)
    share = (labels[:, 1:-1] != IGNORED).mean()
    assert abs(share - 0.15) < 0.01


@pytest.mark.parametrize("length", [3, 6])
def test_no_span_is_shorter(length: int) -> None:
    """But at the end of the sequence."""
    _, _, labels = many(length)
    for row in labels[:, 1:-1] != IGNORED:
        ends = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
        for start, end in zip(ends[::2], ends[1::2], strict=True):
            assert end - start >= length or end == len(row)


def test_special_tokens_stay_and_labels_are_what_stood_there() -> None:
    ids, hidden, labels = many(3)
    assert (hidden[:, 0] == 2).all() and (hidden[:, -1] == 3).all()
    chosen = labels != IGNORED
    assert (labels[chosen] == ids[chosen]).all() and (hidden[~chosen] == ids[~chosen]).all()
    masks = (hidden[chosen] == 4).mean()
    assert 0.75 < masks < 0.85


def test_a_span_is_masked_as_a_whole() -> None:
    _, hidden, labels = many(3)
    alone = 0
    for row, wanted in zip(hidden[:, 1:-1], (labels != IGNORED)[:, 1:-1], strict=True):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], wanted.astype(int), [0]])))
        for start, end in zip(ends[::2], ends[1::2], strict=True):
            if end - start == 3 and end < len(row):
                assert len({bool(x) for x in row[start:end] == 4}) == 1
                alone += 1
    assert alone > 100


def test_the_same_seeds_hide_the_same_and_others_do_not() -> None:
    ids = np.full((3, 41), 7)
    spans = Spans(0.15, 2, 4, ORDINARY)
    once, again, other = (hide_spans(ids, spans, seed).labels for seed in (1, 1, 2))
    assert (once == again).all() and not (once == other).all()


def test_something_is_always_hidden() -> None:
    ids = np.array([[2, 9, 3]])
    for seed in range(30):
        assert (hide_spans(ids, Spans(0.15, 1, 4, ORDINARY), seed).labels[0, 1]) == 9


def test_where_nothing_can_be_hidden_nothing_is() -> None:
    hidden = hide_spans(np.array([[2, 1, 1, 3]]), Spans(0.15, 1, 4, ORDINARY), 1)
    assert (hidden.labels == IGNORED).all()
