"""`clearhead bench epoch`: training on a corpus, token batches against fixed padding.

In each round both trainers get the same time on their own pass through the corpus, and the
target tokens without padding are counted. So the benchmark ends in minutes, and the time of a
whole epoch follows from the rates.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import torch

from clearhead.compare.didactic import DidacticLoop
from clearhead.compare.results import Benchmark, Comparison
from clearhead.compare.timing import Candidate, Measurements, Progress, fastest, measure
from clearhead.compare.training_benchmark import (
    CLEARHEAD,
    PRECISIONS,
    make_trainer,
    native_precisions,
)
from clearhead.compare.workloads import EpochTask
from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.training.trainer import Trainer

DIDACTIC = "didactic loop, fixed padding, float32"
TARGET = 4.0


def epoch_benchmark(
    task: EpochTask, seconds: float, rounds: int, progress: Progress = print
) -> tuple[Benchmark, list[str]]:
    """The benchmark, and remarks on the sample and on the duration of a whole epoch."""
    rows = max(1, task.batch_tokens // task.longest)
    loop = DidacticLoop(task.corpus, task.config, rows, task.longest)
    candidates = [Candidate(DIDACTIC, partial(_run_for, seconds, loop.step))]
    batches = {}
    for precision in native_precisions(torch.device("cpu")):
        name = f"{CLEARHEAD}, token batches, {PRECISIONS[precision]}"
        batches[name] = _token_batches(task)
        trainer = make_trainer(task.config, batches[name], torch.device("cpu"), precision)
        candidates.append(Candidate(name, partial(_run_for, seconds, partial(_step, trainer))))
    found = measure(candidates, rounds, 1, progress=progress)
    notes = {name: f"{100 * own.padding_share:.0f} % padding" for name, own in batches.items()}
    density = task.target_tokens / (len(task.corpus) * task.longest)
    notes[DIDACTIC] = f"{100 * (1 - density):.0f} % padding"
    title = f"An epoch of {len(task.corpus):,} pairs, batching included"
    benchmark = Benchmark(title, "target tokens/s", found, _comparisons(found), notes)
    return benchmark, _remarks(task, found, rows, seconds)


def _token_batches(task: EpochTask) -> TokenBatches:
    config = task.config
    plan = BatchPlan(task.batch_tokens, pad_id=config.pad_id, eos_id=config.eos_id)
    return TokenBatches(task.corpus, plan)


def _step(trainer: Trainer) -> float:
    return trainer.step().tokens


def _run_for(seconds: float, step: Callable[[], float]) -> float:
    end, tokens = time.perf_counter() + seconds, 0.0
    while not tokens or time.perf_counter() < end:
        tokens += step()
    return tokens


def _comparisons(found: Measurements) -> list[Comparison]:
    ours, plain = fastest(found, CLEARHEAD), f"{CLEARHEAD}, token batches, float32"
    assert ours is not None
    return [
        Comparison(ours, DIDACTIC, TARGET),
        *([Comparison(plain, DIDACTIC)] if plain != ours else []),
    ]


def _remarks(task: EpochTask, found: Measurements, rows: int, seconds: float) -> list[str]:
    times = "; ".join(
        f"{name} {median(task.target_tokens / one.rate for one in own):,.0f} s"
        for name, own in found.items()
    )
    return [
        f"sample: {seconds:g} s per trainer and round, each continuing its own epoch; "
        f"fixed padding to the longest sentence, {task.longest} tokens, {rows} pairs per batch; "
        f"token batches of at most {task.batch_tokens:,} positions",
        f"a whole epoch ({task.target_tokens:,} target tokens) at these rates: {times}",
    ]
