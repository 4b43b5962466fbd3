"""Our attention is torch's attention: outputs, weights and gradients, on copied weights."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from clearhead.blocks import (
    MultiHeadAttention,
    MultiHeadAttentionBlock,
    SelfAttention,
    look_ahead_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from clearhead.compare.proofs.proof import randomize
from clearhead.compare.proofs.shared_weights import attention_pairs, copy_weights, linear_pairs
from tests.blocks.twins import (
    BATCH,
    D_K,
    D_MODEL,
    HEADS,
    KEY,
    QUERY,
    assert_same,
    assert_same_everywhere,
    both_precisions,
    padded_keys,
    random,
    twice,
)

WORDS = padded_keys((6, 2, 4), KEY)  # (batch, key)
PADDING = WORDS[:, None, None, :]
LOOK_AHEAD = look_ahead_mask(KEY)[..., :QUERY, :]  # (1, 1, query, key)
MASKS = {
    "none": None,
    "padding": PADDING,
    "look-ahead": LOOK_AHEAD,
    "both": PADDING & LOOK_AHEAD,
    "0/1 integers": (PADDING & LOOK_AHEAD).int(),
    "0/1 floats": (PADDING & LOOK_AHEAD).float(),
}
every_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


def hidden(mask: Tensor | None) -> Tensor | None:
    """Our mask in torch's sign and shape: True = hide, (batch * h, query, key)."""
    if mask is None:
        return None
    return ~mask.bool().expand(BATCH, HEADS, QUERY, KEY).flatten(0, 1)


@both_precisions
@every_mask
@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_attention_is_torchs(mask: Tensor, bias: bool, dtype: torch.dtype) -> None:
    ours = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0, bias=bias)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True, dtype=dtype)
    randomize(ours, dtype)
    same = list(attention_pairs(ours, theirs))
    copy_weights(same)
    inputs = twice(
        random(BATCH, QUERY, D_MODEL, dtype=dtype),
        random(BATCH, KEY, D_MODEL, dtype=dtype),
        random(BATCH, KEY, D_MODEL, dtype=dtype),
    )
    ours.keep_attention_scores = True
    x = ours(*inputs[0], mask)
    y, weights = theirs(*inputs[1], attn_mask=hidden(mask), average_attn_weights=False)
    assert_same("weights", ours.attention_scores, weights.detach())
    assert_same_everywhere((x, y), inputs, same)


def test_the_padding_mask_is_torchs_key_padding_mask_with_the_sign_turned() -> None:
    ours = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, dtype=torch.float64)
    randomize(ours, torch.float64)
    copy_weights(attention_pairs(ours, theirs))
    q, k = torch.randn(BATCH, QUERY, D_MODEL).double(), torch.randn(BATCH, KEY, D_MODEL).double()
    ids = WORDS.long() * 9  # filling is id 0
    x = ours(q, k, k, padding_mask(ids, pad_id=0))
    y, _ = theirs(q, k, k, key_padding_mask=ids == 0)
    assert_same("output", x, y)


@both_precisions
@every_mask
def test_scaled_dot_product_attention_is_torchs(mask: Tensor | None, dtype: torch.dtype) -> None:
    inputs = twice(
        random(BATCH, HEADS, QUERY, D_K, dtype=dtype),
        random(BATCH, HEADS, KEY, D_K, dtype=dtype),
        random(BATCH, HEADS, KEY, D_K + 2, dtype=dtype),  # d_v may differ from d_k
    )
    x, weights = scaled_dot_product_attention(*inputs[0], mask)
    y = F.scaled_dot_product_attention(*inputs[1], attn_mask=None if mask is None else mask.bool())
    assert weights.shape == (BATCH, HEADS, QUERY, KEY)
    assert_same_everywhere((x, y), inputs, [])


@both_precisions
def test_chapter_3_multi_head_attention_is_the_block(dtype: torch.dtype) -> None:
    chapter_3 = MultiHeadAttention(D_MODEL, HEADS)
    block = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0)
    randomize(chapter_3, dtype)
    block.to(dtype)
    same = [
        pair
        for name in "qkvo"
        for pair in linear_pairs(getattr(chapter_3, f"W_{name}"), getattr(block, f"w_{name}"))
    ]
    copy_weights(same)
    inputs = twice(random(BATCH, QUERY, D_MODEL, dtype=dtype))
    block.keep_attention_scores = True
    x, weights = chapter_3(*inputs[0])
    y = block(inputs[1][0], inputs[1][0], inputs[1][0])
    assert_same("weights", weights.detach(), block.attention_scores)
    assert_same_everywhere((x, y), inputs, same)


@both_precisions
def test_self_attention_is_one_head_without_an_output_projection(dtype: torch.dtype) -> None:
    ours = SelfAttention(D_MODEL)
    theirs = nn.MultiheadAttention(D_MODEL, 1, batch_first=True, dtype=dtype)
    randomize(ours, dtype)
    with torch.no_grad():
        linears = (ours.W_q, ours.W_k, ours.W_v)
        theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in linears]))
        theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in linears]))
        theirs.out_proj.weight.copy_(torch.eye(D_MODEL))
    inputs = twice(random(BATCH, QUERY, D_MODEL, dtype=dtype))
    x, weights = ours(*inputs[0])
    y, their_weights = theirs(inputs[1][0], inputs[1][0], inputs[1][0])
    assert_same("weights", weights, their_weights)
    assert_same_everywhere((x, y), inputs, [])
