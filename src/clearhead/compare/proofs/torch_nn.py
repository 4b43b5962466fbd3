"""torch.nn, part by part: attention, norms, feed-forward; its layers stand in `torch_layers`.

Epsilon is 0 on both sides of a norm: inside the root or outside it, it can only be nothing.
"""

from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from clearhead.blocks import (
    BiasedLayerNormalization,
    FeedForwardBlock,
    LayerNormalization,
    MultiHeadAttention,
    MultiHeadAttentionBlock,
    scaled_dot_product_attention,
)
from clearhead.compare.proofs import torch_layers
from clearhead.compare.proofs.proof import (
    Finding,
    Proof,
    in_both_precisions,
    side_by_side,
    worst,
)
from clearhead.compare.proofs.same_weights import (
    Same,
    held,
    same_attention,
    same_linear,
    same_norm,
)
from clearhead.compare.proofs.sizes import (
    BATCH,
    D_FF,
    D_K,
    D_MODEL,
    HEADS,
    KEY,
    MASKS,
    QUERY,
    queries_keys_values,
    source,
)


def proofs() -> Iterator[Proof]:
    """Parts first, then what is made of them."""
    for ours, theirs, find in (
        ("scaled_dot_product_attention", "F.scaled_dot_product_attention", pure_attention),
        ("MultiHeadAttentionBlock", "nn.MultiheadAttention", multi_head_attention),
        ("MultiHeadAttention of chapter 3, its weights too", "nn.MultiheadAttention", chapter_3),
        ("LayerNormalization · sqrt(n / (n - 1))", "nn.LayerNorm", norm),
        ("BiasedLayerNormalization", "nn.LayerNorm", biased_norm),
        ("FeedForwardBlock", "nn.Linear, nn.ReLU, nn.Linear", feed_forward),
    ):
        yield from in_both_precisions(ours, theirs, find)
    yield from torch_layers.proofs()


def multi_head_attention(dtype: torch.dtype) -> Finding:
    """Every mask, with and without bias."""

    def find(mask: Tensor | None, bias: bool) -> Finding:
        ours = MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0, bias=bias)
        theirs = nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True, dtype=dtype)
        # Our mask in torch's sign and shape: True = hide, (batch * h, query, key).
        hidden = None if mask is None else ~mask.expand(BATCH, HEADS, QUERY, KEY).flatten(0, 1)
        calls = (
            lambda q, k, v: ours(q, k, v, mask),
            lambda q, k, v: theirs(q, k, v, attn_mask=hidden)[0],
        )
        return held(ours, list(same_attention(ours, theirs)), calls, queries_keys_values(dtype))

    return worst(find(*case) for case in product(MASKS.values(), (True, False)))


def pure_attention(dtype: torch.dtype) -> Finding:
    """The function of the lesson; values may be wider than keys."""

    def find(mask: Tensor | None) -> Finding:
        sizes = (QUERY, D_K), (KEY, D_K), (KEY, D_K + 2)
        inputs = [torch.randn(BATCH, HEADS, *size, dtype=dtype) for size in sizes]
        return side_by_side(
            lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)[0],
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
            inputs,
            list,
        )

    return worst(map(find, MASKS.values()))


def chapter_3(dtype: torch.dtype) -> Finding:
    """The lesson's own class, and the weights that it returns, both with a gradient."""
    ours = MultiHeadAttention(D_MODEL, HEADS).to(dtype)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, dtype=dtype)
    same = list(same_attention(ours, theirs))
    return held(
        ours,
        same,
        (
            lambda x: _laid_out(*ours(x)),
            lambda x: _laid_out(*theirs(x, x, x, average_attn_weights=False)),
        ),
        [source(dtype)],
    )


def _laid_out(output: Tensor, weights: Tensor) -> Tensor:
    """Everything that an attention returns, in a row."""
    return torch.cat([output.flatten(), weights.flatten()])


def norm(dtype: torch.dtype) -> Finding:
    """The paper's, with the unbiased deviation, through the stated relation."""
    ours = LayerNormalization(D_MODEL, eps=0.0)
    theirs = nn.LayerNorm(D_MODEL, eps=0.0, dtype=dtype)
    return held(ours, list(same_norm(ours, theirs)), (ours, theirs), [source(dtype)])


def biased_norm(dtype: torch.dtype) -> Finding:
    """With an epsilon that matters, for both have it inside the root."""
    ours = BiasedLayerNormalization(D_MODEL, eps=0.1)
    theirs = nn.LayerNorm(D_MODEL, eps=0.1, dtype=dtype)
    same = [Same(ours.alpha, theirs.weight), Same(ours.bias, theirs.bias)]
    return held(ours, same, (ours, theirs), [source(dtype)])


def feed_forward(dtype: torch.dtype) -> Finding:
    """Up, ReLU, down."""
    ours = FeedForwardBlock(D_MODEL, D_FF, 0.0)
    up, down = nn.Linear(D_MODEL, D_FF, dtype=dtype), nn.Linear(D_FF, D_MODEL, dtype=dtype)
    same = [*same_linear(ours.linear_1, up), *same_linear(ours.linear_2, down)]
    return held(ours, same, (ours, nn.Sequential(up, nn.ReLU(), down)), [source(dtype)])
