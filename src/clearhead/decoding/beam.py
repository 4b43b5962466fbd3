"""Beam search: the K best beginnings go on side by side (Sutskever et al. 2014, section 3.2)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.decoding.finished import Finished
from clearhead.decoding.hypothesis import Hypothesis
from clearhead.decoding.next_token import NextToken


@dataclass
class Beams:
    """The living hypotheses: K = beam_size of each open sentence, best first.

    Shapes: sentences (open,) numbers in the batch; limits (open,);
    scores (open, K) sums of log-probabilities, -inf = no hypothesis;
    written (open · K, length) ids.
    """

    sentences: Tensor
    limits: Tensor
    scores: Tensor
    written: Tensor


@dataclass
class Candidates:
    """The 2K best continuations of every sentence, best first: (open, 2K) each."""

    scores: Tensor
    rows: Tensor  # which beam of the batch they continue
    tokens: Tensor


def beam_search(engine: NextToken, limits: Tensor) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence that `engine.decoder` was started with.

    A hypothesis is finished when its end sign is among the K best continuations
    of its sentence. A sentence leaves when no living hypothesis can still
    overtake its n_best finished ones, or at its length limit.

    Shape: limits: (batch,), the most tokens of each, end sign included.
    """
    beams = _begin(engine, limits)
    finished = Finished(limits.shape[0], engine.options)
    last = torch.full((beams.written.shape[0],), engine.config.bos_id, device=limits.device)
    while beams.sentences.numel():
        found = _candidates(engine, beams, last)
        _collect(engine, beams, found, finished)
        last = _advance(engine, beams, found)
        over = finished.is_settled(beams.sentences, beams.scores, beams.written.shape[1], limits)
        if over.any():
            _collect_unfinished(beams, over, finished)
            last = _leave(engine, beams, last, over)
    return finished.best


def _begin(engine: NextToken, limits: Tensor) -> Beams:
    batch, K = limits.shape[0], engine.options.beam_size
    scores = torch.full((batch, K), -torch.inf, device=limits.device)
    scores[:, 0] = 0.0  # all beams begin alike: one of them is enough
    written = limits.new_empty(batch * K, 0)
    return Beams(torch.arange(batch, device=limits.device), limits, scores, written)


def _candidates(engine: NextToken, beams: Beams, last: Tensor) -> Candidates:
    open_sentences, K = beams.scores.shape
    logits = engine.logits(last)  # (rows, vocab)
    total = logits.logsumexp(dim=1, keepdim=True)
    engine.ban(logits, beams.written)
    # The 2K best of a sentence are among the 2K best of each of its beams, and
    # for one beam logits rank as log-probabilities do.
    width = min(2 * K, logits.shape[1])
    gains, tokens = logits.topk(width, dim=1)  # (rows, width)
    scores = (beams.scores.view(-1, 1) + gains - total).view(open_sentences, -1)
    best, place = scores.topk(min(2 * K, scores.shape[1]), dim=1)  # (open, 2K)
    first_row = torch.arange(open_sentences, device=last.device).unsqueeze(1) * K
    rows = first_row + place // width
    return Candidates(best, rows, tokens.view(open_sentences, -1).gather(1, place))


def _collect(engine: NextToken, beams: Beams, found: Candidates, finished: Finished) -> None:
    """Put aside the hypotheses that end here."""
    K = engine.options.beam_size
    ends = (found.tokens == engine.config.eos_id) & (found.scores > -torch.inf)
    ends[:, K:] = False
    where = ends.nonzero()
    sentences = beams.sentences[where[:, 0]].tolist()
    scores, rows = found.scores[ends].tolist(), found.rows[ends]
    for sentence, score, ids in zip(sentences, scores, beams.written[rows].tolist(), strict=True):
        finished.add(sentence, ids, score, True)


def _advance(engine: NextToken, beams: Beams, found: Candidates) -> Tensor:
    """Let the K best of those that do not end go on; returns their last tokens."""
    going_on = found.scores.masked_fill(found.tokens == engine.config.eos_id, -torch.inf)
    beams.scores, place = going_on.topk(engine.options.beam_size, dim=1)
    rows = found.rows.gather(1, place).flatten()
    last = found.tokens.gather(1, place).flatten()
    engine.decoder.reorder(rows)
    beams.written = torch.cat([beams.written[rows], last.unsqueeze(1)], dim=1)
    return last


def _collect_unfinished(beams: Beams, over: Tensor, finished: Finished) -> None:
    """Sentences that leave with fewer than n_best finished ones take living ones along."""
    K = beams.scores.shape[1]
    for place in over.nonzero().squeeze(1).tolist():
        sentence = int(beams.sentences[place])
        scores = beams.scores[place].tolist()
        for beam in range(K):
            if finished.lacks(sentence) and scores[beam] > -torch.inf:
                ids = beams.written[place * K + beam].tolist()
                finished.add(sentence, ids, scores[beam], False)


def _leave(engine: NextToken, beams: Beams, last: Tensor, over: Tensor) -> Tensor:
    staying = (~over).nonzero().squeeze(1)
    K = beams.scores.shape[1]
    rows = (staying[:, None] * K + torch.arange(K, device=last.device)).flatten()
    beams.sentences, beams.limits = beams.sentences[staying], beams.limits[staying]
    beams.scores, beams.written = beams.scores[staying], beams.written[rows]
    engine.decoder.keep(staying)
    return last[rows]
