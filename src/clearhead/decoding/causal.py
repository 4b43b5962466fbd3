"""A causal language model that reads a batch of texts, some tokens a step."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, Self, cast

import torch
from torch import Tensor, nn

from clearhead.decoding.precision import Precision, check_precision, in_bfloat16
from clearhead.decoding.steps import (
    ContinuedPositions,
    report_no_cache,
    shallow_copy,
    uncacheable_part,
    widened,
    with_cache,
)
from clearhead.models import Gpt, GptConfig


class CausalSteps(Protocol):
    """What generation needs of a model. Each row is a text, all of the same length so far."""

    def step(self, ids: Tensor) -> Tensor:
        """(rows, new) the ids that follow -> (rows, vocab) logits of the token after them."""

    def keep(self, rows: Tensor) -> None:
        """Row i continues row rows[i]; the others are dropped."""


@dataclass(frozen=True)
class CausalEngine:
    """A language model for `Writing`: ``CausalEngine.of(model)`` calls the model's own modules.

    `begin` starts a batch of empty texts. `models` are to be in eval mode.
    """

    config: GptConfig
    device: torch.device
    begin: Callable[[], CausalSteps]
    models: tuple[nn.Module, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, model: Gpt, precision: Precision = "float32") -> Self:
        """An engine for this model; for bfloat16 it holds a copy of the weights.

        Raises:
            UserError: the precision is unknown or not available on this device.
        """
        device = next(model.parameters()).device
        check_precision(precision, device)
        if precision == "bfloat16":
            model = in_bfloat16(model)
        return cls(model.config, device, partial(begin, model), (model,))


def begin(model: Gpt) -> CausalSteps:
    """With a cache, if all parts of the model are known to allow it."""
    part = uncacheable_part(model.decoder, model.positions)
    if part is None and type(model).forward is Gpt.forward:
        return CachedCausalSteps(model)
    report_no_cache(type(part or model).__name__)
    return UncachedCausalSteps(model)


class CachedCausalSteps:
    """The model's own forwards on the new tokens alone, with a key-value cache.

    At the first step the look-ahead mask of `Gpt.forward` orders the new tokens. A later step has
    one new token, which may attend to itself and to all earlier ones: its mask hides nothing.
    """

    def __init__(self, model: Gpt) -> None:
        self.model = shallow_copy(model)
        self.model.decoder, self.cache = with_cache(model.decoder)
        self.model.positions = cast(Any, ContinuedPositions(model.positions))

    def step(self, ids: Tensor) -> Tensor:
        """As `CausalSteps.step`; the first step may have many new ids, the others have one."""
        hidden = self.model(ids)  # (rows, new, d_model)
        return widened(self.model.logits(hidden[:, -1]))

    def keep(self, rows: Tensor) -> None:
        """As `CausalSteps.keep`."""
        self.cache.keep(rows)


class UncachedCausalSteps:
    """The model's own forwards on the whole text: slower, right for any model."""

    def __init__(self, model: Gpt) -> None:
        self.model = model
        self.ids: Tensor | None = None  # (rows, length)

    def step(self, ids: Tensor) -> Tensor:
        """As `CausalSteps.step`."""
        self.ids = ids if self.ids is None else torch.cat([self.ids, ids], dim=1)
        return widened(self.model.logits(self.model(self.ids)[:, -1]))

    def keep(self, rows: Tensor) -> None:
        """As `CausalSteps.keep`."""
        self.ids = None if self.ids is None else self.ids[rows]
