"""A model that writes on, as generation uses it: read prompts, then write a token at a time."""

import copy
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, cast

import torch
from torch import Tensor

from clearhead.decoding.fingerprint import Fingerprint, fingerprint
from clearhead.decoding.precision import PACKS, Precision
from clearhead.errors import UserError
from clearhead.fast.fused_gpt import FusedGpt, can_fuse_gpt
from clearhead.fast.incremental_gpt import IncrementalGpt
from clearhead.fast.memory import keep_freed_memory
from clearhead.fast.packed_linear import Pack
from clearhead.fast.processor import multiplies_int8
from clearhead.fast.row_linear import RowLinear
from clearhead.fast.screened_argmax import ScreenedArgmax
from clearhead.models import Gpt, GptConfig

# Of 50,000 words many are nearly as likely as the best: so many are looked at closely before all.
CANDIDATES = 64


class CausalDecoder(Protocol):
    """What `IncrementalGpt` and `FusedGpt` have in common; see there."""

    def start(self, ids: Tensor, real: Tensor, most: int) -> Tensor:
        """Read prompts -> (rows, d_model) what comes after each."""

    def step(self, ids: Tensor) -> Tensor:
        """(rows,) the token last written -> (rows, d_model) what comes next."""

    def keep(self, rows: Tensor) -> None:
        """Only these rows go on."""


@dataclass(frozen=True)
class CausalEngine:
    """Decoder and projection to logits, readable or fast.

    `CausalEngine.of(model)` is the fastest that computes the same; `CausalEngine.readable(model)`
    calls the model's own modules, whatever they are.
    """

    config: GptConfig
    device: torch.device
    decoder: CausalDecoder
    logits: Callable[[Tensor], Tensor]
    # The largest logit of each row without all the others, where that is the cheaper way.
    likeliest: ScreenedArgmax | None = None

    @classmethod
    def of(cls, model: Gpt, precision: Precision = "float32", rows: int = 1) -> Self:
        """Fused where all blocks are the library's own, else readable; best for so many rows.

        The weights are prepared anew only if they have changed since the last call.

        Raises:
            UserError: a precision that these blocks or this device cannot compute in.
        """
        cls.check(model, precision)
        if not can_fuse_gpt(model):
            return cls.readable(model)
        key = precision, rows == 1
        known = _prepared.setdefault(model, {})
        state = fingerprint(model)
        if key not in known or known[key][0] != state:
            known[key] = state, cls._fused(model, _pack_for(model, precision, rows))
        return cast(Self, known[key][1])

    @staticmethod
    def check(model: Gpt, precision: Precision) -> None:
        """Whether it can be computed so; the errors of `of`, before anything is prepared."""
        if precision not in PACKS:
            raise UserError(f"precision {precision!r} is unknown; give {', '.join(PACKS)} or auto")
        device = next(model.parameters()).device
        if precision != "float32" and device.type != "cpu":
            raise UserError(
                f"precision {precision} is for processors, and this model is on {device}; "
                "give precision float32 or device cpu"
            )
        if precision != "float32" and not can_fuse_gpt(model):
            raise UserError(
                f"precision {precision} needs a model of the library's own blocks, and this one "
                "has others or is being watched; give precision float32"
            )

    @classmethod
    def _fused(cls, model: Gpt, pack: Pack) -> Self:
        words = model.embed.embedding.weight.detach()
        if words.device.type == "cpu":  # every step asks for the same blocks
            keep_freed_memory()
        logits, likeliest = pack(words, None), None
        if pack in (PACKS["float32"], RowLinear) and multiplies_int8(words.device):
            likeliest = ScreenedArgmax(words, None, logits, CANDIDATES)
        return cls(model.config, words.device, FusedGpt(model, pack), logits, likeliest)

    @classmethod
    def readable(cls, model: Gpt) -> Self:
        """The model's own modules; only attention remembers what it has seen."""
        device = next(model.parameters()).device
        return cls(model.config, device, IncrementalGpt(model), model.logits)

    def new_decoder(self) -> CausalDecoder:
        """With the same weights and a memory of its own."""
        return copy.copy(self.decoder)


def _pack_for(model: Gpt, precision: Precision, rows: int) -> Pack:
    """On a processor a single row wants another layout than many."""
    weight = next(model.parameters())
    if precision == "float32" and rows == 1 and weight.device.type == "cpu":
        return RowLinear
    return PACKS[precision]


Key = tuple[Precision, bool]
# Holds no model alive: what is kept here refers to tensors only.
_prepared: weakref.WeakKeyDictionary[Gpt, dict[Key, tuple[Fingerprint, CausalEngine]]] = (
    weakref.WeakKeyDictionary()
)
