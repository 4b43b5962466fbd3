"""Our weights under the names of `transformers`, in its order of features.

Its sinusoids have all sines before all cosines, ours alternate. The order of the d_model features
is arbitrary as long as all weights use the same, so every matrix is permuted along the axis on
which it reads or writes them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from clearhead.export.conventions import scale_and_shift, weight_and_bias

# Their name of each sublayer, and ours.
_LINEARS = {
    "self_attn.q_proj": "self_attention_block.w_q",
    "self_attn.k_proj": "self_attention_block.w_k",
    "self_attn.v_proj": "self_attention_block.w_v",
    "self_attn.out_proj": "self_attention_block.w_o",
    "encoder_attn.q_proj": "cross_attention_block.w_q",
    "encoder_attn.k_proj": "cross_attention_block.w_k",
    "encoder_attn.v_proj": "cross_attention_block.w_v",
    "encoder_attn.out_proj": "cross_attention_block.w_o",
    "fc1": "feed_forward_block.linear_1",
    "fc2": "feed_forward_block.linear_2",
}
_WRITERS = ("out_proj", "fc2")  # their output is added to the residual stream
_ENCODER_NORMS = ("self_attn_layer_norm", "final_layer_norm")
_DECODER_NORMS = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")


def weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Their state dictionary, in their order of features."""
    config, order = model.config, order_of(model.config.d_model)
    embeddings = model.src_embed.embedding.weight.detach().float()[:, order]
    positions = max(model.src_pos.pe[0], model.tgt_pos.pe[0], key=len)[:, order]
    for name in ("model.shared", "lm_head"):
        yield f"{name}.weight", embeddings
    yield "final_logits_bias", weight_and_bias(model.projection_layer.proj)[1].unsqueeze(0)
    for name, norms in (("encoder", _ENCODER_NORMS), ("decoder", _DECODER_NORMS)):
        stack = getattr(model, name)
        yield f"model.{name}.embed_tokens.weight", embeddings
        yield f"model.{name}.embed_positions.weight", positions
        if config.norm == "pre":
            yield from _norm(f"model.{name}.layer_norm", stack.norm, order)
        for number, block in enumerate(stack.layers):
            yield from _layer(f"model.{name}.layers.{number}", block, norms, order)


def _layer(
    prefix: str, block: Any, norms: Sequence[str], order: Tensor
) -> Iterator[tuple[str, Tensor]]:
    for theirs, ours in _LINEARS.items():
        if theirs.startswith("encoder_attn") and len(norms) == 2:
            continue  # an encoder has no cross-attention
        weight, bias = weight_and_bias(block.get_submodule(ours))
        writes = theirs.endswith(_WRITERS)
        yield f"{prefix}.{theirs}.weight", weight[order] if writes else weight[:, order]
        yield f"{prefix}.{theirs}.bias", bias[order] if writes else bias
    for name, residual in zip(norms, block.residual_connections, strict=True):
        yield from _norm(f"{prefix}.{name}", residual.norm, order)


def _norm(prefix: str, norm: Any, order: Tensor) -> Iterator[tuple[str, Tensor]]:
    gamma, beta = scale_and_shift(norm, len(order))
    yield f"{prefix}.weight", gamma[order]
    yield f"{prefix}.bias", beta[order]


def order_of(d_model: int) -> Tensor:
    """Our index of each of their features: 0, 2, 4, … (sines), then 1, 3, 5, … (cosines)."""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])
