"""Greedy search and beam search over the steps of any model."""

from typing import NamedTuple

import torch
from torch import Tensor

from clearhead.decoding.engine import DecodingOptions, Hypothesis, normalize
from clearhead.decoding.steps import Steps, check_finite
from clearhead.models.config import TransformerConfig


def never_generated(config: TransformerConfig) -> list[int]:
    """The padding and the BOS token; a BOS token that is also the EOS token may end a sentence."""
    return sorted({config.pad_id, config.bos_id} - {config.eos_id})


class Constraints:
    """The bans that hold for every search.

    Never written: the tokens of `never_generated`, the EOS token before `min_length` tokens, and
    any token that would repeat an n-gram of size `no_repeat_ngram`. If the ban on n-grams leaves
    no token, the EOS token is allowed, even before `min_length`.
    """

    def __init__(self, config: TransformerConfig, options: DecodingOptions) -> None:
        self.never = never_generated(config)
        self.eos_id = config.eos_id
        self.min_length, self.n = options.min_length, options.no_repeat_ngram

    def apply(self, scores: Tensor, written: Tensor) -> None:
        """Set the scores of banned tokens to -inf, in place.

        Shape:
            scores: (rows, vocab), written: (rows, length) ids, BOS token excluded
        """
        if not written.shape[1]:
            check_finite(scores.amax(dim=1), "the decoder's output")  # -inf: a probability of 0
        eos_scores = scores[:, self.eos_id].clone()
        scores[:, self.never] = -torch.inf
        if written.shape[1] < self.min_length:
            scores[:, self.eos_id] = -torch.inf
        if self.n:
            ban_repeated_ngrams(scores, written, self.n)
            stuck = scores.amax(dim=1) == -torch.inf
            scores[stuck, self.eos_id] = eos_scores[stuck]


def ban_repeated_ngrams(scores: Tensor, written: Tensor, n: int) -> None:
    """Set to -inf, in place, every token that would complete an n-gram a second time.

    The last n - 1 tokens are compared with every window of that length; the token that
    followed an equal window is banned.

    Shape:
        scores: (rows, vocab), written: (rows, length) ids, BOS token excluded
    """
    length = written.shape[1]
    if length < n:
        return
    followers = written[:, n - 1 :]  # (rows, windows): the token after each window
    if n == 1:
        scores.scatter_(1, followers, -torch.inf)
        return
    windows = written[:, :-1].unfold(1, n - 1, 1)  # (rows, windows, n - 1)
    ending = written[:, length - n + 1 :].unsqueeze(1)  # (rows, 1, n - 1)
    repeats = (windows == ending).all(dim=2)  # (rows, windows)
    row, window = repeats.nonzero(as_tuple=True)
    scores[row, followers[row, window]] = -torch.inf


def greedy_search(
    steps: Steps, limits: Tensor, config: TransformerConfig, options: DecodingOptions
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence. Finished sentences leave the batch.

    Shape:
        limits: (sentences,) maximum length of each translation, EOS token included
    """
    found: list[list[Hypothesis]] = [[] for _ in range(len(limits))]
    constraints = Constraints(config, options)
    sentences = torch.arange(len(limits), device=limits.device)  # the sentence of each row
    written = limits.new_empty(len(limits), 0)  # (rows, length)
    scores = torch.zeros(len(limits), device=limits.device)  # (rows,)
    last = limits.new_full((len(limits),), config.bos_id)  # (rows,)
    while len(sentences):
        log_probabilities = steps.step(last)  # (rows, vocab)
        constraints.apply(log_probabilities, written)
        best, last = log_probabilities.max(dim=1)
        scores = scores + best
        written = torch.cat([written, last.unsqueeze(1)], dim=1)
        over = (last == config.eos_id) | (limits == written.shape[1])
        if over.any():
            done = (values[over].tolist() for values in (sentences, written, scores))
            for sentence, ids, score in zip(*done, strict=True):
                found[sentence] = [_hypothesis(ids, score, config.eos_id, options)]
            open_rows = (~over).nonzero().squeeze(1)
            steps.keep(open_rows)
            sentences, limits, written = sentences[open_rows], limits[open_rows], written[open_rows]
            scores, last = scores[open_rows], last[open_rows]
    return found


def _hypothesis(ids: list[int], score: float, eos_id: int, options: DecodingOptions) -> Hypothesis:
    finished = ids[-1] == eos_id
    normalized = normalize(score, len(ids), options.length_penalty)
    return Hypothesis(ids[:-1] if finished else ids, score, normalized, finished)


class Candidates(NamedTuple):
    """The 2K best continuations of every sentence, best first: (sentences, 2K) each.

    2K are enough: at most K of them end, since each of the K beams has one EOS token.
    """

    scores: Tensor
    beams: Tensor  # which beam of the sentence they continue
    tokens: Tensor


class Sentence:
    """The finished hypotheses of a sentence, the n_best of them, best first."""

    def __init__(self, number: int, limit: int, options: DecodingOptions) -> None:
        self.number, self.limit, self.options = number, limit, options
        self.finished: list[Hypothesis] = []
        self.count = 0  # ever finished, dropped ones included

    def add(self, ids: list[int], score: float) -> None:
        """Take in a hypothesis that has just ended; `ids` are without the EOS token."""
        normalized = normalize(score, len(ids) + 1, self.options.length_penalty)
        self.finished.append(Hypothesis(ids, score, normalized, True))
        self.finished.sort(key=lambda hypothesis: -hypothesis.normalized)
        del self.finished[self.options.n_best :]
        self.count += 1

    def is_settled(self, best_open: float, length: int) -> bool:
        r"""Whether no further step is needed; `best_open` is the score of the best open beam.

        The rule is exact. A score can only fall, because log-probabilities are not positive. So
        an open hypothesis of score s and length t that ends at length n, t < n <= limit,
        reaches at most

        .. math:: \max_{t < n \le \text{limit}} s / n^\alpha = s / \text{limit}^\alpha
                  \quad (\alpha \ge 0), \qquad s / (t + 1)^\alpha \quad (\alpha < 0)

        and reaches it if all that follows is certain: no rule that uses only s, t and the limit
        stops earlier. With `early_stopping` the search also ends when beam_size hypotheses are
        finished, as in Transformers and CTranslate2.
        """
        if length >= self.limit or best_open == -torch.inf:
            return True
        if self.options.early_stopping and self.count >= self.options.beam_size:
            return True
        if len(self.finished) < self.options.n_best:
            return False
        alpha = self.options.length_penalty
        reachable = normalize(best_open, self.limit if alpha >= 0 else length + 1, alpha)
        return self.finished[-1].normalized >= reachable


class Beams:
    """The open hypotheses, K = beam_size for each sentence, best first.

    Before the first token all beams of a sentence would be equal: there is one, later K.

    Shapes: scores (sentences, K) sums of log-probabilities, -inf = no hypothesis;
    written (sentences, K, length); last (sentences · K,).
    """

    def __init__(
        self, steps: Steps, limits: Tensor, config: TransformerConfig, options: DecodingOptions
    ) -> None:
        self.steps, self.eos_id, self.options = steps, config.eos_id, options
        self.K = options.beam_size
        self.constraints = Constraints(config, options)
        self.sentences = [Sentence(n, most, options) for n, most in enumerate(limits.tolist())]
        self.scores = torch.zeros(len(limits), 1, device=limits.device)
        self.written = limits.new_empty(len(limits), 1, 0)
        self.last = limits.new_full((len(limits),), config.bos_id)

    def step(self) -> None:
        """One more token for every beam."""
        found = self._candidates()
        self._collect(found)
        self._continue(found)

    def leave(self) -> list[tuple[int, list[Hypothesis]]]:
        """Remove the sentences that are settled; their numbers and n_best hypotheses."""
        length, best = self.written.shape[2], self.scores[:, 0].tolist()
        settled = [s.is_settled(b, length) for s, b in zip(self.sentences, best, strict=True)]
        if not any(settled):
            return []
        done = [(self.sentences[i].number, self._best(i)) for i, over in enumerate(settled) if over]
        stay = [i for i, over in enumerate(settled) if not over]
        rows = torch.arange(len(self.last), device=self.last.device).view(self.scores.shape)[stay]
        self.steps.keep(rows.flatten())
        self.sentences = [self.sentences[i] for i in stay]
        self.scores, self.written = self.scores[stay], self.written[stay]
        self.last = self.last[rows.flatten()]
        return done

    def _candidates(self) -> Candidates:
        log_probabilities = self.steps.step(self.last)  # (sentences · beams, vocab)
        self.constraints.apply(log_probabilities, self.written.flatten(0, 1))
        vocab = log_probabilities.shape[1]
        gains = log_probabilities.view(*self.scores.shape, vocab)
        # (sentences, beams, vocab) -> (sentences, beams · vocab)
        totals = (self.scores.unsqueeze(2) + gains).flatten(1)
        scores, index = totals.topk(min(2 * self.K, totals.shape[1]), dim=1)
        return Candidates(scores, index // vocab, index % vocab)

    def _collect(self, found: Candidates) -> None:
        """A hypothesis is finished if its EOS token is among the K best continuations."""
        ends = (found.tokens == self.eos_id) & (found.scores > -torch.inf)
        for i, rank in ends[:, : self.K].nonzero().tolist():
            ids = self.written[i, found.beams[i, rank]].tolist()
            self.sentences[i].add(ids, float(found.scores[i, rank]))

    def _continue(self, found: Candidates) -> None:
        """The K best continuations that do not end become the beams."""
        scores = found.scores.masked_fill(found.tokens == self.eos_id, -torch.inf)
        self.scores, rank = scores.topk(min(self.K, scores.shape[1]), dim=1)  # (sentences, K)
        beams, tokens = found.beams.gather(1, rank), found.tokens.gather(1, rank)
        sentences = torch.arange(len(beams), device=beams.device).unsqueeze(1)
        rows = (sentences * self.written.shape[1] + beams).flatten()
        if self.written.shape[1] < beams.shape[1]:  # the first step: one row becomes several
            self.steps.keep(rows)
        else:
            self.steps.reorder(rows)
        self.written = torch.cat([self.written[sentences, beams], tokens.unsqueeze(2)], dim=2)
        self.last = tokens.flatten()

    def _best(self, i: int) -> list[Hypothesis]:
        """The n_best of sentence i; if too few are finished, the best open ones follow."""
        finished = self.sentences[i].finished
        length, alpha = self.written.shape[2], self.options.length_penalty
        rows = zip(self.written[i].tolist(), self.scores[i].tolist(), strict=True)
        still_open = [
            Hypothesis(ids, score, normalize(score, length, alpha), False)
            for ids, score in rows
            if score > -torch.inf
        ]
        return finished + still_open[: self.options.n_best - len(finished)]


def beam_search(
    steps: Steps, limits: Tensor, config: TransformerConfig, options: DecodingOptions
) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence, best first. Settled sentences leave the batch.

    Shape:
        limits: (sentences,) maximum length of each translation, EOS token included
    """
    found: list[list[Hypothesis]] = [[] for _ in range(len(limits))]
    beams = Beams(steps, limits, config, options)
    while beams.sentences:
        beams.step()
        for number, hypotheses in beams.leave():
            found[number] = hypotheses
    return found
