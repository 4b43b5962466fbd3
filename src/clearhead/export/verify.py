"""Comparison of an exported model, run by its engine, with the original."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import torch
from torch import Tensor

from clearhead import decoding
from clearhead.blocks import look_ahead_mask, padding_mask
from clearhead.data.grammar import generate
from clearhead.decoding.readable import padded
from clearhead.decoding.search import never_generated
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.text import Tokenizer

BEAM_SIZE = 4
Ids = list[int]
_BATCH = 32  # sentences whose logits are in memory at a time


class Engine(Protocol):
    """Another engine with an exported model; sources are ids that end with EOS."""

    def translate(self, sources: Sequence[Ids], beam_size: int, limit: int) -> list[Ids]:
        """The best translations without EOS, of at most `limit` tokens with it.

        Hypotheses are ranked by score / length, EOS included, and a search ends when `beam_size`
        of them have ended: `DecodingOptions(early_stopping=True)`.
        """
        ...

    def greedy_logits(self, sources: Sequence[Ids], limit: int) -> list[tuple[Ids, Tensor]]:
        """Greedy translations with the logits of every step.

        Shape: for each source its ids, EOS included, and (len(ids), vocab).
        """
        ...


@dataclass(frozen=True)
class Agreement:
    """Numbers of identical translations, greedy and with a beam; the largest logit difference."""

    sentences: int
    greedy: int
    beam: int
    logit_difference: float

    def __str__(self) -> str:
        return (
            f"largest logit difference {self.logit_difference:.1e}; the same translation for "
            f"{self.greedy} of {self.sentences} sentences greedy, {self.beam} with beam {BEAM_SIZE}"
        )


def verify(model: Transformer, engine: Engine, sources: Sequence[Ids]) -> Agreement:
    """Translate the sources with both, greedily and with a beam, and compare.

    Both rank hypotheses by score / length and stop when beam_size of them have ended, a rule that
    every engine implements. Logits are compared along the engine's own greedy translation, without
    those of padding and BOS, which no engine ever produces.
    """
    limit = min(model.config.tgt_seq_len, 2 * max(map(len, sources)) + 20)
    greedy, largest = 0, 0.0
    ours = translate(model, sources, 1, limit)
    for start in range(0, len(sources), _BATCH):
        part = slice(start, start + _BATCH)
        theirs = engine.greedy_logits(sources[part], limit)
        found = [ids for ids, _ in theirs]
        greedy += _count_same(ours[part], [_without_eos(ids, model) for ids in found])
        for mine, (_, logits) in zip(_logits(model, sources[part], found), theirs, strict=True):
            largest = max(largest, _difference(mine, logits, model))
    beam = _count_same(
        translate(model, sources, BEAM_SIZE, limit), engine.translate(sources, BEAM_SIZE, limit)
    )
    return Agreement(len(sources), greedy, beam, largest)


def sentences(model: Transformer, tokenizer: Tokenizer, count: int) -> list[Ids]:
    """`count` English sentences of the built-in grammar that fit into the model's positions.

    Raises:
        UserError: too few sentences fit.
    """
    limit = model.config.src_seq_len
    texts = [pair.source for pair in islice(generate("test"), 10 * count)]
    encoded = [[*ids, model.config.eos_id] for ids in tokenizer.encode_batch(texts)]
    fitting = [ids for ids in encoded if len(ids) <= limit]
    if len(fitting) < count:
        raise UserError(
            f"this model has src_seq_len={limit} positions, too few for everyday sentences; "
            "export without verifying: --sentences 0"
        )
    return fitting[:count]


def translate(
    model: Transformer | decoding.Engine, sources: Sequence[Ids], beam_size: int, limit: int
) -> list[Ids]:
    """The reference for `Engine.translate`."""
    options = decoding.DecodingOptions(
        beam_size=beam_size, max_length=limit, min_length=0, early_stopping=True
    )
    return [best[0].ids for best in decoding.decode(model, sources, options)]


def _count_same(ours: Sequence[Ids], theirs: Sequence[Ids]) -> int:
    return sum(mine == other for mine, other in zip(ours, theirs, strict=True))


def _without_eos(ids: Ids, model: Transformer) -> Ids:
    return ids[:-1] if ids[-1:] == [model.config.eos_id] else ids


@torch.inference_mode()
def _logits(model: Transformer, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[Tensor]:
    """Our logits for given translations, (len(ids), vocab) each."""
    config, cpu = model.config, torch.device("cpu")
    src = padded(sources, config.pad_id, cpu)
    tgt = padded([[config.bos_id, *ids[:-1]] for ids in targets], config.pad_id, cpu)
    src_mask = padding_mask(src, config.pad_id)
    memory = model.encode(src, src_mask)
    # Padding follows the text, and BOS may be the padding token.
    hidden = model.decode(memory, src_mask, tgt, look_ahead_mask(tgt.shape[1]))
    logits = model.projection_layer.get_submodule("proj")(hidden)
    return [rows[: len(ids)] for rows, ids in zip(logits, targets, strict=True)]


def _difference(ours: Tensor, theirs: Tensor, model: Transformer) -> float:
    difference = (ours - theirs).abs()
    difference[:, never_generated(model.config)] = 0.0
    return float(difference.max())
