"""Turn attention heads off and see what becomes of the translation.

A head speaks through its own columns of w_o: with those at zero it looks as before, and
nobody hears it. Looking at a head says what it attends to; this says what it is worth.
(Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than One?")
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.decoding.search import in_eval_mode
from clearhead.errors import UserError
from clearhead.explain.look import Sentence, sentence
from clearhead.models import Transformer
from clearhead.translation import Translator

STACKS = {
    "encoder": ("encoder", "self_attention_block"),
    "decoder": ("decoder", "self_attention_block"),
    "cross": ("decoder", "cross_attention_block"),
}


class Head(NamedTuple):
    """One head; kind is encoder, decoder or cross, layer and head count from 0."""

    kind: str
    layer: int
    head: int


@dataclass(frozen=True)
class Effect:
    """What turning heads off does to one sentence; log-probabilities are of the whole target."""

    off: tuple[Head, ...]
    translation: str  # with all heads
    translation_without: str
    log_probability: float  # of `translation`, with all heads
    log_probability_without: float  # of `translation`, with these heads off

    @property
    def change(self) -> float:
        """Below zero: the translation has become less likely."""
        return self.log_probability_without - self.log_probability


@contextmanager
def heads_off(model: Transformer, heads: Sequence[Head]) -> Iterator[None]:
    """Within the block these heads add nothing; afterwards every weight is what it was.

    Raises:
        UserError: there is no such head.
    """
    weights = [(_output_weight(model, head), _columns(model, head)) for head in heads]
    before = [weight.detach()[:, columns].clone() for weight, columns in weights]
    try:
        with torch.no_grad():
            for weight, columns in weights:
                weight[:, columns] = 0.0
        yield
    finally:
        with torch.no_grad():
            for (weight, columns), kept in reversed(list(zip(weights, before, strict=True))):
                weight[:, columns] = kept


def effect_of(
    translator: Translator, text: str, heads: Sequence[Head], target: str | None = None
) -> Effect:
    """Translate with and without these heads, and ask both for the probability of the first.

    `target` is the translation asked about; None means what the translator says.
    """
    known = sentence(translator, text, target)
    before = log_probability(translator.model, known)
    with heads_off(translator.model, heads):
        after = log_probability(translator.model, known)
        without = sentence(translator, text).translation
    return Effect(tuple(heads), known.translation, without, before, after)


def effects(translator: Translator, known: Sentence) -> dict[str, list[list[float]]]:
    """The change of log-probability for every head alone: kind -> layer -> head."""
    before = log_probability(translator.model, known)
    table: dict[str, list[list[float]]] = {}
    for kind in STACKS:
        blocks = _blocks(translator.model, kind)
        table[kind] = [
            [
                _without(translator.model, known, Head(kind, layer, head)) - before
                for head in range(block.h)
            ]
            for layer, block in enumerate(blocks)
        ]
    return table


def log_probability(model: Transformer, known: Sentence) -> float:
    """Of the whole translation, end sign included, in nats."""
    with in_eval_mode(model), torch.inference_mode():
        said = model(*known.tensors(model))[0].double()
        written = torch.tensor(known.written, device=said.device)
        return float(said.gather(1, written.unsqueeze(1)).sum())


def _without(model: Transformer, known: Sentence, head: Head) -> float:
    with heads_off(model, [head]):
        return log_probability(model, known)


def _blocks(model: Transformer, kind: str) -> list[MultiHeadAttentionBlock]:
    if kind not in STACKS:
        raise UserError(f"there is no attention {kind!r}; choose from {', '.join(STACKS)}")
    stack, name = STACKS[kind]
    layers = model.get_submodule(f"{stack}.layers").children()
    blocks = [layer.get_submodule(name) for layer in layers]
    return [block for block in blocks if isinstance(block, MultiHeadAttentionBlock)]


def _block(model: Transformer, head: Head) -> MultiHeadAttentionBlock:
    blocks = _blocks(model, head.kind)
    if not (0 <= head.layer < len(blocks) and 0 <= head.head < blocks[head.layer].h):
        raise UserError(
            f"there is no head {head.head} in {head.kind} layer {head.layer}; this model has "
            f"{len(blocks)} layers of {blocks[0].h} heads there, counted from 0"
        )
    return blocks[head.layer]


def _output_weight(model: Transformer, head: Head) -> Tensor:
    return _block(model, head).w_o.weight


def _columns(model: Transformer, head: Head) -> slice:
    d_k = _block(model, head).d_k
    return slice(head.head * d_k, (head.head + 1) * d_k)
