"""What training makes smaller: smoothed cross-entropy of the true translation."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.blocks.masks import decoder_mask, padding_mask, shift_right
from clearhead.fast.loss import projected_cross_entropy
from clearhead.models.transformer import Transformer


class Losses(NamedTuple):
    """Sums over the target tokens of a batch (padding excepted)."""

    smoothed: Tensor  # carries the gradient
    nll: Tensor  # plain negative log-likelihood; exp of its mean is the perplexity
    tokens: int


def translation_loss(
    model: Transformer, source: NDArray[np.int64], target: NDArray[np.int64], smoothing: float
) -> Losses:
    """Teacher forcing: every target position predicts its token from the true ones before it.

    Shape:
        source: (batch, src_len), target: (batch, tgt_len), ids that end with eos, then pad
    """
    config, project = model.config, model.projection_layer.get_parameter
    weight, bias = project("proj.weight"), project("proj.bias")
    src, labels = (torch.from_numpy(side).to(weight.device) for side in (source, target))
    src_mask = padding_mask(src, config.pad_id)
    tgt = shift_right(labels, config.bos_id)
    hidden = model.decode(
        model.encode(src, src_mask), src_mask, tgt, decoder_mask(tgt, config.pad_id)
    )
    real = labels != config.pad_id
    smoothed, nll = projected_cross_entropy(
        hidden[real],  # (batch, tgt_len, d_model) -> (tokens, d_model): no work for padding
        weight,
        bias,
        labels[real],
        smoothing,
    )
    return Losses(smoothed, nll, int(real.sum()))
