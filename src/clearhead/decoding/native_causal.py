"""Text generation by the native engine, one step at a time; the next token is chosen in Python."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from torch import Tensor

from clearhead.decoding.causal import CausalEngine
from clearhead.models import Gpt
from clearhead.models.native import native_model
from clearhead.native.model import NativeModel
from clearhead.native.search import Integers, default_threads
from clearhead.native.session import Session
from clearhead.native.weights import Floats


def native_causal_engine(
    model: Gpt, int8: bool = False, threads: int | None = None
) -> CausalEngine:
    """An engine with a packed copy of the weights as they are now."""
    begin = partial(NativeCausalSteps, native_model(model, int8), threads or default_threads())
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
        busy = [
            (session, rows) for session, rows in zip(self.sessions, groups, strict=True) if rows
        ]
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
