"""Both kernels compute the formulas: outputs, gradients, attention weights, dropout."""

import copy

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks.attention import MultiHeadAttentionBlock
from clearhead.blocks.masks import look_ahead_mask
from clearhead.blocks.normalization import LayerNormalization
from clearhead.errors import UserError
from clearhead.fast.accelerate import accelerate

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
BATCH, H, QUERY, KEY, D_K = 2, 3, 5, 7, 4


def with_kernel(block: MultiHeadAttentionBlock) -> MultiHeadAttentionBlock:
    """A copy whose attention function is the kernel."""
    return accelerate(copy.deepcopy(block), {"attention"})


def make_mask(kind: str) -> Tensor | None:
    """Every shape that a mask may have; some hide every key of a query or of a sentence."""
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
        "a sentence without visible keys": empty,
        "ones and zeros": full.int(),
        "two axes": full[0, 0],
    }[kind]


KINDS = [
    "none", "padding", "look ahead", "each query its own", "each head its own",
    "a sentence without visible keys", "ones and zeros", "two axes",
]  # fmt: skip


def run(block: nn.Module, inputs: list[Tensor], mask: Tensor | None, upstream: Tensor) -> list:
    """Output, gradients of the inputs, gradients of the parameters."""
    block.zero_grad()
    leaves = [x.clone().requires_grad_() for x in inputs]
    y = block(*leaves) if mask is None else block(*leaves, mask)
    y.backward(upstream)
    return [y.detach(), *(x.grad for x in leaves), *(p.grad for p in block.parameters())]


def inputs_of(dtype: torch.dtype) -> list[Tensor]:
    sizes = [(BATCH, QUERY, H * D_K), (BATCH, KEY, H * D_K), (BATCH, KEY, H * D_K)]
    return [torch.randn(size, dtype=dtype) for size in sizes]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", KINDS)
def test_the_attention_kernel_is_the_formula(dtype: torch.dtype, kind: str) -> None:
    readable = MultiHeadAttentionBlock(H * D_K, H, 0.1).to(dtype).eval()
    inputs, mask = inputs_of(dtype), make_mask(kind)
    upstream = torch.randn(BATCH, QUERY, H * D_K, dtype=dtype)
    blocks = with_kernel(readable), readable
    ours, theirs = (run(block, inputs, mask, upstream) for block in blocks)
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, reference, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_one_tensor_as_query_key_and_value_gets_all_three_gradients() -> None:
    readable = MultiHeadAttentionBlock(6, 2, 0.0).double()
    x = torch.randn(3, 4, 6, dtype=torch.float64)
    gradients = []
    for block in (readable, with_kernel(readable)):
        leaf = x.clone().requires_grad_()
        block(leaf, leaf, leaf, look_ahead_mask(4)).square().sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-10, atol=1e-10)


def test_the_kernel_drops_attention_weights_at_the_rate_and_only_in_training() -> None:
    block = MultiHeadAttentionBlock(8, 2, 0.25)
    for layer in (block.w_v, block.w_o):  # the output is the sum of the kept weights
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    fast = with_kernel(block)
    x = torch.ones(50, 40, 8)
    sums = fast(x, x, x).detach()
    assert float(sums.mean()) == pytest.approx(1.0, abs=0.01)
    # 40 weights of 1/40, each kept with 3/4 and scaled by 4/3: variance 1/40 · 1/3
    assert float(sums[..., 0].var()) == pytest.approx(1 / 120, rel=0.15)
    torch.testing.assert_close(fast.eval()(x, x, x), torch.ones_like(x))


def test_attention_scores_are_kept_with_the_kernel_as_without() -> None:
    readable = MultiHeadAttentionBlock(H * D_K, H, 0.3)
    fast = with_kernel(readable)
    assert not fast.keep_attention_scores
    fast.keep_attention_scores = True
    inputs, mask = inputs_of(torch.float32), make_mask("each query its own")
    readable(*inputs, mask), fast(*inputs, mask)
    assert readable.attention_scores is not None and fast.attention_scores is not None
    torch.testing.assert_close(fast.attention_scores, readable.attention_scores)
    assert not fast.attention_scores.requires_grad
    fast.keep_attention_scores = False
    fast(*inputs, mask)
    assert fast.attention_scores is None


def test_a_copy_of_an_accelerated_block_keeps_its_own_scores() -> None:
    """The kernel belongs to its block; a copy must not ask the original."""
    fast = with_kernel(MultiHeadAttentionBlock(H * D_K, H, 0.0))
    other = copy.deepcopy(fast)
    other.keep_attention_scores = True
    for block in (fast, other):
        block(*inputs_of(torch.float32))
    assert fast.attention_scores is None and other.attention_scores is not None
    assert other.attention_scores.shape == (BATCH, H, QUERY, KEY)


def test_a_learners_own_dropout_is_called_instead_of_the_kernel() -> None:
    block = MultiHeadAttentionBlock(H * D_K, H, 0.0)
    block.dropout = Doubling()
    inputs = inputs_of(torch.float32)
    torch.testing.assert_close(with_kernel(block)(*inputs), block(*inputs))


class Doubling(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


def test_bfloat16_stays_near_float32() -> None:
    readable = MultiHeadAttentionBlock(H * D_K, H, 0.0)
    fast = with_kernel(readable).bfloat16()
    inputs, mask = inputs_of(torch.float32), make_mask("padding")
    upstream = torch.randn(BATCH, QUERY, H * D_K)
    exact = run(readable, inputs, mask, upstream)
    ours = run(fast, [x.bfloat16() for x in inputs], mask, upstream.bfloat16())
    for mine, reference in zip(ours, exact, strict=True):
        assert mine.dtype == torch.bfloat16
        # The key's bias moves all scores of a row alike: its true gradient is 0.
        assert (mine - reference).norm() <= 0.03 * max(float(reference.norm()), 1.0)


def test_what_does_not_fit_is_refused_before_the_kernel() -> None:
    fast = with_kernel(MultiHeadAttentionBlock(6, 2, 0.0))
    x = torch.randn(3, 4, 6)
    with pytest.raises(UserError, match="batch sizes disagree"):
        fast(x, x[:2], x[:2])
    with pytest.raises(UserError, match="does not fit"):
        fast(x, x, x, torch.ones(3, 4, 4))


def norm_of(features: int | None, dtype: torch.dtype, eps: float = 1e-6) -> LayerNormalization:
    norm = LayerNormalization(features, eps).to(dtype)
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter += torch.randn_like(parameter)
    return norm


def fused(norm: LayerNormalization) -> LayerNormalization:
    """A copy that computes its formula by the kernel."""
    return accelerate(copy.deepcopy(norm), {"normalization"})


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("features", [None, 6, 31])
def test_the_fused_norm_is_the_formula(features: int | None, dtype: torch.dtype) -> None:
    # Epsilon is outside the root in one and inside in the other: in float64 that shows.
    norm = norm_of(features, dtype, eps=1e-6 if dtype == torch.float32 else 1e-13)
    x = 3 + 2 * torch.randn(2, 5, features or 9, dtype=dtype)
    upstream = torch.randn_like(x)
    outcomes = [run(n, [x], None, upstream) for n in (fused(norm), norm)]
    for ours, theirs in zip(*outcomes, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_the_two_epsilons_differ_by_epsilon_over_sigma_at_most() -> None:
    norm, sigma = LayerNormalization(8, 1e-3).double(), 0.5
    x = torch.randn(20, 8, dtype=torch.float64)
    x = sigma * x / x.std(dim=-1, keepdim=True)
    ours, theirs = fused(norm)(x), norm(x)
    assert ((ours - theirs).abs() <= 1e-3 / sigma * theirs.abs()).all()


def test_a_constant_row_becomes_the_bias_and_no_nan() -> None:
    norm = norm_of(7, torch.float32)
    x = torch.full((3, 7), 4.2)
    results = run(fused(norm), [x], None, torch.ones_like(x))
    assert all(t.isfinite().all() for t in results)
    torch.testing.assert_close(results[0], norm.bias.detach().expand(3, 7), rtol=0, atol=1e-2)
