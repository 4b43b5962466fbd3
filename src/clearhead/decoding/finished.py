"""The finished hypotheses of a beam search, and when a sentence needs no more of them."""

import torch
from torch import Tensor

from clearhead.decoding.hypothesis import Hypothesis, normalize
from clearhead.decoding.options import DecodingOptions


class Finished:
    """Keeps the n_best of every sentence of a batch, best first."""

    def __init__(self, batch: int, options: DecodingOptions) -> None:
        self.options = options
        self.best: list[list[Hypothesis]] = [[] for _ in range(batch)]
        self.count = [0] * batch  # ever finished, those forgotten again included

    def add(self, sentence: int, ids: list[int], score: float, finished: bool) -> None:
        """Take a hypothesis in; the worst of n_best + 1 is forgotten."""
        length = len(ids) + finished  # the end sign counts
        normalized = normalize(score, length, self.options.length_penalty)
        best = self.best[sentence]
        best.append(Hypothesis(ids, score, normalized, finished))
        best.sort(key=lambda hypothesis: hypothesis.rank, reverse=True)
        del best[self.options.n_best :]
        self.count[sentence] += finished

    def lacks(self, sentence: int) -> bool:
        """True while fewer than n_best are known."""
        return len(self.best[sentence]) < self.options.n_best

    def is_settled(self, sentences: Tensor, scores: Tensor, length: int, limits: Tensor) -> Tensor:
        """Which sentences are over: (open,) numbers, (open, K) living scores -> (open,).

        Exact: a score can only fall, so the best that a living hypothesis may
        still reach is its present score over the most favourable length: the
        limit, or for a negative length penalty the very next.
        """
        limit = limits[sentences]
        alpha = self.options.length_penalty
        favourable = limit if alpha >= 0 else torch.full_like(limit, length + 1)
        reachable = scores[:, 0] / favourable.double() ** alpha
        numbers = sentences.tolist()
        worst = torch.tensor([self._worst(n) for n in numbers], dtype=torch.double)
        over = (worst.to(scores.device) >= reachable) | (limit <= length)
        if self.options.early_stopping:
            enough = [self.count[n] >= self.options.beam_size for n in numbers]
            over |= torch.tensor(enough, device=over.device)
        return over | (scores[:, 0] == -torch.inf)

    def _worst(self, sentence: int) -> float:
        return -torch.inf if self.lacks(sentence) else self.best[sentence][-1].normalized
