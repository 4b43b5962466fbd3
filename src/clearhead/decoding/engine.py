"""The model as a search uses it: read a batch of sources, then write one token at a time."""

import copy
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, cast, runtime_checkable

import torch
from torch import Tensor, nn

from clearhead.decoding.fingerprint import Fingerprint, fingerprint
from clearhead.decoding.precision import Precision, pack_for
from clearhead.fast.fused_decoder import FusedDecoder
from clearhead.fast.fused_encoder import FusedEncoder
from clearhead.fast.fused_parts import is_standard
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.fast.memory import keep_freed_memory
from clearhead.fast.packed_linear import Pack, side_by_side
from clearhead.models import Transformer, TransformerConfig


class StepDecoder(Protocol):
    """What `IncrementalDecoder` and `FusedDecoder` have in common; see there."""

    @property
    def can_replace(self) -> bool:
        """Whether it is a `ReplacingDecoder`."""

    def start(self, encoder_output: Tensor, src_mask: Tensor | None) -> None:
        """Begin new sentences, a row each."""

    def step(self, ids: Tensor) -> Tensor:
        """(rows,) the token last written -> (rows, d_model) what comes next."""

    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from what row rows[i] has written; one row may become several."""

    def keep(self, sentences: Tensor) -> None:
        """Only these sentences stay in the batch."""

    def retire(self, sentences: list[int]) -> None:
        """These are written; their rows may run on, unseen."""


@runtime_checkable
class ReplacingDecoder(StepDecoder, Protocol):
    """One in which sentences can begin while others are being written."""

    def replace(self, sentences: Tensor, newcomers: Any, whom: Tensor) -> None:
        """Sentences `whom` of a decoder of the same kind go on in the place of these."""


@dataclass(frozen=True)
class Engine:
    """Encoder, decoder and projection to logits, each readable or fast, in any combination.

    `Engine.of(model)` is the fastest that computes the same. `Engine.readable(model)`
    calls the model's own modules, whatever they are. To see what one part is worth,
    exchange it: ``dataclasses.replace(Engine.of(model), encode=model.encode)``.
    """

    config: TransformerConfig
    device: torch.device
    encode: Callable[[Tensor, Tensor | None], Tensor]
    decoder: StepDecoder
    logits: Callable[[Tensor], Tensor]

    @classmethod
    def of(cls, model: Transformer, precision: Precision = "float32") -> Self:
        """Fused where all blocks are the library's own, else readable.

        The weights are prepared anew only if they have changed since the last call.

        Raises:
            UserError: a precision that these blocks or this device cannot compute in.
        """
        pack = pack_for(model, precision)
        if not is_standard(model):
            return cls.readable(model)
        known = _prepared.setdefault(model, {})
        state = fingerprint(model)
        if precision not in known or known[precision][0] != state:
            known[precision] = state, cls._fused(model, pack)
        return cast(Self, known[precision][1])

    @classmethod
    def _fused(cls, model: Transformer, pack: Pack) -> Self:
        device, proj = next(model.parameters()).device, cast(nn.Linear, model.projection_layer.proj)
        if device.type == "cpu":  # every step asks for the same blocks; for the whole process
            keep_freed_memory()
        encoder, decoder = FusedEncoder(model, pack), FusedDecoder(model, pack)
        return cls(model.config, device, encoder, decoder, side_by_side(pack, proj))

    @classmethod
    def readable(cls, model: Transformer) -> Self:
        """The model's own modules; only attention remembers what it has seen."""
        # Log-probabilities are logits too: a projection without `logits` serves as well.
        logits = getattr(model.projection_layer, "logits", model.projection_layer)
        device = next(model.parameters()).device
        return cls(model.config, device, model.encode, IncrementalDecoder(model), logits)

    @property
    def can_replace(self) -> bool:
        """Whether sentences can begin while others are being written."""
        return self.decoder.can_replace

    def new_decoder(self) -> StepDecoder:
        """With the same weights and a memory of its own: threads may decode side by side."""
        return copy.copy(self.decoder)


# Holds no model alive: what is kept here refers to tensors only.
_prepared: weakref.WeakKeyDictionary[Transformer, dict[Precision, tuple[Fingerprint, Engine]]] = (
    weakref.WeakKeyDictionary()
)
