"""The loss of translation, written out (paper, section 5.4)."""

from torch import Tensor


def smoothed_loss(log_p: Tensor, labels: Tensor, smoothing: float, pad_id: int) -> Tensor:
    r"""Label-smoothed cross-entropy, averaged over the tokens that are not padding.

    .. math:: L = -(1 - s) \log p_y - s \, \tfrac{1}{V} \textstyle\sum_v \log p_v

    Shape:
        log_p: (tokens, vocab) log-probabilities, labels: (tokens,) ids -> a scalar
    """
    real = labels != pad_id
    log_p, labels = log_p[real], labels[real]
    nll = -log_p.gather(1, labels[:, None]).squeeze(1)  # (real tokens,)
    uniform = -log_p.mean(dim=1)  # (real tokens,)
    return ((1 - smoothing) * nll + smoothing * uniform).mean()
