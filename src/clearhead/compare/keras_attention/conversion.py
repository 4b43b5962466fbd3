"""Conversion of attention weights between Keras, torch.nn and our block.

Our block stores each projection as a matrix (out, in), as `nn.Linear` does. Keras stores a kernel
(in, h, d_k) with a separate axis for heads and multiplies x · W. torch.nn stacks the projections
of queries, keys and values: (3 · d_model, d_model).

`in_our_names` reads values or gradients: both have the same layout.
"""

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.proofs.shared_weights import attention_pairs, copy_weights, copy_weights_back
from clearhead.compare.timing import keras_on
from clearhead.errors import UserError

Read = Callable[[Any], Tensor]
# Our names of the projections into heads, and those of Keras.
INWARD = {"w_q": "query_dense", "w_k": "key_dense", "w_v": "value_dense"}
OUTWARD = ("w_o", "output_dense")


def to_keras(block: MultiHeadAttentionBlock) -> Any:
    """A `keras.layers.MultiHeadAttention` with the weights of our block."""
    weight = block.w_q.weight
    bias = block.w_q.bias is not None
    with keras_on(str(weight.device)) as keras:
        layer = keras.layers.MultiHeadAttention(
            num_heads=block.h,
            key_dim=block.d_k,  # of one head, not of all
            dropout=block.dropout.p,
            use_bias=bias,
            dtype=str(weight.dtype).removeprefix("torch."),
        )
        layer.build(*2 * [(None, None, block.d_model)])
        for ours, theirs in INWARD.items():
            # (h · d_k, d_model) -> (d_model, h, d_k)
            _assign(getattr(layer, theirs), getattr(block, ours), 1, block.h)
        # (d_model, h · d_k) -> (h, d_k, d_model)
        _assign(layer.output_dense, block.w_o, 0, block.h)
    return layer


def _assign(dense: Any, linear: nn.Linear, axis: int, h: int) -> None:
    dense.kernel.assign(linear.weight.detach().T.unflatten(axis, (h, -1)))
    if linear.bias is not None:
        dense.bias.assign(linear.bias.detach().view(dense.bias.shape))


def from_keras(layer: Any) -> MultiHeadAttentionBlock:
    """Our block with the weights of a Keras layer that has been built.

    Raises:
        UserError: the layer has no weights yet, or is not the paper's attention.
    """
    tensors = in_our_names(layer)
    d_model, bias = tensors["w_q.weight"].shape[1], "w_q.bias" in tensors
    block = MultiHeadAttentionBlock(d_model, layer.num_heads, layer.dropout, bias=bias)
    block.to(tensors["w_q.weight"]).load_state_dict(tensors)
    return block


def value_of(variable: Any) -> Tensor:
    """The value of a Keras variable."""
    return variable.value.detach()


def gradient_of(variable: Any) -> Tensor:
    """The gradient of a Keras variable, which on the torch backend is a torch parameter."""
    return variable.value.grad


def in_our_names(layer: Any, read: Read = value_of) -> dict[str, Tensor]:
    """A Keras layer's weights, or with `gradient_of` their gradients, in our names and layout."""
    check(layer)
    return dict(_tensors(layer, read))


def _tensors(layer: Any, read: Read) -> Iterator[tuple[str, Tensor]]:
    for ours, theirs in INWARD.items():
        dense = getattr(layer, theirs)
        # (d_model, h, d_k) -> (h · d_k, d_model)
        yield f"{ours}.weight", read(dense.kernel).flatten(1).T
        if dense.bias is not None:
            yield f"{ours}.bias", read(dense.bias).flatten()  # (h, d_k) -> (h · d_k)
    ours, theirs = OUTWARD
    dense = getattr(layer, theirs)
    # (h, d_k, d_model) -> (d_model, h · d_k)
    yield f"{ours}.weight", read(dense.kernel).flatten(0, 1).T
    if dense.bias is not None:
        yield f"{ours}.bias", read(dense.bias)


def check(layer: Any) -> None:
    """Accept only the paper's attention: h · key_dim = d_model everywhere, no gate.

    Raises:
        UserError: the layer differs from that, or has not been built.
    """
    if type(layer).__name__ != "MultiHeadAttention":
        raise UserError(
            f"this Keras layer is a {type(layer).__name__}; expected keras.layers."
            "MultiHeadAttention, the only one with keys and values of its own for each head"
        )
    if not layer.built:
        raise UserError(
            "this Keras layer has no weights before its first input; call it once, or "
            "layer.build(query_shape, value_shape)"
        )
    d_model, inside = layer.query_dense.kernel.shape[0], layer.num_heads * layer.key_dim
    kernels = [getattr(layer, name).kernel.shape for name in INWARD.values()]
    out = tuple(layer.output_dense.kernel.shape)
    if inside != d_model or len(set(kernels)) > 1 or out != (*kernels[0][1:], d_model):
        raise UserError(
            f"this Keras layer has {layer.num_heads} heads of key_dim={layer.key_dim} and kernels "
            f"{', '.join(map(str, map(tuple, [*kernels, out])))}; expected key_dim = "
            "value_dim = d_model / num_heads, and one width d_model for query, key, value, output"
        )
    if getattr(layer, "_use_gate", False):
        raise UserError("this Keras layer has a gate (use_gate=True); build it with use_gate=False")
    axes = tuple(getattr(layer, "_attention_axes", None) or (1,))
    if axes != (1,):
        raise UserError(
            f"this Keras layer attends over the axes {axes} (attention_axes); expected the "
            "sequence, axis 1 of (batch, seq_len, d_model): leave attention_axes out"
        )


def to_torch(block: MultiHeadAttentionBlock) -> nn.MultiheadAttention:
    """A `torch.nn.MultiheadAttention`, batch first, with the weights of our block."""
    bias = block.w_q.bias is not None
    weight = block.w_q.weight
    theirs = nn.MultiheadAttention(
        block.d_model, block.h, block.dropout.p, bias, batch_first=True,
        device=weight.device, dtype=weight.dtype,
    )  # fmt: skip
    copy_weights(attention_pairs(block, theirs))
    return theirs.train(block.training)


def from_torch(theirs: nn.MultiheadAttention) -> MultiHeadAttentionBlock:
    """Our block with the weights of torch's module.

    Raises:
        UserError: its keys or values have another width, or it adds keys of its own.
    """
    if theirs.in_proj_weight is None or theirs.bias_k is not None or theirs.add_zero_attn:
        raise UserError(
            "this nn.MultiheadAttention has kdim, vdim, add_bias_kv or add_zero_attn; "
            "expected one width and no extra keys: build it without them"
        )
    bias = theirs.in_proj_bias is not None
    block = MultiHeadAttentionBlock(theirs.embed_dim, theirs.num_heads, theirs.dropout, bias=bias)
    block.to(theirs.in_proj_weight)
    copy_weights_back(attention_pairs(block, theirs))
    return block.train(theirs.training)
