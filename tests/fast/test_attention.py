"""Both fast attentions are the readable one: outputs, gradients, weights, dropout."""

import copy

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks.attention import MultiHeadAttentionBlock
from clearhead.blocks.masks import look_ahead_mask
from clearhead.errors import UserError
from clearhead.fast.attention import FastMultiHeadAttentionBlock, attend
from clearhead.fast.dropout import CheapDropout
from clearhead.fast.sdpa import SdpaMultiHeadAttentionBlock

TWINS = [FastMultiHeadAttentionBlock, SdpaMultiHeadAttentionBlock]
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
BATCH, H, QUERY, KEY, D_K = 2, 3, 5, 7, 4


def make_mask(kind: str) -> Tensor | None:
    """Every shape that a mask may have; one sentence, or one query, may look at nothing."""
    padding = torch.ones(BATCH, 1, 1, KEY, dtype=torch.bool)
    padding[0, ..., 4:] = False
    full = torch.rand(BATCH, 1, QUERY, KEY) < 0.6
    full[1, :, 2] = False
    empty = padding.clone()
    empty[1] = False
    return {
        "none": None,
        "padding": padding,
        "look ahead": look_ahead_mask(KEY)[..., :QUERY, :],
        "each query its own": full,
        "each head its own": torch.rand(BATCH, H, QUERY, KEY) < 0.6,
        "a sentence of nothing": empty,
        "ones and zeros": full.int(),
        "two axes": full[0, 0],
    }[kind]


KINDS = [
    "none", "padding", "look ahead", "each query its own", "each head its own",
    "a sentence of nothing", "ones and zeros", "two axes",
]  # fmt: skip


def run(block: nn.Module, inputs: list[Tensor], mask: Tensor | None, upstream: Tensor) -> list:
    """Output, the three inputs' gradients, the parameters'."""
    block.zero_grad()
    leaves = [x.clone().requires_grad_() for x in inputs]
    y = block(*leaves, mask)
    y.backward(upstream)
    return [y.detach(), *(x.grad for x in leaves), *(p.grad for p in block.parameters())]


def inputs_of(dtype: torch.dtype) -> list[Tensor]:
    sizes = [(BATCH, QUERY, H * D_K), (BATCH, KEY, H * D_K), (BATCH, KEY, H * D_K)]
    return [torch.randn(size, dtype=dtype) for size in sizes]


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_the_readable_one(twin: type, dtype: torch.dtype, kind: str) -> None:
    readable = MultiHeadAttentionBlock(H * D_K, H, 0.1).to(dtype).eval()
    fast = twin.twin(copy.deepcopy(readable))
    inputs, mask = inputs_of(dtype), make_mask(kind)
    upstream = torch.randn(BATCH, QUERY, H * D_K, dtype=dtype)
    tolerance = TOLERANCE[dtype]
    ours, theirs = (run(block, inputs, mask, upstream) for block in (fast, readable))
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, reference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("twin", TWINS)
def test_one_tensor_as_query_key_and_value_gets_all_three_gradients(twin: type) -> None:
    readable = MultiHeadAttentionBlock(6, 2, 0.0).double()
    fast = twin.twin(copy.deepcopy(readable))
    x = torch.randn(3, 4, 6, dtype=torch.float64)
    gradients = []
    for block in (readable, fast):
        leaf = x.clone().requires_grad_()
        block(leaf, leaf, leaf, look_ahead_mask(4)).square().sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-10, atol=1e-10)


def test_its_gradient_is_the_one_that_differences_show() -> None:
    mask = make_mask("each query its own")
    kept = (torch.rand(BATCH, H, QUERY, KEY, dtype=torch.float64) < 0.7) / 0.7
    leaves = [x.requires_grad_() for x in inputs_of(torch.float64)]
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, mask, kept, H)[0], leaves)


def test_forward_and_backward_drop_the_same_weights() -> None:
    """The factors laid open: the readable attention with these very factors as its dropout."""
    kept = (torch.rand(BATCH, H, QUERY, KEY, dtype=torch.float64) < 0.5) * 2.0
    mask, upstream = make_mask("padding"), torch.randn(BATCH, QUERY, H * D_K).double()
    leaves = [x.requires_grad_() for x in inputs_of(torch.float64)]
    ours = torch.autograd.grad(attend(*leaves, mask, kept, H)[0], leaves, upstream)
    apart = [x.unflatten(-1, (H, D_K)).transpose(1, 2) for x in leaves]
    x, _ = MultiHeadAttentionBlock.attention(*apart, mask, lambda weights: weights * kept)
    theirs = torch.autograd.grad(x.transpose(1, 2).flatten(2), leaves, upstream)
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-10, atol=1e-10)


def test_in_training_weights_are_dropped_at_the_rate_and_at_rest_none() -> None:
    block = MultiHeadAttentionBlock(8, 2, 0.25)
    block.dropout = CheapDropout(0.25)
    for layer in (block.w_v, block.w_o):  # what comes out is the sum of the kept weights
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    fast = FastMultiHeadAttentionBlock.twin(block)
    x = torch.ones(50, 40, 8)
    sums = fast(x, x, x)
    assert float(sums.detach().mean()) == pytest.approx(1.0, abs=0.01)
    # 40 weights of 1/40, each kept with 3/4 and scaled by 4/3: variance 1/40 · 1/3
    assert float(sums.detach()[..., 0].var()) == pytest.approx(1 / 120, rel=0.15)
    torch.testing.assert_close(fast.eval()(x, x, x), torch.ones_like(x))


@pytest.mark.parametrize("twin", TWINS)
def test_a_watcher_sees_the_weights_before_dropout(twin: type) -> None:
    readable = MultiHeadAttentionBlock(H * D_K, H, 0.3)
    readable.keep_attention_scores = True
    fast = twin.twin(copy.deepcopy(readable))
    inputs, mask = inputs_of(torch.float32), make_mask("each query its own")
    readable(*inputs, mask), fast(*inputs, mask)
    assert readable.attention_scores is not None and fast.attention_scores is not None
    torch.testing.assert_close(fast.attention_scores, readable.attention_scores)
    assert not fast.attention_scores.requires_grad
    fast.keep_attention_scores = False
    fast(*inputs, mask)
    assert fast.attention_scores is None


@pytest.mark.parametrize("twin", TWINS)
def test_bfloat16_stays_near_float32(twin: type) -> None:
    readable = MultiHeadAttentionBlock(H * D_K, H, 0.0)
    fast = twin.twin(copy.deepcopy(readable)).bfloat16()
    inputs, mask = inputs_of(torch.float32), make_mask("padding")
    upstream = torch.randn(BATCH, QUERY, H * D_K)
    exact = run(readable, inputs, mask, upstream)
    ours = run(fast, [x.bfloat16() for x in inputs], mask, upstream.bfloat16())
    for mine, reference in zip(ours, exact, strict=True):
        assert mine.dtype == torch.bfloat16
        # The key's bias moves all scores of a row alike: its true gradient is 0.
        assert (mine - reference).norm() <= 0.03 * max(float(reference.norm()), 1.0)


@pytest.mark.parametrize("twin", TWINS)
def test_what_does_not_fit_is_refused_as_by_the_readable_one(twin: type) -> None:
    fast = twin.twin(MultiHeadAttentionBlock(6, 2, 0.0))
    x = torch.randn(3, 4, 6)
    with pytest.raises(UserError, match="batch sizes disagree"):
        fast(x, x[:2], x[:2])
    with pytest.raises(UserError, match="does not fit"):
        fast(x, x, x, torch.ones(3, 4, 4))
