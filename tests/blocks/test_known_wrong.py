"""Mistakes that train without complaint, shown to differ from us on the proofs' sizes.

A proof that a wrong variant would pass proves nothing. Each variant here is a
mistake that public code has made; each gives the right shape, or is not listed.
"""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import (
    LayerNormalization,
    MultiHeadAttentionBlock,
    PositionalEncoding,
    ResidualConnection,
    decoder_mask,
    look_ahead_mask,
    scaled_dot_product_attention,
    shift_right,
)
from tests.blocks.twins import BATCH, D_K, D_MODEL, HEADS, KEY, QUERY, padded_keys

MASK = padded_keys((6, 2, 4), KEY)[:, None, None, :]


def clearly_different(ours: Tensor, wrong: Tensor) -> bool:
    assert ours.shape == wrong.shape, "a wrong shape needs no proof"
    return bool((ours - wrong).abs().max() > 1e-3)  # the proofs allow 1e-10 and 1e-5


class SplitWithoutTranspose(MultiHeadAttentionBlock):
    def split_heads(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], self.h, x.shape[1], self.d_k)


class JoinWithoutTranspose(MultiHeadAttentionBlock):
    def join_heads(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], -1, self.d_model)


class HeadsAreTheFastAxis(MultiHeadAttentionBlock):
    def split_heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.d_k, self.h).permute(0, 3, 1, 2)


class OneProjectionForAll(MultiHeadAttentionBlock):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        self.w_k = self.w_v = self.w_q
        return super().forward(q, k, v, mask)


class InvertedMask(MultiHeadAttentionBlock):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(q, k, v, None if mask is None else ~mask)


@pytest.mark.parametrize(
    "wrong",
    [
        SplitWithoutTranspose,
        JoinWithoutTranspose,
        HeadsAreTheFastAxis,
        OneProjectionForAll,
        InvertedMask,
    ],
)
def test_a_wrong_attention_block_would_fail_the_proof(wrong: type[MultiHeadAttentionBlock]) -> None:
    ours, other = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0), wrong(D_MODEL, HEADS, 0.0)
    other.load_state_dict(ours.state_dict())
    q, k = torch.randn(BATCH, QUERY, D_MODEL), torch.randn(BATCH, KEY, D_MODEL)
    assert clearly_different(ours(q, k, k, MASK), other(q, k, k, MASK))


def scaled_by_d_model(scores: Tensor, allowed: Tensor) -> Tensor:
    scores = scores * math.sqrt(D_K) / math.sqrt(D_MODEL)
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1)


def not_scaled(scores: Tensor, allowed: Tensor) -> Tensor:
    return (scores * math.sqrt(D_K)).masked_fill(~allowed, -torch.inf).softmax(-1)


def masked_after_the_softmax(scores: Tensor, allowed: Tensor) -> Tensor:
    return scores.softmax(-1) * allowed


def softmax_over_the_queries(scores: Tensor, allowed: Tensor) -> Tensor:
    return scores.masked_fill(~allowed, -1e9).softmax(-2)


def zero_instead_of_minus_infinity(scores: Tensor, allowed: Tensor) -> Tensor:
    return scores.masked_fill(~allowed, 0.0).softmax(-1)


def queries_masked_too(scores: Tensor, allowed: Tensor) -> Tensor:
    both = allowed & allowed.transpose(-2, -1)[..., :QUERY, :]
    return scores.masked_fill(~both, -1e9).softmax(-1)


@pytest.mark.parametrize(
    "weigh",
    [
        scaled_by_d_model,
        not_scaled,
        masked_after_the_softmax,
        softmax_over_the_queries,
        zero_instead_of_minus_infinity,
        queries_masked_too,
    ],
)
def test_a_wrong_weighting_would_fail_the_proof(weigh: Callable[[Tensor, Tensor], Tensor]) -> None:
    q, k = torch.randn(BATCH, HEADS, QUERY, D_K), torch.randn(BATCH, HEADS, KEY, D_K)
    ours, _ = scaled_dot_product_attention(q, k, k, MASK)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D_K)
    assert clearly_different(ours, weigh(scores, MASK) @ k)


def test_a_mask_for_the_wrong_triangle_would_fail_the_proof() -> None:
    x = torch.randn(BATCH, HEADS, QUERY, D_K)
    ours, _ = scaled_dot_product_attention(x, x, x, look_ahead_mask(QUERY))
    wrong, _ = scaled_dot_product_attention(x, x, x, look_ahead_mask(QUERY).transpose(-2, -1))
    assert clearly_different(ours, wrong)


def test_the_biased_deviation_would_fail_the_proof() -> None:
    x = torch.randn(BATCH, QUERY, D_MODEL)
    assert clearly_different(LayerNormalization()(x), nn.LayerNorm(D_MODEL)(x))


def test_a_residual_that_carries_the_normed_input_would_fail_the_proof() -> None:
    residual, feed_forward = ResidualConnection(0.0), nn.Linear(D_MODEL, D_MODEL)
    x = 3 * torch.randn(BATCH, QUERY, D_MODEL) + 1  # the norm of N(0, 1) would be nearly x itself
    normed = residual.norm(x)
    assert clearly_different(residual(x, feed_forward), normed + feed_forward(normed))


@pytest.mark.parametrize(
    "exponent",
    [
        lambda column, d: 2 * column / d,  # doubled: column is 2i already
        lambda column, d: column / d,  # the cosine takes its own column instead of its pair's
    ],
    ids=["exponent doubled", "cosine with its own frequency"],
)
def test_wrong_sinusoids_would_fail_the_proof(exponent: Callable[[int, int], float]) -> None:
    ours = PositionalEncoding(D_MODEL, QUERY, 0.0).pe[0]
    waves = (math.sin, math.cos)
    wrong = torch.tensor(
        [
            [waves[c % 2](pos / 10000 ** exponent(c, D_MODEL)) for c in range(D_MODEL)]
            for pos in range(QUERY)
        ]
    )
    assert clearly_different(ours, wrong)


def test_no_shift_and_a_double_shift_are_other_inputs() -> None:
    labels = torch.tensor([[7, 8, 9, 2], [5, 2, 0, 0]])
    once = shift_right(labels, 1)
    assert not torch.equal(once, labels)
    assert not torch.equal(once, shift_right(once, 1))


def test_a_decoder_mask_without_padding_lets_words_look_at_the_filling() -> None:
    ids = torch.tensor([[1, 7, 0, 0]])
    assert not torch.equal(decoder_mask(ids, 0), look_ahead_mask(4))
