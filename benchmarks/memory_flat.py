"""Show that memory and the cost of a token stay flat: encode corpora, walk through their batches.

    python benchmarks/memory_flat.py                       # to ten million lines, 2 GB of disk
    python benchmarks/memory_flat.py --lines 10000 200000  # the same in seconds

The lines are read from a file, so the reader, the encoder, the token files, the
permutation and the batches are all on the way. What one should see: the column
"resident" does not grow with the column "lines"; and in the last table a token costs as much
in the longest corpus as in the shortest. All else in a training step sees one batch and
cannot know how long the corpus is.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clearhead.data import Pair, open_pairs
from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.encoded import EncodedCorpus
from clearhead.training.metrics import peak_resident

WORDS = 30_000
ROWS = 20


def resident_megabytes() -> float:
    """Memory of this process now (Linux), or at most so far (elsewhere)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 1e9 * peak_resident() / 2**20
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Table:
    """Prints a row now and then, and remembers the range of resident memory."""

    def __init__(self, lines: int) -> None:
        self.every = max(1, lines // ROWS)
        self.start = time.perf_counter()
        self.seen: list[float] = []
        print(f"{'stage':<8} {'lines':>12} {'resident MB':>12} {'seconds':>8}")

    def row(self, stage: str, lines: int) -> None:
        self.seen.append(resident_megabytes())
        seconds = time.perf_counter() - self.start
        print(f"{stage:<8} {lines:>12,} {self.seen[-1]:>12.1f} {seconds:>8.1f}", flush=True)


def write_lines(path: Path, count: int) -> None:
    """Random short sentences of random words, 5 to 12 per side."""
    random = np.random.default_rng(0)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for begin in range(0, count, 1_000):
            lengths = random.integers(5, 13, size=(min(1_000, count - begin), 2))
            words = iter(random.integers(0, WORDS, size=int(lengths.sum())).tolist())
            for row in lengths.tolist():
                sides = (" ".join(str(next(words)) for _ in range(length)) for length in row)
                stream.write("\t".join(sides) + "\n")


def counted(pairs: Iterable[Pair], table: Table, stage: str) -> Iterator[Pair]:
    for number, pair in enumerate(pairs, start=1):
        yield pair
        if number % table.every == 0:
            table.row(stage, number)


def walk(corpus: EncodedCorpus, table: Table) -> tuple[int, float]:
    """One epoch; returns its tokens and the processor's seconds that forming its batches took."""
    batches = TokenBatches(corpus, BatchPlan(max_tokens=4096))
    lines = tokens = 0
    begin = time.process_time()
    for batch in batches:
        if batch.epoch:
            return tokens, time.process_time() - begin
        before, lines = lines, lines + len(batch.indices)
        tokens += batch.source_tokens + batch.target_tokens
        if lines // table.every > before // table.every:
            table.row("batches", lines)
    raise AssertionError("the walk is endless")


class Cost(NamedTuple):
    """What a token costs, in microseconds of the processor, and the resident memory in MB."""

    lines: int
    tokens: int
    encoding: float
    batching: float
    resident: float

    def __str__(self) -> str:
        return (
            f"| {self.lines:,} | {self.tokens:,} | {self.encoding:.2f} | {self.batching:.2f} "
            f"| {self.resident:.1f} MB |"
        )


def cost(lines: int) -> Cost:
    """Of a corpus of so many lines, written for the purpose."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_lines(directory / "corpus.tsv", lines)
        table = Table(lines)
        table.row("start", 0)
        pairs = counted(open_pairs(directory / "corpus.tsv"), table, "encode")
        begin = time.process_time()
        corpus = EncodedCorpus.build(
            pairs, lambda texts: [[int(w) for w in t.split()] for t in texts], directory / "ids", 64
        )
        encoding = time.process_time() - begin
        tokens, batching = walk(corpus, table)
    return Cost(lines, tokens, 1e6 * encoding / tokens, 1e6 * batching / tokens, max(table.seen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sizes = [10_000, 100_000, 1_000_000, 10_000_000]
    parser.add_argument("--lines", type=int, nargs="+", default=sizes)
    costs = [cost(lines) for lines in parser.parse_args().lines]
    print("\n| lines | tokens | encoding, µs a token | batching, µs a token | resident at most |")
    print("|---:|---:|---:|---:|---:|")
    print(*costs, sep="\n")


if __name__ == "__main__":
    main()
