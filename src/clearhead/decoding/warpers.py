r"""What bends the distribution of the next token before it is drawn.

Each takes logits and gives logits, as the processors of `transformers` of the same names do;
`warped` applies them in its order. A token that may not come has the logit :math:`-\infty`.

Shape:
    logits: (rows, vocab) -> (rows, vocab)
"""

import torch
from torch import Tensor

from clearhead.decoding.sampling_options import SamplingOptions


def repetition_penalty(logits: Tensor, seen: Tensor, penalty: float) -> Tensor:
    r"""What the text already holds becomes less likely (Keskar et al. 2019).

    .. math:: z_i / \theta \text{ if } z_i > 0 \text{ else } z_i \, \theta

    for every token in the prompt or in what was written. `seen`: (rows, vocab), True = is there.
    """
    penalised = torch.where(logits < 0, logits * penalty, logits / penalty)
    return torch.where(seen, penalised, logits)


def temperature(logits: Tensor, t: float) -> Tensor:
    r"""Below 1 the likely become likelier, above 1 all draw nearer: :math:`z / t`."""
    return logits / t


def top_k(logits: Tensor, k: int) -> Tensor:
    """Only the k likeliest, and those as likely as the last of them (Fan et al. 2018)."""
    least = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least, -torch.inf)


def top_p(logits: Tensor, p: float) -> Tensor:
    r"""The smallest set of the likeliest whose probabilities reach p (Holtzman et al. 2019).

    From the unlikeliest on, tokens go as long as together they have at most :math:`1 - p`;
    the likeliest stays.
    """
    ascending, order = logits.sort(dim=-1, descending=False)
    gone = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - p
    gone[..., -1] = False
    return logits.masked_fill(gone.scatter(-1, order, gone), -torch.inf)


def min_p(logits: Tensor, p: float) -> Tensor:
    """Only tokens at least p times as likely as the likeliest (Nguyen et al. 2024)."""
    probabilities = logits.softmax(dim=-1)
    best = probabilities.amax(dim=-1, keepdim=True)
    # The best is never below itself, for p is at most 1.
    return logits.masked_fill(probabilities < p * best, -torch.inf)


def warped(logits: Tensor, options: SamplingOptions) -> Tensor:
    """All that are switched on, but for the repetition penalty, which comes before them."""
    logits = temperature(logits, options.temperature) if options.temperature != 1 else logits
    logits = top_k(logits, options.top_k) if options.top_k else logits
    logits = top_p(logits, options.top_p) if options.top_p < 1 else logits
    return min_p(logits, options.min_p) if options.min_p else logits
