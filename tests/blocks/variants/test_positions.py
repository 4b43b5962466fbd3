"""Learned positions, Marian's order of the waves, and plain embeddings."""

import math

import pytest
import torch

from clearhead.blocks import (
    HalvedPositionalEncoding,
    InputEmbeddings,
    LearnedPositions,
    PlainEmbeddings,
    PositionalEncoding,
)
from clearhead.errors import UserError


def test_every_place_adds_its_row() -> None:
    positions = LearnedPositions(4, 9)
    x = torch.randn(3, 5, 4)
    found = positions(x)
    for place in range(5):
        assert torch.equal(found[:, place], x[:, place] + positions.table.weight[place])


def test_a_place_that_is_not_read_learns_nothing() -> None:
    positions = LearnedPositions(4, 9)
    positions(torch.randn(3, 5, 4)).sum().backward()
    grad = positions.table.weight.grad
    assert grad is not None and grad[:5].eq(3).all() and grad[5:].eq(0).all()


def test_a_text_over_the_last_place_is_refused() -> None:
    positions = LearnedPositions(4, 9)
    positions(torch.zeros(1, 9, 4))
    with pytest.raises(UserError, match="10 positions but seq_len=9"):
        positions(torch.zeros(1, 10, 4))


@pytest.mark.parametrize("d_model", [2, 6, 7, 33])
def test_marians_waves_are_the_papers_sines_first(d_model: int) -> None:
    papers, marians = PositionalEncoding(d_model, 11).pe, HalvedPositionalEncoding(d_model, 11).pe
    half = math.ceil(d_model / 2)
    assert torch.equal(marians[..., :half], papers[..., 0::2])
    assert torch.equal(marians[..., half:], papers[..., 1::2])
    assert marians.shape == papers.shape == (1, 11, d_model)


def test_marians_waves_are_no_weights() -> None:
    assert not HalvedPositionalEncoding(6, 11).state_dict()


def test_plain_embeddings_lack_the_factor_and_nothing_else() -> None:
    plain, scaled = PlainEmbeddings(6, 11), InputEmbeddings(6, 11)
    scaled.load_state_dict(plain.state_dict())
    ids = torch.tensor([[0, 10, 3], [3, 3, 1]])
    torch.testing.assert_close(plain(ids) * math.sqrt(6), scaled(ids))
    with pytest.raises(UserError, match="token id 11 is outside the vocabulary of 11 tokens"):
        plain(ids + 1)
