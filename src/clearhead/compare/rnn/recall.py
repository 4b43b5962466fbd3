"""Recall: a symbol, then n - 1 tokens of noise, then: which symbol was it?

The symbols are words of their own, so nothing but memory is asked for. All learn from the
same sequences in the same order, at each distance from a fresh start.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.entrants import NAMES, Model, make
from clearhead.compare.rnn.lesson import Ids, Learner
from clearhead.compare.rnn.numbers import Recall
from clearhead.models import Transformer, TransformerConfig

FIRST, DONE = 3, 0.99  # the ids below are signs; who is right so often has learnt it
TOKENS = 4096  # of a batch, at most


@dataclass(frozen=True)
class Task:
    """How much is asked; `config` gives the widths of the small models that are asked."""

    config: TransformerConfig
    distances: list[int]
    symbols: int
    noise: int
    rows: int  # at most, and fewer where sequences are long
    steps: int
    seconds: float  # at most, for one model at one distance

    def rows_at(self, distance: int) -> int:
        """Of a batch: steps are many, and dear, so a batch of long sequences is a small one."""
        return max(1, min(self.rows, TOKENS // distance))

    def sizes(self) -> TransformerConfig:
        """A vocabulary of signs, symbols and noise, and room for the longest sequence."""
        size = FIRST + self.symbols + self.noise
        length = max(self.distances) + 2
        return replace(
            self.config,
            src_vocab_size=size,
            tgt_vocab_size=size,
            src_seq_len=length,
            tgt_seq_len=length,
            dropout=0.0,
        )


def measure_recall(task: Task, say: Callable[[str], None]) -> Recall:
    """Every entrant at every distance."""
    accuracy: dict[str, list[float]] = {name: [] for name in NAMES}
    sequences: dict[str, list[float]] = {name: [] for name in NAMES}
    for distance in task.distances:
        say(f"  {distance} tokens back")
        for name in NAMES:
            right, steps = _learn(make(name, task.sizes(), seed=1), task, distance)
            accuracy[name].append(right)
            sequences[name].append(float(steps * task.rows_at(distance)))
    most = [task.steps * task.rows_at(distance) for distance in task.distances]
    return Recall(task.symbols, most, task.distances, accuracy, sequences)


def draw(task: Task, distance: int, rows: int, draws: np.random.Generator) -> tuple[Ids, Ids]:
    """Sources (rows, distance + 1), the symbol first and the end sign last; symbols (rows, 1)."""
    planted = draws.integers(FIRST, FIRST + task.symbols, (rows, 1))
    first_noise = FIRST + task.symbols
    noise = draws.integers(first_noise, first_noise + task.noise, (rows, distance - 1))
    end = np.full((rows, 1), task.config.eos_id)
    return np.concatenate([planted, noise, end], 1), planted


def right_share(model: Model, task: Task, distance: int, rows: int = 256) -> float:
    """How often the likeliest of the symbols is the planted one, on sequences never seen."""
    source, planted = draw(task, distance, rows, np.random.default_rng(2))
    hits = 0
    was_training = model.training
    one = cast(Transformer, model.eval())
    with torch.inference_mode():
        for part, wanted in zip(np.split(source, 4), np.split(planted, 4), strict=True):
            src = torch.from_numpy(part)
            mask = padding_mask(src, task.config.pad_id)
            begin = torch.full((len(src), 1), task.config.bos_id)
            scores = one.project(one.decode(one.encode(src, mask), mask, begin))[:, 0]
            answer = scores[:, FIRST : FIRST + task.symbols].argmax(-1) + FIRST
            hits += int((answer == torch.from_numpy(wanted[:, 0])).sum())
    model.train(was_training)
    return hits / rows


def _learn(model: Model, task: Task, distance: int) -> tuple[float, int]:
    """Learn until all is right, the sequences are used up or the time is over."""
    learner, draws = Learner(model), np.random.default_rng(1)
    began, right = time.perf_counter(), 0.0
    while learner.steps < task.steps and time.perf_counter() - began < task.seconds:
        source, planted = draw(task, distance, task.rows_at(distance), draws)
        learner.step(source, planted, gone=0.0)
        if learner.steps % 25 == 0:
            right = right_share(model, task, distance)
            if right >= DONE:
                return right, learner.steps
    return right_share(model, task, distance), learner.steps
