"""Fewer bits are not equal, but near: what the shipped translator loses by them, and its bound.

Both read the same sentences and are led along the same translation, word for word; what is
compared is the log-probability that each gives to every word of it.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.compare.proofs.proof import Finding, Proof
from clearhead.decoding import DecodingOptions, decode
from clearhead.decoding.batching import padded
from clearhead.decoding.engine import Engine
from clearhead.decoding.precision import Precision
from clearhead.export.verify import sentences
from clearhead.models import Transformer
from clearhead.text import Tokenizer
from clearhead.translation.location import SHIPPED

SENTENCES = 24
# Nats of one word's log-probability: rounding to 8 bits, and to bfloat16's 8 bits of mantissa.
BOUNDS: dict[Precision, float] = {"int8": 0.25, "bfloat16": 0.1}


def proofs() -> Iterator[Proof]:
    """The two precisions of `clearhead translate --precision` beside float32."""
    for precision, bound in BOUNDS.items():
        yield Proof(
            f"the shipped translator in {precision}, log-probability of a word", "in float32",
            precision, bound, partial(agreement, precision), "≈",
        )  # fmt: skip


@torch.no_grad()
def agreement(precision: Precision) -> Finding:
    """The largest difference of any word; the note counts whole translations that stay the same."""
    model, tokenizer = Transformer.from_pretrained(SHIPPED), Tokenizer.load(SHIPPED)
    sources = sentences(model, tokenizer, SENTENCES)
    options = DecodingOptions(beam_size=1)
    ours, theirs = (Engine.of(model, kind) for kind in (precision, "float32"))
    written = [[found[0].ids for found in decode(e, sources, options)] for e in (ours, theirs)]
    same = sum(map(list.__eq__, *written))
    said = [along(engine, sources, written[1]) for engine in (ours, theirs)]
    note = f"of {len(sources)} sentences {same} the same greedy"
    return Finding(float((said[0] - said[1]).abs().max()), note=note)


def along(engine: Engine, sources: Sequence[Sequence[int]], targets: list[list[int]]) -> Tensor:
    """The log-probability of each word of given translations, all in a row."""
    config = engine.config
    src = padded(sources, config.pad_id, engine.device)
    mask = padding_mask(src, config.pad_id)
    ended = [[*ids, config.eos_id] for ids in targets]
    labels = padded(ended, config.pad_id, engine.device)
    decoder = engine.new_decoder()
    decoder.start(engine.encode(src, mask), mask)
    word, found = torch.full((len(labels),), config.bos_id), []
    for step in labels.unbind(1):
        logits = engine.logits(decoder.step(word)).float()
        found.append(logits.log_softmax(dim=1).gather(1, step[:, None])[:, 0])
        word = step
    return torch.stack(found, dim=1)[labels != config.pad_id]
