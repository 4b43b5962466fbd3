r"""Long-range dependence: gradients and recall by distance.

The gradient: how strongly the decoder's first output vector y depends on the embedded source token
x_j. In an RNN the Jacobian dy / dx_j is a product of one factor per step between them (Hochreiter
1991; Bengio et al. 1994), so it vanishes exponentially. For random unit directions r and a
Jacobian with m rows,

.. math:: \lVert J \rVert_F^2 = m \; E \lVert J^\top r \rVert^2

so a single backward pass, with one direction per row of the batch, estimates the norm.

Recall: a symbol, then n - 1 tokens of noise, then the question which symbol it was. Symbols and
noise are disjoint, so that only memory is tested.
"""

import time
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.findings import SOLVED, PerModel, Recall
from clearhead.compare.rnn.training import Ids, SimpleTrainer
from clearhead.compare.rnn.translator import NAMES, Model, make_model
from clearhead.compare.timing import Progress
from clearhead.compare.workloads import first_token
from clearhead.decoding.readable import in_eval_mode
from clearhead.models import Transformer, TransformerConfig

FIRST = 3  # the smallest id that is not a special token
BATCH_TOKENS = 4096  # at most
CHECK_INTERVAL = 25  # steps


def gradient_by_distance(model: Model, longest: int, rows: int, seed: int) -> list[float]:
    """Norms of the Jacobian for source tokens at distance 1 (the last), 2, … `longest`.

    The model is converted in place to float64, which can represent norms such as 1e-40, and put
    into eval mode.
    """
    model = model.double().eval()
    config = model.config
    generator = torch.Generator().manual_seed(seed)
    size = (rows, longest)
    src = torch.randint(first_token(config), config.src_vocab_size, size, generator=generator)
    directions = torch.randn(rows, config.d_model, generator=generator, dtype=torch.float64)
    directions /= directions.norm(dim=-1, keepdim=True)
    gradient = source_gradient(model, src, directions)
    squares = gradient.square().sum(-1).mean(0) * config.d_model  # (src_len,)
    return cast(list[float], squares.sqrt().flip(0).tolist())


def source_gradient(model: Model, src: Tensor, directions: Tensor) -> Tensor:
    """The gradient of (first output vector · direction) in the embedded source tokens.

    Shape:
        src: (rows, src_len), directions: (rows, d_model) -> (rows, src_len, d_model)
    """
    embedded: list[Tensor] = []
    with model.src_embed.register_forward_hook(lambda *call: embedded.append(call[-1])):
        first = _first_output(model, src)
    (gradient,) = torch.autograd.grad((first * directions).sum(), embedded)
    return gradient


def _first_output(model: Model, src: Tensor) -> Tensor:
    """The decoder's output after BOS: (rows, d_model)."""
    either = cast(Transformer, model)  # both kinds have this interface
    mask = padding_mask(src, model.config.pad_id)
    bos = torch.full((len(src), 1), model.config.bos_id)
    return either.decode(either.encode(src, mask), mask, bos)[:, 0]


@dataclass(frozen=True)
class RecallTask:
    """Sizes of the recall experiment; `config` gives those of the models."""

    config: TransformerConfig
    distances: list[int]
    symbols: int
    noise: int
    rows: int  # per batch, at most
    steps: int
    seconds: float  # at most, for one model at one distance

    def rows_at(self, distance: int) -> int:
        """Rows per batch: fewer where sequences are long, to limit the time of a step."""
        return max(1, min(self.rows, BATCH_TOKENS // distance))

    def model_config(self) -> TransformerConfig:
        """A vocabulary of special tokens, symbols and noise; positions for the longest sequence."""
        size, length = FIRST + self.symbols + self.noise, max(self.distances) + 2
        return replace(
            self.config,
            src_vocab_size=size,
            tgt_vocab_size=size,
            src_seq_len=length,
            tgt_seq_len=length,
            dropout=0.0,
        )


def measure_recall(task: RecallTask, progress: Progress) -> Recall:
    """Every model at every distance, trained on the same sequences in the same order."""
    accuracy: PerModel = {name: [] for name in NAMES}
    sequences: PerModel = {name: [] for name in NAMES}
    for distance in task.distances:
        progress(f"  {distance} tokens back")
        for name in NAMES:
            right, steps = _train(make_model(name, task.model_config(), seed=1), task, distance)
            accuracy[name].append(right)
            sequences[name].append(float(steps * task.rows_at(distance)))
    limits = [task.steps * task.rows_at(distance) for distance in task.distances]
    return Recall(task.symbols, limits, task.distances, accuracy, sequences)


def random_sequences(
    task: RecallTask, distance: int, rows: int, generator: np.random.Generator
) -> tuple[Ids, Ids]:
    """Sources (rows, distance + 1), symbol first and EOS last; and the symbols (rows, 1)."""
    first_noise = FIRST + task.symbols
    symbols = generator.integers(FIRST, first_noise, (rows, 1))
    noise = generator.integers(first_noise, first_noise + task.noise, (rows, distance - 1))
    eos = np.full((rows, 1), task.config.eos_id)
    return np.concatenate([symbols, noise, eos], 1), symbols


def recall_accuracy(model: Model, task: RecallTask, distance: int, rows: int = 256) -> float:
    """The share of new sequences for which the correct symbol has the highest probability."""
    source, symbols = random_sequences(task, distance, rows, np.random.default_rng(2))
    correct = 0
    with torch.inference_mode(), in_eval_mode(model):
        for part, expected in zip(np.split(source, 4), np.split(symbols, 4), strict=True):
            hidden = _first_output(model, torch.from_numpy(part))
            scores = model.project(hidden)[:, FIRST : FIRST + task.symbols]
            predicted = scores.argmax(-1) + FIRST
            correct += int((predicted == torch.from_numpy(expected[:, 0])).sum())
    return correct / rows


def _train(model: Model, task: RecallTask, distance: int) -> tuple[float, int]:
    """Accuracy and steps when the task is solved, the steps are used up, or the time is over."""
    trainer, generator = SimpleTrainer(model), np.random.default_rng(1)
    start = time.perf_counter()
    while trainer.steps < task.steps and time.perf_counter() - start < task.seconds:
        trainer.step(*random_sequences(task, distance, task.rows_at(distance), generator))
        if trainer.steps % CHECK_INTERVAL == 0:
            accuracy = recall_accuracy(model, task, distance)
            if accuracy >= SOLVED:
                return accuracy, trainer.steps
    return recall_accuracy(model, task, distance), trainer.steps
