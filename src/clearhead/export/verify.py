"""Does the export say what the original says?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.data.grammar import generate
from clearhead.decoding import DecodingOptions, decode
from clearhead.decoding.batching import padded
from clearhead.errors import UserError
from clearhead.export.engine import Engine, Ids
from clearhead.models import Transformer
from clearhead.text import Tokenizer

BEAM_SIZE = 4
_AT_ONCE = 32  # sentences whose logits are held


@dataclass(frozen=True)
class Agreement:
    """How many of `sentences` are translated alike, token for token; the largest logit apart."""

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

    Both rank hypotheses by score / length and stop at beam_size finished ones, a rule that
    every engine knows. The logits are compared along the engine's own greedy translation;
    padding and begin sign are left out, which none of them ever writes.
    """
    limit = min(model.config.tgt_seq_len, 2 * max(map(len, sources)) + 20)
    greedy, worst = 0, 0.0
    ours = translate(model, sources, 1, limit)
    for start in range(0, len(sources), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        theirs = engine.greedy_logits(sources[part], limit)
        written = [ids for ids, _ in theirs]
        greedy += _alike(ours[part], [_without_end(ids, model) for ids in written])
        for mine, (_, logits) in zip(_logits(model, sources[part], written), theirs, strict=True):
            worst = max(worst, _difference(mine, logits, model))
    beam = _alike(
        translate(model, sources, BEAM_SIZE, limit), engine.translate(sources, BEAM_SIZE, limit)
    )
    return Agreement(len(sources), greedy, beam, worst)


def sentences(model: Transformer, tokenizer: Tokenizer, count: int) -> list[Ids]:
    """`count` English sentences of the built-in grammar that the model has positions for.

    Raises:
        UserError: hardly any fits.
    """
    most = model.config.src_seq_len
    texts = [pair.source for pair in islice(generate("test"), 10 * count)]
    encoded = [[*ids, model.config.eos_id] for ids in tokenizer.encode_batch(texts)]
    fitting = [ids for ids in encoded if len(ids) <= most]
    if len(fitting) < count:
        raise UserError(
            f"this model has src_seq_len={most} positions, too few for everyday sentences; "
            "export without verifying: --sentences 0"
        )
    return fitting[:count]


def translate(model: Transformer, sources: Sequence[Ids], beam_size: int, limit: int) -> list[Ids]:
    """What `Engine.translate` should give."""
    options = DecodingOptions(
        beam_size=beam_size, max_length=limit, min_length=0, early_stopping=True
    )
    return [best[0].ids for best in decode(model, sources, options)]


def _alike(ours: Sequence[Ids], theirs: Sequence[Ids]) -> int:
    return sum(mine == other for mine, other in zip(ours, theirs, strict=True))


def _without_end(ids: Ids, model: Transformer) -> Ids:
    return ids[:-1] if ids[-1:] == [model.config.eos_id] else ids


@torch.inference_mode()
def _logits(model: Transformer, sources: Sequence[Ids], written: Sequence[Ids]) -> list[Tensor]:
    """Our scores of every step along what was written, (len(ids), vocab) each."""
    config, cpu = model.config, torch.device("cpu")
    src = padded(sources, config.pad_id, cpu)
    tgt = padded([[config.bos_id, *ids[:-1]] for ids in written], config.pad_id, cpu)
    src_mask = padding_mask(src, config.pad_id)
    memory = model.encode(src, src_mask)
    hidden = model.decode(memory, src_mask, tgt, decoder_mask(tgt, config.pad_id))
    logits = model.projection_layer.get_submodule("proj")(hidden)
    return [rows[: len(ids)] for rows, ids in zip(logits, written, strict=True)]


def _difference(ours: Tensor, theirs: Tensor, model: Transformer) -> float:
    difference = (ours - theirs).abs()
    difference[:, [model.config.pad_id, model.config.bos_id]] = 0.0
    return float(difference.max())
