"""A causal language model that reads a batch of texts, some tokens a step, in either engine.

The next token is chosen in Python.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from clearhead.decoding import steps
from clearhead.decoding.precision import Precision, in_precision
from clearhead.models import Gpt, GptConfig
from clearhead.models.native import native_model
from clearhead.native.model import NativeModel
from clearhead.native.search import Integers, threads_of
from clearhead.native.session import Session
from clearhead.native.weights import Floats


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
        model = in_precision(model, precision)
        device = next(model.parameters()).device
        return cls(model.config, device, partial(begin, model), (model,))


def begin(model: Gpt) -> CausalSteps:
    """With a cache, if all parts of the model are known to allow it."""
    part = steps.uncacheable_part(model.decoder, model.embed, model.positions)
    own_forward = steps.method(model, "forward") is not Gpt.forward
    if part is None and not own_forward and not steps.has_hooks(model):
        return CachedCausalSteps(model)
    steps.report_no_cache(type(model if part is None else part).__name__)
    return UncachedCausalSteps(model)


class CachedCausalSteps:
    """The model's own forwards on the new tokens alone, with a key-value cache.

    At the first step the look-ahead mask of `Gpt.forward` orders the new tokens. A later step has
    one new token, which may attend to itself and to all earlier ones: its mask hides nothing.
    """

    def __init__(self, model: Gpt) -> None:
        self.model = steps.shallow_copy(model)
        self.model.decoder, self.cache = steps.with_cache(model.decoder)
        self.model.positions = cast(Any, steps.ContinuedPositions(model.positions))

    def step(self, ids: Tensor) -> Tensor:
        """As `CausalSteps.step`; the first step may have many new ids, the others have one."""
        hidden = self.model(ids)  # (rows, new, d_model)
        return steps.widened(self.model.logits(hidden[:, -1]))

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
        return steps.widened(self.model.logits(self.model(self.ids)[:, -1]))

    def keep(self, rows: Tensor) -> None:
        """As `CausalSteps.keep`."""
        self.ids = None if self.ids is None else self.ids[rows]


def native_causal_engine(
    model: Gpt, int8: bool = False, threads: int | None = None
) -> CausalEngine:
    """An engine with a prepacked copy of the current weights."""
    begin = partial(NativeCausalSteps, native_model(model, int8), threads_of(threads))
    return CausalEngine(model.config, torch.device("cpu"), begin)


class NativeCausalSteps:
    """A batch of texts whose keys and values the library keeps; implements `CausalSteps`.

    The texts are divided among sessions, one for each thread.
    """

    def __init__(self, model: NativeModel, threads: int) -> None:
        self.model, self.threads = model, threads
        self.sessions: list[Session] = []
        self.rows: list[int] = []  # the text of each row: text t is in session t % sessions
        self.length = 0  # tokens that every text has

    def step(self, ids: Tensor) -> Tensor:
        """As `CausalSteps.step`."""
        tokens = np.ascontiguousarray(ids.numpy(), np.int32)
        if not self.sessions:
            self._open(*tokens.shape)
        logits = np.empty((len(tokens), self.model.sizes.tgt_vocab), np.float32)
        groups = [
            [row for row, text in enumerate(self.rows) if text % len(self.sessions) == number]
            for number in range(len(self.sessions))
        ]
        work = partial(self._advance, tokens, logits)
        busy = [pair for pair in zip(self.sessions, groups, strict=True) if pair[1]]
        if len(busy) == 1:
            work(busy[0])
        else:
            with ThreadPoolExecutor(len(busy)) as pool:
                list(pool.map(work, busy))
        self.length += tokens.shape[1]
        return torch.from_numpy(logits)

    def keep(self, rows: Tensor) -> None:
        """As `CausalSteps.keep`."""
        self.rows = [self.rows[row] for row in rows.tolist()]

    def _open(self, texts: int, new: int) -> None:
        """Sessions for so many texts; each text of the first step is read by itself."""
        count = min(self.threads, texts)
        slots = -(-texts // count)
        seq_len = self.model.sizes.tgt_len
        self.rows = list(range(texts))
        self.sessions = [Session(self.model, max(new, slots), slots, seq_len) for _ in range(count)]

    def _advance(
        self, tokens: Integers, logits: Floats, own: tuple[Session, Sequence[int]]
    ) -> None:
        session, rows = own
        slots = np.array([self.rows[row] // len(self.sessions) for row in rows], np.int32)
        new = tokens.shape[1]
        if new == 1:
            session.decode(tokens[rows, 0], np.full(len(rows), self.length, np.int32), slots)
            logits[rows] = session.logits(len(rows))
            return
        positions = np.arange(self.length, self.length + new, dtype=np.int32)
        for row, slot in zip(rows, slots, strict=True):
            session.decode(tokens[row], positions, np.full(new, slot, np.int32))
            session.keep(np.array([new - 1], np.int32))
            logits[row] = session.logits(1)[0]
