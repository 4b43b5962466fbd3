r"""Which source tokens a written token depends on: gradient times input.

.. math:: s_{ti} = x_i \cdot \frac{\partial \log p(y_t)}{\partial x_i}

with x_i the embedding of source token i. It is the answer to "what if x_i were a little
longer?": the derivative by a factor on x_i, which is how it is computed. Attention says
where the decoder looked; this says what the outcome hangs on. They often disagree
(Bastings and Filippova 2020, "The elephant in the interpretability room").
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.decoding.search import in_eval_mode
from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.look import Sentence
from clearhead.models import Transformer


def saliency(model: Transformer, known: Sentence) -> NDArray[np.float32]:
    """Signed: above zero, more of this source token makes the written one likelier.

    Shape: -> (written, source)
    """
    written = torch.tensor(known.written)
    # One copy of the sentence for each written token, and for each its own factors.
    src, tgt, src_mask, tgt_mask = (
        tensor.expand(len(written), *tensor.shape[1:]) for tensor in known.tensors(model)
    )
    device, dtype = src.device, next(model.parameters()).dtype
    factors = torch.ones(src.shape, device=device, dtype=dtype, requires_grad=True)
    with in_eval_mode(model), torch.enable_grad(), _scaled(model, factors):
        said = model(src, tgt, src_mask, tgt_mask)
        places = torch.arange(len(written), device=device)
        total = said[places, places, written.to(device)].sum()
        (gradient,) = torch.autograd.grad(total, factors)
    found: NDArray[np.float32] = gradient.float().cpu().numpy()
    return found


def shares(signed: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sizes without signs, each row to sum 1: of the form of attention weights, to compare."""
    sizes = np.abs(signed)
    totals = np.maximum(sizes.sum(-1, keepdims=True), np.finfo(np.float32).tiny)
    portions: NDArray[np.float32] = sizes / totals
    return portions


def as_map(signed: NDArray[np.float32], cross: AttentionMap) -> AttentionMap:
    """The shares, with the words of the cross-attention they are compared with."""
    weights = shares(signed)[None, None]
    return AttentionMap("saliency", weights, cross.queries, cross.keys, (0,), (0,))


class _scaled:
    """The source embeddings times factors, for a while."""

    def __init__(self, model: Transformer, factors: Tensor) -> None:
        self.model, self.factors = model, factors

    def __enter__(self) -> None:
        self.handle = self.model.src_embed.register_forward_hook(self._scale)

    def __exit__(self, *_: object) -> None:
        self.handle.remove()

    def _scale(self, module: Any, inputs: Any, output: Tensor) -> Tensor:
        return output * self.factors.unsqueeze(-1)
