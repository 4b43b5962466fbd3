r"""Saliency: how much each written token depends on each source token, as gradient × input.

.. math:: s_{ti} = x_i \cdot \frac{\partial \log p(y_t)}{\partial x_i}

x_i is the embedding of source token i. The value is the derivative with respect to a factor on
x_i, and is computed as such. Attention weights show what the decoder reads from; saliency shows
what its output depends on. They often disagree (Bastings and Filippova 2020, "The elephant in
the interpretability room").
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.decoding.readable import in_eval_mode
from clearhead.explain.attention import AttentionMap, SentencePair
from clearhead.models import Transformer


def saliency(model: Transformer, pair: SentencePair) -> NDArray[np.float32]:
    """Signed saliency; positive where a larger embedding makes the written token likelier.

    Shape: -> (written, source)
    """
    written = torch.tensor(pair.written)
    # One copy of the sentence for each written token, each with its own factors.
    src, tgt, src_mask, tgt_mask = (
        tensor.expand(len(written), *tensor.shape[1:]) for tensor in pair.tensors(model)
    )
    device, dtype = src.device, next(model.parameters()).dtype
    factors = torch.ones(src.shape, device=device, dtype=dtype, requires_grad=True)
    with in_eval_mode(model), torch.enable_grad(), _scaled_embeddings(model, factors):
        log_probabilities = model(src, tgt, src_mask, tgt_mask)
        positions = torch.arange(len(written), device=device)
        total = log_probabilities[positions, positions, written.to(device)].sum()
        (gradient,) = torch.autograd.grad(total, factors)
    found: NDArray[np.float32] = gradient.float().cpu().numpy()
    return found


def shares(signed: NDArray[np.float32]) -> NDArray[np.float32]:
    """Absolute values normalized to rows of sum 1, comparable with attention weights."""
    magnitudes = np.abs(signed)
    totals = np.maximum(magnitudes.sum(-1, keepdims=True), np.finfo(np.float32).tiny)
    portions: NDArray[np.float32] = magnitudes / totals
    return portions


def as_map(signed: NDArray[np.float32], cross: AttentionMap) -> AttentionMap:
    """The normalized saliency as a map with the tokens of the cross-attention."""
    weights = shares(signed)[None, None]
    return AttentionMap("saliency", weights, cross.queries, cross.keys, (0,), (0,))


@contextmanager
def _scaled_embeddings(model: Transformer, factors: Tensor) -> Iterator[None]:
    """Multiply the source embeddings by factors."""

    def scale(module: Any, inputs: Any, output: Tensor) -> Tensor:
        return output * factors.unsqueeze(-1)

    handle = model.src_embed.register_forward_hook(scale)
    try:
        yield
    finally:
        handle.remove()
