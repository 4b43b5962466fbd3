"""Conventions about weights: their number, layout, creation and initialization."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention import difference as d
from clearhead.compare.keras_attention.conversion import to_keras, to_torch
from clearhead.models import count_parameters

WIDTH, HEADS = 64, (1, 2, 4, 8)  # of the parameter counts


def _built(heads: int, key_dim: int, width: int) -> Any:
    layer = d.keras_layer(heads, key_dim)
    layer.build((None, None, width), (None, None, width))
    return layer


def key_dim() -> d.Difference:
    """The size given to the constructor: of one head or of all."""
    kernel = _built(d.H, d.D_MODEL, d.D_MODEL).query_dense.kernel.shape
    theirs, ours = d.new_torch_and_ours()
    return d.Difference(
        f"the width that you give, here {d.D_MODEL} with {d.H} heads",
        f"key_dim, of each head: {kernel[1]} × {kernel[2]} = {math.prod(kernel[1:])} inside",
        f"embed_dim, of all heads: {theirs.num_heads} × {theirs.head_dim} = "
        f"{theirs.num_heads * theirs.head_dim} inside",
        f"d_model, of all heads: {ours.h} × {ours.d_k} = {ours.h * ours.d_k} inside",
        "for the paper's layer in Keras give key_dim = d_model // num_heads",
    )


def parameters_by_heads() -> d.Difference:
    """The number of parameters as the number of heads grows."""
    return _parameters(
        f"parameters with {' → '.join(map(str, HEADS))} heads, the size given being {WIDTH}",
        [_built(h, WIDTH, WIDTH).count_params() for h in HEADS],
        "in Keras more heads mean more weights unless key_dim shrinks; elsewhere they share",
    )


def parameters_of_the_paper() -> d.Difference:
    """The same with key_dim divided by the number of heads."""
    return _parameters(
        f"the same with Keras' key_dim = {WIDTH} // num_heads",
        [_built(h, WIDTH // h, WIDTH).count_params() for h in HEADS],
        "now all three have the paper's 4 · d_model² weights and 4 · d_model biases",
    )


def _parameters(topic: str, in_keras: list[int], so: str) -> d.Difference:
    in_torch = [count_parameters(nn.MultiheadAttention(WIDTH, h)) for h in HEADS]
    in_ours = [count_parameters(MultiHeadAttentionBlock(WIDTH, h, 0.0)) for h in HEADS]
    cells = [" → ".join(f"{count:,}" for count in c) for c in (in_keras, in_torch, in_ours)]
    return d.Difference.of(topic, cells, so)


def indivisible_heads() -> d.Difference:
    """A width of 64 with 5 heads."""
    odd = 5
    return d.Difference(
        f"{odd} heads for a width of {WIDTH}",
        d.outcome(lambda: _built(odd, WIDTH // odd, WIDTH)),
        d.outcome(lambda: nn.MultiheadAttention(WIDTH, odd)),
        d.outcome(lambda: MultiHeadAttentionBlock(WIDTH, odd, 0.0)),
        "in Keras the inner width is free, and such a layer has no equivalent elsewhere",
    )


def layout() -> d.Difference:
    """The shapes of the query's and the output's weights."""
    layers = d.equal_layers()
    return d.Difference(
        "layout of the weights of queries and of the output",
        f"{d.named(layers.keras.query_dense.kernel)}, {d.named(layers.keras.output_dense.kernel)}",
        f"{d.named(layers.torch.in_proj_weight)} with keys and values, "
        f"{d.named(layers.torch.out_proj.weight)}",
        f"{d.named(layers.ours.w_q.weight)}, {d.named(layers.ours.w_o.weight)}",
        "Keras multiplies x · W with an axis for heads, nn.Linear x · Wᵀ: transpose, then view",
    )


def creation() -> d.Difference:
    """The number of weight tensors before the first call."""
    new, built = d.keras_layer(d.H, 7), _built(d.H, 7, d.D_MODEL)
    theirs, ours = d.new_torch_and_ours()
    return d.Difference(
        "tensors of weights before the first call, and after",
        f"{len(new.weights)}, {len(built.weights)}",
        f"{len(list(theirs.parameters()))}, the same",
        f"{len(list(ours.parameters()))}, the same",
        "Keras takes its width from the first input: build the layer before you load weights",
    )


def other_widths() -> d.Difference:
    """Keys and values of another width than the queries."""
    q, k = torch.randn(d.BATCH, d.QUERY, d.D_MODEL), torch.randn(d.BATCH, d.KEY, d.D_MODEL + 3)
    layer = d.keras_layer(d.H, 7)
    theirs = nn.MultiheadAttention(d.D_MODEL, d.H, batch_first=True)
    wide = nn.MultiheadAttention(d.D_MODEL, d.H, kdim=k.shape[2], vdim=k.shape[2], batch_first=True)
    ours = MultiHeadAttentionBlock(d.D_MODEL, d.H, 0.0)
    return d.Difference(
        "keys and values wider than queries",
        d.outcome(lambda: layer(query=q, key=k, value=k)),
        f"{d.outcome(lambda: theirs(q, k, k))}; "
        f"with kdim and vdim: {d.outcome(lambda: wide(q, k, k))}",
        d.outcome(lambda: ours(q, k, k)),
        "an encoder and a decoder of different widths need their own projection here",
    )


def bias() -> d.Difference:
    """The default, and the initial values."""
    layer = _built(d.H, 7, d.D_MODEL)
    theirs, ours = d.new_torch_and_ours()

    def initial(*biases: Any) -> str:
        return "zeros" if not any(b.detach().any() for b in biases) else "random numbers"

    return d.Difference(
        "bias by default, and its initial values",
        f"{d.default(type(layer), 'use_bias')}, "
        f"{initial(layer.query_dense.bias.value, layer.output_dense.bias.value)}",
        f"{d.default(nn.MultiheadAttention, 'bias')}, "
        f"{initial(theirs.in_proj_bias, theirs.out_proj.bias)}",
        f"{d.default(MultiHeadAttentionBlock, 'bias')}, {initial(ours.w_q.bias, ours.w_o.bias)}",
        "copy the biases, too: a new one of ours is not zero",
    )


def spread() -> d.Difference:
    """The standard deviation of a newly initialized query matrix."""
    width, heads = 512, 8
    layer = _built(heads, width // heads, width)
    theirs = nn.MultiheadAttention(width, heads)
    ours = MultiHeadAttentionBlock(width, heads, 0.0)
    weights = (layer.query_dense.kernel.value, theirs.in_proj_weight[:width], ours.w_q.weight)
    return d.Difference.of(
        f"standard deviation of a new query matrix, d_model {width}, {heads} heads",
        [f"{float(weight.detach().std()):.4f}" for weight in weights],
        "each samples from its own range: training from scratch does not start alike",
    )


def float64() -> d.Difference:
    """The error of a float64 call, measured against the unfused float64 computation."""
    ours = MultiHeadAttentionBlock(d.D_MODEL, d.H, 0.0).double()
    layer, theirs = to_keras(ours), to_torch(ours)
    q, k, v = (x.double() for x in d.inputs())
    expected = ours(q, k, v).detach()

    def precision(output: Tensor) -> str:
        error = float((output.detach() - expected).abs().max())
        return f"{'float64' if error < 1e-10 else 'float32'} inside (off by {error:.0e})"

    unfused, _ = layer(query=q, key=k, value=v, return_attention_scores=True)
    return d.Difference(
        "a module in float64, scores not requested",
        f"{precision(layer(query=q, key=k, value=v))}; with scores, {precision(unfused)}",
        precision(theirs(q, k, v, need_weights=False)[0]),
        precision(expected),
        "to check formulas in float64 with Keras on torch, request the scores",
    )


# In the order of the table.
ROWS = (
    key_dim, parameters_by_heads, parameters_of_the_paper, indivisible_heads, layout,
    creation, other_widths, bias, spread, float64,
)  # fmt: skip
