"""What attention does beyond being equal to torch's: no NaN, recorded weights, clear errors."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from clearhead.blocks import (
    MultiHeadAttention,
    MultiHeadAttentionBlock,
    record_attention,
    scaled_dot_product_attention,
)
from clearhead.errors import UserError
from tests.blocks.twins import BATCH, D_MODEL, HEADS, KEY, QUERY

every_kind = pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=3, max_size=3))
def test_rows_of_weights_sum_to_one_or_to_zero_where_nothing_may_be_seen(
    rows: list[list[bool]],
) -> None:
    mask = torch.tensor(rows)
    q, k = torch.randn(2, 3, 5).double(), torch.randn(2, 4, 5).double()
    output, weights = scaled_dot_product_attention(q, k, k, mask)
    expected = mask.any(dim=-1).double().expand(2, 3)
    torch.testing.assert_close(weights.sum(dim=-1), expected, atol=1e-12, rtol=0)
    assert not weights.masked_select(~mask).any()
    assert not output[:, ~mask.any(dim=-1)].any()


@every_kind
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_fully_masked_rows_are_zeros_with_finite_gradients(dtype: torch.dtype, size: float) -> None:
    q, k, v = (torch.randn(2, 3, 4, dtype=dtype) for _ in range(3))
    q, k, v = ((t * size**0.5).requires_grad_() for t in (q, k, v))
    mask = torch.ones(2, 3, 3, dtype=torch.bool)
    mask[0] = False  # one sentence of nothing
    mask[1, 1] = False  # one query with nothing to see
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert not output[0].any() and not output[1, 1].any() and not weights[0].any()
    output.square().sum().backward()
    for tensor in (q, k, v):
        assert tensor.grad is not None and tensor.grad.isfinite().all()
        assert not tensor.grad[0].any()


def test_a_block_stays_finite_when_a_whole_sentence_is_masked() -> None:
    block = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)
    x = torch.randn(BATCH, QUERY, D_MODEL, requires_grad=True)
    mask = torch.tensor([True, False, True]).view(BATCH, 1, 1, 1)
    block(x, x, x, mask).sum().backward()
    gradients = [x.grad, *(p.grad for p in block.parameters())]
    assert all(g is not None and g.isfinite().all() for g in gradients)


def test_weights_are_recorded_after_each_forward_and_detached() -> None:
    block = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)
    q, k = torch.randn(BATCH, QUERY, D_MODEL), torch.randn(BATCH, KEY, D_MODEL)
    assert block.attention_scores is None
    for query in (q, q[:, 1:]):
        block(query, k, k)
        assert block.attention_scores is not None
        assert block.attention_scores.shape == (BATCH, HEADS, query.shape[1], KEY)
        assert not block.attention_scores.requires_grad


def test_recording_is_switched_off_and_on_for_all_blocks_of_a_model() -> None:
    blocks = nn.ModuleList(MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0) for _ in range(2))
    x = torch.randn(BATCH, QUERY, D_MODEL)
    for recorded in (True, False, True):
        record_attention(blocks, recorded)
        for block in blocks:
            block(x, x, x)
            assert (block.attention_scores is not None) is recorded
    record_attention(blocks, False)
    assert all(block.attention_scores is None for block in blocks)


def test_the_weights_shown_are_those_before_dropout() -> None:
    block = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.5).train()
    x = torch.randn(BATCH, QUERY, D_MODEL)
    block(x, x, x)
    assert block.attention_scores is not None
    torch.testing.assert_close(block.attention_scores.sum(-1), torch.ones(BATCH, HEADS, QUERY))


def test_dropout_falls_on_the_weights_and_only_in_training() -> None:
    v = torch.eye(8).expand(1, 1, 8, 8)  # so the output is the weights
    q = torch.randn(1, 1, 8, 3)
    dropout = nn.Dropout(0.5)
    output, weights = MultiHeadAttentionBlock.attention(q, q, v, None, dropout)
    kept = output != 0
    assert 0 < kept.sum() < 64
    torch.testing.assert_close(output[kept], 2 * weights[kept])
    output, weights = MultiHeadAttentionBlock.attention(q, q, v, None, dropout.eval())
    torch.testing.assert_close(output, weights)


@pytest.mark.parametrize(("batch", "query", "key"), [(0, 5, 6), (3, 0, 6), (3, 5, 0), (1, 1, 1)])
def test_empty_and_single_axes_pass(batch: int, query: int, key: int) -> None:
    block = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)
    q, k = torch.randn(batch, query, D_MODEL), torch.randn(batch, key, D_MODEL)
    output = block(q, k, k)
    assert output.shape == (batch, query, D_MODEL) and output.isfinite().all()


@pytest.mark.parametrize("h", [7, 0, -8, 1024])
def test_a_width_that_does_not_divide_names_both_numbers(h: int) -> None:
    with pytest.raises(UserError, match=rf"d_model=512 is not divisible by h={h}"):
        MultiHeadAttentionBlock(512, h, 0.1)
    with pytest.raises(UserError, match=rf"d_model=512 is not divisible by num_heads={h}"):
        MultiHeadAttention(512, h)


def test_batches_that_disagree_name_their_sizes() -> None:
    block = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)
    q, k = torch.randn(3, QUERY, D_MODEL), torch.randn(2, KEY, D_MODEL)
    with pytest.raises(UserError, match=r"q has 3, k has 2, v has 2"):
        block(q, k, k)


def test_every_key_needs_its_value() -> None:
    block = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)
    k, v = torch.randn(3, 6, D_MODEL), torch.randn(3, 5, D_MODEL)
    with pytest.raises(UserError, match=r"k has 6 positions and v has 5"):
        block(k, k, v)
