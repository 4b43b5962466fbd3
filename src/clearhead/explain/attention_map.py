"""The attention of a model on one sentence, with its words: what pictures and views show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.errors import UserError

Kind = Literal["encoder", "decoder", "cross", "self", "saliency"]
TITLES = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
    "self": "Self-attention",
    "saliency": "Saliency, |gradient × input|",
}


@dataclass(frozen=True)
class AttentionMap:
    """The weights of one kind of attention in every layer and head.

    Each row is what one query looks at: numbers from 0 that sum to 1. `layers` and
    `heads` are the numbers that the model gives to those shown, counted from 0.

    Shape:
        weights: (layers, h, query, key), float32
    """

    kind: Kind
    weights: NDArray[np.float32]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    part: str = ""  # of the words, if these are not all: then rows may sum to less

    @classmethod
    def of(
        cls, kind: Kind, layers: Sequence[Tensor], queries: Sequence[str], keys: Sequence[str]
    ) -> Self:
        """From one (1, h, query, key) or (h, query, key) tensor a layer.

        Raises:
            UserError: more than one sentence, or words that do not fit the weights.
        """
        matrices = [_one_sentence(layer) for layer in layers]
        weights = torch.stack(matrices).float().cpu().numpy()
        found, words = weights.shape[2:], (len(queries), len(keys))
        if found != words:
            raise UserError(
                f"{TITLES[kind].lower()} has {found[0]} x {found[1]} positions, but there are "
                f"{words[0]} and {words[1]} words; give one word for each position"
            )
        numbers = tuple(range(weights.shape[0])), tuple(range(weights.shape[1]))
        return cls(kind, weights, tuple(queries), tuple(keys), *numbers)

    @property
    def title(self) -> str:
        """How this kind is called."""
        return TITLES[self.kind] + (f", {self.part}" if self.part else "")

    def layer(self, layer: int) -> NDArray[np.float32]:
        """(h, query, key) of the layer that the model counts so, from the end if negative."""
        return self.weights[_place("layer", layer, self.layers)]

    def head(self, layer: int, head: int) -> NDArray[np.float32]:
        """(query, key) of one head."""
        return self.layer(layer)[_place("head", head, self.heads)]


def of_kind(maps: Sequence[AttentionMap], kind: str) -> AttentionMap:
    """The map of this kind.

    Raises:
        UserError: the model has none; those it has are named.
    """
    for one in maps:
        if one.kind == kind:
            return one
    raise UserError(
        f"this model has no {TITLES.get(kind, kind).lower()}; "
        f"choose from {', '.join(one.kind for one in maps)}"
    )


def _one_sentence(layer: Tensor) -> Tensor:
    if layer.dim() == 4:
        if layer.shape[0] != 1:
            raise UserError(
                f"the attention is that of {layer.shape[0]} sentences; "
                "give one, say [layer[i : i + 1] for layer in attention]"
            )
        layer = layer[0]
    if layer.dim() != 3:
        raise UserError(
            f"a layer of attention has the shape {tuple(layer.shape)}; "
            "expected (1, heads, query, key)"
        )
    return layer.detach()


def _place(what: str, number: int, numbers: tuple[int, ...]) -> int:
    if number < 0:
        number += numbers[-1] + 1
    if number not in numbers:
        raise UserError(
            f"there is no {what} {number}; choose from {numbers[0]} to {numbers[-1]}, "
            "counted from 0"
        )
    return numbers.index(number)
