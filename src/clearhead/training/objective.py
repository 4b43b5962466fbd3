r"""The training objective of translation: label-smoothed cross-entropy, with or without R-Drop.

Cross-entropy exists twice: as the formula, and fused with the projection into one operation. Both
take the projection and (tokens, d_model) hidden states, and return the summed loss, which carries
the gradient, and the summed negative log-likelihood of the labels.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from clearhead.blocks import ProjectionLayer, TiedProjection
from clearhead.blocks.masks import decoder_mask, padding_mask, shift_right
from clearhead.data.batching import Batch
from clearhead.fast.loss import projected_cross_entropy
from clearhead.models.transformer import Transformer

Ids = NDArray[np.int64]
Sums = tuple[Tensor, Tensor]


# projection, hidden states, labels, smoothing -> both sums
TokenLoss = Callable[[nn.Module, Tensor, Tensor, float], Sums]


def cross_entropy(projection: nn.Module, hidden: Tensor, labels: Tensor, smoothing: float) -> Sums:
    r"""Label-smoothed cross-entropy of the projection's log-probabilities (paper, section 5.4).

    .. math:: L = -(1 - s) \log p_y - s \, \tfrac{1}{V} \textstyle\sum_v \log p_v

    Why smoothing: a target that gives all tokens a little probability keeps the model
    from becoming overconfident; perplexity gets worse, BLEU better.

    Shape:
        hidden: (tokens, d_model), labels: (tokens,) ids -> two scalars
    """
    return _smoothed(_log_probabilities(projection, hidden), labels, smoothing)


def r_drop(
    projection: nn.Module, hidden: Tensor, labels: Tensor, smoothing: float, weight: float
) -> Sums:
    r"""Cross-entropy of two passes, and the symmetric divergence of their predictions p and q.

    .. math:: L(p) + L(q) + \tfrac{\alpha}{2} \left( KL(p \| q) + KL(q \| p) \right)

    R-Drop (Liang et al. 2021, equation 4).

    Shape:
        hidden: (2 · tokens, d_model), labels: (2 · tokens,), the first pass, then the second
        -> two scalars
    """
    log_p = _log_probabilities(projection, hidden)
    loss, nll = _smoothed(log_p, labels, smoothing)
    p, q = log_p.chunk(2)
    divergence = ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p ‖ q) + KL(q ‖ p)
    return loss + weight / 2 * divergence, nll


def fused_cross_entropy(
    projection: nn.Module, hidden: Tensor, labels: Tensor, smoothing: float
) -> Sums:
    """`cross_entropy` in one operation; a projection of another class is called as it is."""
    if type(projection) not in (ProjectionLayer, TiedProjection):
        return cross_entropy(projection, hidden, labels, smoothing)
    return projected_cross_entropy(hidden, *_weight_and_bias(projection), labels, smoothing)


def _log_probabilities(projection: nn.Module, hidden: Tensor) -> Tensor:
    log_p = projection(hidden)  # (tokens, d_model) -> (tokens, vocab)
    return log_p.to(torch.promote_types(log_p.dtype, torch.float32))  # sums need float32


def _smoothed(log_p: Tensor, labels: Tensor, smoothing: float) -> Sums:
    nll = -log_p.gather(1, labels[:, None]).sum()
    uniform = -log_p.mean(dim=1).sum()
    return (1 - smoothing) * nll + smoothing * uniform, nll.detach()


def _weight_and_bias(projection: nn.Module) -> tuple[Tensor, Tensor]:
    """-> (vocab, d_model), (vocab,)"""
    if isinstance(projection, TiedProjection):
        weight, bias = projection.table.weight, projection.bias
        return weight, weight.new_zeros(len(weight)) if bias is None else bias
    return projection.get_parameter("proj.weight"), projection.get_parameter("proj.bias")


class Losses(NamedTuple):
    """Sums over the predicted tokens of a batch, without padding."""

    smoothed: Tensor  # carries the gradient
    nll: Tensor  # plain negative log-likelihood; exp of its mean is the perplexity
    tokens: int


TranslationObjective = Callable[[Transformer, Batch], Losses]


def make_objective(
    smoothing: float,
    r_drop: float,
    length_multiple: int = 1,
    token_loss: TokenLoss = fused_cross_entropy,
) -> TranslationObjective:
    """Label-smoothed cross-entropy, or R-Drop if its weight `r_drop` is above 0.

    Both use teacher forcing; R-Drop ignores `token_loss`. Source and target are padded to multiples
    of `length_multiple`.
    """
    loss = partial(translation_loss, smoothing=smoothing, token_loss=token_loss)
    if r_drop:
        loss = partial(r_drop_loss, smoothing=smoothing, weight=r_drop)

    def objective(model: Transformer, batch: Batch) -> Losses:
        sizes = model.config
        pad = partial(pad_to_multiple, multiple=length_multiple, pad_id=sizes.pad_id)
        source = pad(batch.source, longest=sizes.src_seq_len)
        target = pad(batch.target, longest=sizes.tgt_seq_len)
        return loss(model, source, target)

    return objective


def pad_to_multiple(ids: Ids, multiple: int, longest: int, pad_id: int) -> Ids:
    """(batch, length) padded to the next multiple, but to no more than `longest`."""
    length = ids.shape[1]
    more = min(-(-length // multiple) * multiple, longest) - length
    return ids if more <= 0 else np.pad(ids, ((0, 0), (0, more)), constant_values=pad_id)


def translation_loss(
    model: Transformer,
    source: Ids,
    target: Ids,
    smoothing: float,
    token_loss: TokenLoss = fused_cross_entropy,
) -> Losses:
    """Teacher forcing: each target token is predicted from the true tokens before it.

    Shape:
        source: (batch, src_len), target: (batch, tgt_len), ids that end with EOS, then padding
    """
    hidden, labels = predict(model, source, target)
    smoothed, nll = token_loss(model.projection_layer, hidden, labels, smoothing)
    return Losses(smoothed, nll, len(labels))


def r_drop_loss(
    model: Transformer, source: Ids, target: Ids, smoothing: float, weight: float
) -> Losses:
    r"""Two passes with different dropout should give the same predictions (Liang et al. 2021).

    .. math:: \tfrac{1}{2} (L_1 + L_2) + \tfrac{\alpha}{2} \cdot
              \tfrac{1}{2} \left( KL(p_1 \| p_2) + KL(p_2 \| p_1) \right)

    It helps a wide model that has memorized its training sentences; a narrow model, or one early
    in its training, learns less with it. A step computes two passes, and keeps the probabilities of
    both, (2 · tokens, vocab).

    Shape:
        source: (batch, src_len), target: (batch, tgt_len)
    """
    twice = [np.concatenate([ids, ids]) for ids in (source, target)]
    hidden, labels = predict(model, *twice)
    both, nll = r_drop(model.projection_layer, hidden, labels, smoothing, weight)
    return Losses(both / 2, nll / 2, len(labels) // 2)


def predict(model: Transformer, source: Ids, target: Ids) -> tuple[Tensor, Tensor]:
    """The decoder's output and the label at each target position that is not padding.

    Shape:
        source: (batch, src_len), target: (batch, tgt_len) -> (tokens, d_model), (tokens,)
    """
    config, device = model.config, next(model.parameters()).device
    src, labels = (torch.from_numpy(ids).to(device) for ids in (source, target))
    src_mask = padding_mask(src, config.pad_id)
    tgt = shift_right(labels, config.bos_id)
    hidden = model.decode(
        model.encode(src, src_mask), src_mask, tgt, decoder_mask(tgt, config.pad_id)
    )
    real = labels != config.pad_id
    return hidden[real], labels[real]  # (batch, tgt_len, d_model) -> (tokens, d_model)
