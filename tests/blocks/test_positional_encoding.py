"""The sinusoids are equation 3.5, in every call form of the sources."""

import math

import pytest
import torch
from torch import Tensor

from clearhead.blocks import PositionalEncoding
from clearhead.errors import UserError


def equation(seq_len: int, d_model: int) -> Tensor:
    """Section 3.5 as a loop over every cell."""
    pe = torch.zeros(seq_len, d_model, dtype=torch.float64)
    for pos in range(seq_len):
        for column in range(d_model):
            i = column // 2
            angle = pos / 10000 ** (2 * i / d_model)
            pe[pos, column] = math.sin(angle) if column % 2 == 0 else math.cos(angle)
    return pe


@pytest.mark.parametrize("d_model", [1, 2, 3, 7, 8, 33])
def test_the_table_is_the_equation_for_even_and_odd_widths(d_model: int) -> None:
    pe = PositionalEncoding(d_model, 41, 0.0).pe
    assert pe.shape == (1, 41, d_model)
    # Computed in float64 and rounded once: half a unit in the last place of float32.
    torch.testing.assert_close(pe[0].double(), equation(41, d_model), atol=6e-8, rtol=0)


def test_far_positions_lose_no_precision() -> None:
    pe = PositionalEncoding(6, 100_000, 0.0).pe[0, -1]
    expected = [math.sin(99_999), math.cos(99_999)]
    torch.testing.assert_close(pe[:2].double(), torch.tensor(expected).double(), atol=1e-7, rtol=0)


def test_a_fixed_offset_is_a_rotation_of_every_pair() -> None:
    d_model, offset = 8, 3
    pe = PositionalEncoding(d_model, 50, 0.0).pe[0].double()
    for i in range(d_model // 2):
        turn = offset / 10000 ** (2 * i / d_model)
        sin, cos = pe[:-offset, 2 * i], pe[:-offset, 2 * i + 1]
        later = sin * math.cos(turn) + cos * math.sin(turn)
        torch.testing.assert_close(pe[offset:, 2 * i], later, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    "positions",
    [
        PositionalEncoding(6, 9, 0.0),
        PositionalEncoding(d_model=6, seq_len=9, dropout=0.0),
        PositionalEncoding(d_model=6, seq=9, dropout=0.0),
        PositionalEncoding(6, 9),
        PositionalEncoding(6, max_len=9),
    ],
    ids=["guide", "keywords", "seq=", "chapter 3", "max_len="],
)
def test_the_sources_call_forms(positions: PositionalEncoding) -> None:
    assert positions.pe.shape == (1, 9, 6)
    x = torch.randn(2, 5, 6)
    assert torch.equal(positions(x), x + positions.pe[:, :5])


def test_chapter_3_makes_5000_positions_unless_told() -> None:
    assert PositionalEncoding(6).pe.shape == (1, 5000, 6)


def test_the_table_is_no_parameter_and_gets_no_gradient() -> None:
    positions = PositionalEncoding(6, 9, 0.0)
    x = torch.randn(2, 5, 6, requires_grad=True)
    positions(x).sum().backward()
    assert not list(positions.parameters()) and not positions.pe.requires_grad
    assert x.grad is not None and torch.equal(x.grad, torch.ones_like(x))


def test_a_table_keeps_the_precision_of_its_input() -> None:
    assert (
        PositionalEncoding(6, 9)(torch.zeros(1, 2, 6, dtype=torch.float64)).dtype == torch.float64
    )


def test_a_longer_sequence_is_refused_with_both_numbers() -> None:
    with pytest.raises(UserError, match=r"10 positions but seq_len=9"):
        PositionalEncoding(6, 9, 0.0)(torch.zeros(1, 10, 6))
