"""Two versions of the sources train in turn on the same batches: which is faster, do losses agree?

    python benchmarks/two_trees.py OLD/src NEW/src
    python benchmarks/two_trees.py OLD/src NEW/src --precision fp32 --rows 64 --rounds 30

Each version has a process of its own and makes one step while the other waits; the order
changes every round, so that what else the machine does affects both alike. Processor seconds
are compared, round by round, and the median ratio is shown, with the largest relative
difference of a loss. The model: d_model 256, h 4, d_ff 1024, 3 + 3 layers, vocabulary 8,000,
dropout 0.1; batches of `--rows` x `--length` tokens, up to half of them padding.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import NamedTuple

VOCABULARY, PAD, EOS = 8_000, 0, 2


class Lap(NamedTuple):
    """One step of one version."""

    seconds: float
    loss: float


class Version:
    """A process that makes a step whenever it reads a line."""

    def __init__(self, source: str, settings: argparse.Namespace) -> None:
        self.source = source
        options = [settings.precision, *map(str, (settings.rows, settings.length))]
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--step", *options, str(settings.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": source},
        )

    def step(self) -> Lap:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        print(file=stdin, flush=True)
        return Lap(*json.loads(stdout.readline()))


def make_steps(precision: str, rows: int, length: int, threads: int) -> None:
    """Inside a version's process: one step for every line of standard input."""
    import time

    import torch

    from clearhead.models import TransformerConfig

    try:
        from clearhead.compare.training_benchmark import make_trainer
    except ModuleNotFoundError:  # versions older than this module
        from clearhead.compare.clearhead_training import make_trainer

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    config = TransformerConfig(
        VOCABULARY, VOCABULARY, d_model=256, encoder_layers=3, decoder_layers=3, h=4, d_ff=1024
    )
    data = Batches(rows, length)
    trainer = make_trainer(config, data, torch.device("cpu"), precision)  # type: ignore[arg-type]
    for _ in sys.stdin:
        began = time.process_time()
        loss = trainer.step().loss
        print(json.dumps([time.process_time() - began, loss]), flush=True)


class Batches:
    """Random ids, EOS at the end of each sentence, then padding; the same for every version."""

    epoch = 0

    def __init__(self, rows: int, length: int) -> None:
        self.stream = self._batches(rows, length)

    def __next__(self) -> SimpleNamespace:
        return next(self.stream)

    @staticmethod
    def _batches(rows: int, length: int) -> Iterator[SimpleNamespace]:
        import numpy as np

        random, columns = np.random.default_rng(1), np.arange(length)
        while True:
            ids = random.integers(4, VOCABULARY, (2, rows, length))
            last = length - 1 - random.integers(0, length // 2, (2, rows, 1))
            ids[columns == last], ids[columns > last] = EOS, PAD
            yield SimpleNamespace(source=ids[0], target=ids[1])


def race(versions: list[Version], rounds: int) -> list[list[Lap]]:
    """The laps of each version; the first two warm up and are not timed."""
    laps: list[list[Lap]] = [[] for _ in versions]
    for number in range(rounds + 2):
        order = list(range(len(versions)))
        for i in order if number % 2 else reversed(order):
            laps[i].append(versions[i].step())
    return laps


def main() -> None:
    """Race the versions and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="+", help="folders that hold a clearhead package")
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--rows", type=int, default=128, help="sentences in a batch")
    parser.add_argument("--length", type=int, default=16, help="tokens of the longest sentence")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    settings = parser.parse_args()
    versions = [Version(source, settings) for source in settings.sources]
    all_laps = race(versions, settings.rounds)
    first = all_laps[0]
    print(f"{'sources':40} {'ms a step':>10} {'speed':>7} {'largest difference of a loss':>29}")
    for version, laps in zip(versions, all_laps, strict=True):
        timed = list(zip(first[2:], laps[2:], strict=True))
        milliseconds = 1e3 * statistics.median(lap.seconds for lap in laps[2:])
        speed = statistics.median(one.seconds / lap.seconds for one, lap in timed)
        apart = max(abs(a.loss - b.loss) / a.loss for a, b in zip(first, laps, strict=True))
        print(f"{version.source:40} {milliseconds:10.1f} {speed:7.3f} {apart:29.1e}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        make_steps(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
