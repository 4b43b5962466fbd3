"""What training makes smaller: smoothed cross-entropy of the true translation."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.blocks.masks import decoder_mask, padding_mask, shift_right
from clearhead.data.batch import Batch
from clearhead.fast.agreement import projected_agreement
from clearhead.fast.loss import projected_cross_entropy
from clearhead.models.transformer import Transformer
from clearhead.training.lengths import in_steps

Ids = NDArray[np.int64]


class Losses(NamedTuple):
    """Sums over what is predicted in a batch: target tokens, padding excepted."""

    smoothed: Tensor  # carries the gradient
    nll: Tensor  # plain negative log-likelihood; exp of its mean is the perplexity
    tokens: int


TranslationObjective = Callable[[Transformer, Batch], Losses]


def make_objective(
    smoothing: float, consistency: float, length_step: int = 1
) -> TranslationObjective:
    """Plain teacher forcing, or, with a consistency above 0, twice and in agreement.

    Both sides of a batch are padded to multiples of `length_step`.
    """
    loss = partial(translation_loss, smoothing=smoothing)
    if consistency:
        loss = partial(consistent_loss, smoothing=smoothing, consistency=consistency)

    def of_batch(model: Transformer, batch: Batch) -> Losses:
        longest, pad_id = model.config.src_seq_len, model.config.pad_id
        source, target = (
            in_steps(side, length_step, longest, pad_id) for side in (batch.source, batch.target)
        )
        return loss(model, source, target)

    return of_batch


def translation_loss(model: Transformer, source: Ids, target: Ids, smoothing: float) -> Losses:
    """Teacher forcing: every target position predicts its token from the true ones before it.

    Shape:
        source: (batch, src_len), target: (batch, tgt_len), ids that end with eos, then pad
    """
    hidden, labels = predict(model, source, target)
    smoothed, nll = projected_cross_entropy(hidden, *_projection(model), labels, smoothing)
    return Losses(smoothed, nll, len(labels))


def consistent_loss(
    model: Transformer, source: Ids, target: Ids, smoothing: float, consistency: float
) -> Losses:
    r"""Two passes that dropout makes different shall say the same (R-Drop, Liang et al. 2021).

    .. math:: \tfrac{1}{2} (L_1 + L_2) + \tfrac{\alpha}{2} \cdot
              \tfrac{1}{2} \left( KL(p_1 \| p_2) + KL(p_2 \| p_1) \right)

    For a wide model that knows its sentences by heart: one that does not yet, narrow or early in
    its training, learns the less for it. A step costs two passes, and both through the vocabulary.

    Shape:
        as `translation_loss`
    """
    twice = [np.concatenate([side, side]) for side in (source, target)]
    hidden, labels = predict(model, *twice)
    both, nll = projected_agreement(hidden, *_projection(model), labels, smoothing, consistency)
    return Losses(both / 2, nll / 2, len(labels) // 2)


def predict(model: Transformer, source: Ids, target: Ids) -> tuple[Tensor, Tensor]:
    """What the model knows at each place before it hears the label, and the label.

    Shape:
        -> (tokens, d_model), (tokens,): no work for padding
    """
    config, device = model.config, _projection(model)[0].device
    src, labels = (torch.from_numpy(side).to(device) for side in (source, target))
    src_mask = padding_mask(src, config.pad_id)
    tgt = shift_right(labels, config.bos_id)
    hidden = model.decode(
        model.encode(src, src_mask), src_mask, tgt, decoder_mask(tgt, config.pad_id)
    )
    real = labels != config.pad_id
    return hidden[real], labels[real]  # (batch, tgt_len, d_model) -> (tokens, d_model)


def _projection(model: Transformer) -> tuple[Tensor, Tensor]:
    project = model.projection_layer.get_parameter
    return project("proj.weight"), project("proj.bias")
