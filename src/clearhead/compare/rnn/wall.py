"""The sequential wall: the same tokens, cut into longer and longer sentences.

A Transformer reads a batch of tokens in one go however they are cut (its attention alone
grows with the length). An RNN takes as many steps, one after the other, as the sentence has
tokens, and the longer the sentence the fewer rows there are to share a step.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch

from clearhead.compare.race import Contestant, race
from clearhead.compare.rnn.entrants import NAMES, make
from clearhead.compare.rnn.lesson import Ids, Learner, loss_of
from clearhead.compare.rnn.numbers import Wall
from clearhead.models import TransformerConfig


def measure_wall(
    config: TransformerConfig,
    lengths: list[int],
    tokens: int,
    limits: tuple[int, float],
    say: Callable[[str], None],
) -> Wall:
    """Whole training steps, paired round by round; then what each keeps for its backward pass.

    `limits`: rounds at each length, and seconds after which one round must do.
    """
    (rounds, seconds_for_rounds), began = limits, time.perf_counter()
    learners = {name: Learner(make(name, config, seed=1)) for name in NAMES}
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    megabytes: dict[str, list[float]] = {name: [] for name in NAMES}
    for length in lengths:
        say(f"  {tokens // length} sentences of {length} tokens")
        batch = full_batch(config, tokens, length)
        runners = [Contestant(name, _step(learners[name], batch)) for name in NAMES]
        late = time.perf_counter() - began > seconds_for_rounds
        laps = race(runners, 1 if late else rounds, warmup=0 if late else 1)
        for name in NAMES:
            seconds[name].append(median(lap.seconds for lap in laps[name]))
            megabytes[name].append(kept(learners[name], batch) / 1e6)
    return Wall(tokens, lengths, seconds, megabytes)


def full_batch(config: TransformerConfig, tokens: int, length: int) -> tuple[Ids, Ids]:
    """Random sentences, source and target, without padding: (tokens / length, length) each."""
    rows = max(1, tokens // length)
    first = max(config.pad_id, config.bos_id, config.eos_id) + 1
    size = min(config.src_vocab_size, config.tgt_vocab_size)
    ids = np.random.default_rng(1).integers(first, size, (2, rows, length))
    ids[:, :, -1] = config.eos_id
    return ids[0], ids[1]


def kept(learner: Learner, batch: tuple[Ids, Ids]) -> int:
    """Bytes that a forward pass keeps for the backward pass, weights not counted."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in learner.model.parameters()}
    found: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        losses = loss_of(learner.model, *batch, 0.0)
    del losses  # until here the graph held everything: no address was used twice
    return sum(found.values())


def _step(learner: Learner, batch: tuple[Ids, Ids]) -> Callable[[], float]:
    def run() -> float:
        learner.step(*batch, gone=0.0)
        return float(batch[1].size)

    return run
