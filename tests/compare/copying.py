"""Our weights in another's modules: what makes a race a race between equals."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import LayerNormalization, decoder_mask, padding_mask
from clearhead.models import Transformer


def without_epsilon(model: nn.Module) -> nn.Module:
    """In float64 and without the epsilons, which stand in different places."""
    for module in model.modules():
        if isinstance(module, LayerNormalization | nn.LayerNorm):
            module.eps = 0.0
    return model.double().eval()


def our_logits(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """(batch, tgt_len, vocab) of the readable model."""
    mask = padding_mask(src, model.config.pad_id)
    tgt_mask = decoder_mask(tgt, model.config.pad_id)
    hidden = model.decode(model.encode(src, mask), mask, tgt, tgt_mask)
    return model.projection_layer.logits(hidden)  # type: ignore[operator]


@torch.no_grad()
def copy_linear(theirs: Any, ours: Any) -> None:
    """Weight and bias."""
    theirs.weight.copy_(ours.weight)
    theirs.bias.copy_(ours.bias)


@torch.no_grad()
def copy_norm(theirs: Any, ours: Any) -> None:
    """Ours divides by the unbiased deviation."""
    n = len(theirs.weight)
    theirs.weight.copy_(ours.alpha * math.sqrt((n - 1) / n))
    theirs.bias.copy_(ours.bias)


@torch.no_grad()
def copy_packed_attention(theirs: Any, ours: Any) -> None:
    """torch keeps query, key and value in one matrix."""
    projections = (ours.w_q, ours.w_k, ours.w_v)
    theirs.in_proj_weight.copy_(torch.cat([w.weight for w in projections]))
    theirs.in_proj_bias.copy_(torch.cat([w.bias for w in projections]))
    copy_linear(theirs.out_proj, ours.w_o)


def copy_marian_attention(theirs: Any, ours: Any) -> None:
    """transformers names them one by one."""
    copy_linear(theirs.q_proj, ours.w_q)
    copy_linear(theirs.k_proj, ours.w_k)
    copy_linear(theirs.v_proj, ours.w_v)
    copy_linear(theirs.out_proj, ours.w_o)
