"""Rotary positions: a turn of every pair, so that attention sees distances."""

import cmath

import pytest
import torch

from clearhead.blocks import (
    MultiHeadAttentionBlock,
    RotaryMultiHeadAttentionBlock,
    RotaryPositions,
    look_ahead_mask,
)
from clearhead.errors import UserError

BATCH, H, D_K, LENGTH = 2, 3, 8, 11


def test_every_pair_is_turned_as_a_complex_number() -> None:
    x = torch.randn(BATCH, H, LENGTH, D_K)
    found = RotaryPositions(D_K)(x)
    for place in (0, 1, LENGTH - 1):
        for i in range(D_K // 2):
            turn = cmath.exp(1j * place * 10000 ** (-2 * i / D_K))
            before = complex(x[1, 2, place, i], x[1, 2, place, i + D_K // 2])
            after = complex(found[1, 2, place, i], found[1, 2, place, i + D_K // 2])
            assert abs(before * turn - after) < 1e-5


def test_a_product_depends_on_the_distance_alone() -> None:
    rotary = RotaryPositions(D_K)
    q, k = torch.randn(D_K), torch.randn(D_K)
    queries, keys = (rotary(v.expand(1, 1, LENGTH, D_K)) for v in (q, k))
    scores = (queries @ keys.mT)[0, 0]  # (query, key), the same two vectors everywhere
    for distance in range(-LENGTH + 1, LENGTH):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5, rtol=0)
    assert scores[0].unique().numel() == LENGTH


def test_lengths_and_the_first_place_stay_as_they_are() -> None:
    x = torch.randn(BATCH, H, LENGTH, D_K)
    found = RotaryPositions(D_K)(x)
    torch.testing.assert_close(found.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(found[:, :, 0], x[:, :, 0])


def attention(rotary: torch.nn.Module) -> RotaryMultiHeadAttentionBlock:
    return RotaryMultiHeadAttentionBlock(H * D_K, H, 0.0, rotary).double()


def test_without_the_turn_it_is_multi_head_attention() -> None:
    block = attention(torch.nn.Identity())
    plain = MultiHeadAttentionBlock(H * D_K, H, 0.0).double()
    plain.load_state_dict(block.state_dict())
    x = torch.randn(BATCH, LENGTH, H * D_K, dtype=torch.float64)
    mask = look_ahead_mask(LENGTH)
    assert torch.equal(block(x, x, x, mask), plain(x, x, x, mask))


def test_with_the_turn_the_order_of_words_matters() -> None:
    torch.manual_seed(1)
    x = torch.randn(BATCH, LENGTH, H * D_K, dtype=torch.float64)
    back = x.flip(1)
    turned, plain = attention(RotaryPositions(D_K)), attention(torch.nn.Identity())
    torch.testing.assert_close(plain(back, back, back), plain(x, x, x).flip(1))
    assert (turned(back, back, back) - turned(x, x, x).flip(1)).abs().max() > 1e-3


def test_weights_are_recorded_unless_switched_off() -> None:
    block = attention(RotaryPositions(D_K))
    x = torch.randn(BATCH, LENGTH, H * D_K, dtype=torch.float64)
    block.keep_attention_scores = False
    block(x, x, x)
    assert block.attention_scores is None
    block.keep_attention_scores = True
    block(x, x, x)
    assert block.attention_scores is not None
    assert block.attention_scores.shape == (BATCH, H, LENGTH, LENGTH)
    torch.testing.assert_close(block.attention_scores.sum(-1).min(), torch.tensor(1.0).double())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_angles_are_computed_in_float32(dtype: torch.dtype) -> None:
    x = torch.ones(1, 1, 2000, D_K, dtype=dtype)
    found = RotaryPositions(D_K)(x)
    exact = RotaryPositions(D_K)(x.float())
    assert found.dtype == dtype and torch.equal(found, exact.to(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_conversion_of_the_model_does_not_round_the_frequencies(dtype: torch.dtype) -> None:
    x = torch.randn(1, 1, 1000, 32)
    expected = RotaryPositions(32)(x)
    assert torch.equal(RotaryPositions(32).to(dtype)(x), expected)
    assert torch.equal(torch.nn.Sequential(RotaryPositions(32)).type(dtype)(x), expected)


def test_frequencies_move_between_devices_and_are_loaded() -> None:
    rotary = RotaryPositions(D_K)
    empty = RotaryPositions(D_K).to("meta", torch.bfloat16)
    assert empty.frequencies.is_meta
    empty.to_empty(device="cpu").load_state_dict(rotary.state_dict())
    assert torch.equal(empty.frequencies, rotary.frequencies)


def test_in_float64_gradients_are_those_of_differences() -> None:
    block = attention(RotaryPositions(D_K))
    x = torch.randn(1, 5, H * D_K, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: block(x, x, x, look_ahead_mask(5)), (x,))


@pytest.mark.parametrize("width", [2, D_K // 2, 2 * D_K])
def test_vectors_of_another_width_are_refused(width: int) -> None:
    x = torch.randn(BATCH, LENGTH, H * D_K, dtype=torch.float64)
    with pytest.raises(UserError, match=rf"{LENGTH}, {D_K}\) .* last dimension is {width}"):
        attention(RotaryPositions(width))(x, x, x)


def test_an_odd_width_has_no_pairs() -> None:
    with pytest.raises(UserError, match="d_k=5 is odd"):
        RotaryPositions(5)
