"""Head ablation: remove attention heads and measure the effect on the translation.

A head contributes through its own columns of w_o. With these at zero it still attends, but its
output is not used. Attention weights show what a head attends to; ablation shows how much the
translation depends on it. (Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than
One?")
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.decoding.readable import in_eval_mode
from clearhead.errors import UserError
from clearhead.explain.attention import BLOCKS, SentencePair, sentence_pair
from clearhead.models import Transformer
from clearhead.translation import Translator


class Head(NamedTuple):
    """One head: kind is encoder, decoder or cross; layer and head count from 0."""

    kind: str
    layer: int
    head: int


@dataclass(frozen=True)
class Effect:
    """The effect of removing heads on one sentence, with log-probabilities of the whole target."""

    removed: tuple[Head, ...]
    translation: str  # of the complete model
    translation_without: str
    log_probability: float  # of `translation`, by the complete model
    log_probability_without: float  # of `translation`, by the model without these heads

    @property
    def change(self) -> float:
        """Negative: without the heads the translation is less likely."""
        return self.log_probability_without - self.log_probability


@contextmanager
def head_ablation(model: Transformer, heads: Sequence[Head]) -> Iterator[None]:
    """Within the block these heads contribute nothing; afterwards all weights are restored.

    Raises:
        UserError: there is no such head.
    """
    weights = [(_block(model, head).w_o.weight, _columns(model, head)) for head in heads]
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
    """Translate with and without these heads; both models score the same translation.

    That translation is `target`, or the complete model's own.
    """
    pair = sentence_pair(translator, text, target)
    before = log_probability(translator.model, pair)
    with head_ablation(translator.model, heads):
        after = log_probability(translator.model, pair)
        without = sentence_pair(translator, text).translation
    return Effect(tuple(heads), pair.translation, without, before, after)


def effects(translator: Translator, pair: SentencePair) -> dict[str, list[list[float]]]:
    """The change of log-probability without each single head, as kind -> layer -> head."""
    before = log_probability(translator.model, pair)
    return {
        kind: [
            [
                _without(translator.model, pair, Head(kind, layer, head)) - before
                for head in range(block.h)
            ]
            for layer, block in enumerate(_blocks(translator.model, kind))
        ]
        for kind in BLOCKS
    }


def log_probability(model: Transformer, pair: SentencePair) -> float:
    """The log-probability of the whole translation, including the EOS token, in nats."""
    with in_eval_mode(model), torch.inference_mode():
        log_probabilities: Tensor = model(*pair.tensors(model))[0].double()
        written = torch.tensor(pair.written, device=log_probabilities.device)
        return float(log_probabilities.gather(1, written.unsqueeze(1)).sum())


def _without(model: Transformer, pair: SentencePair, head: Head) -> float:
    with head_ablation(model, [head]):
        return log_probability(model, pair)


def _blocks(model: Transformer, kind: str) -> list[MultiHeadAttentionBlock]:
    paths = {name: path for name, path in BLOCKS.items() if name == kind}
    if not paths:
        raise UserError(f"there is no attention {kind!r}; choose from {', '.join(BLOCKS)}")
    layers, _, name = paths[kind].partition(".*.")  # type: ignore[index]
    blocks = [layer.get_submodule(name) for layer in model.get_submodule(layers).children()]
    return [block for block in blocks if isinstance(block, MultiHeadAttentionBlock)]


def _block(model: Transformer, head: Head) -> MultiHeadAttentionBlock:
    blocks = _blocks(model, head.kind)
    if not (0 <= head.layer < len(blocks) and 0 <= head.head < blocks[head.layer].h):
        raise UserError(
            f"there is no head {head.head} in {head.kind} layer {head.layer}; this model has "
            f"{len(blocks)} layers of {blocks[0].h} heads there, counted from 0"
        )
    return blocks[head.layer]


def _columns(model: Transformer, head: Head) -> slice:
    d_k = _block(model, head).d_k
    return slice(head.head * d_k, (head.head + 1) * d_k)
