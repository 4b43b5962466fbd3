"""Candidates that generate tokens, and models with the same weights on both sides."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers

from clearhead.compare.results import Benchmark, Comparison
from clearhead.compare.timing import Candidate, Measurements, measure
from clearhead.export.exporting import quiet
from clearhead.pretrained import from_pretrained

TARGET = 1.5
THEIRS = "transformers generate, float32"
OURS = "clearhead"
Ids = list[list[int]]


class Writer:
    """One candidate; keeps the tokens of its last run."""

    def __init__(self, write: Callable[[Ids], Ids], given: Ids) -> None:
        self.write, self.given = write, given
        self.found: Ids = []

    def __call__(self) -> float:
        """Returns the number of tokens."""
        self.found = self.write(self.given)
        return sum(map(len, self.found))


def same_weights(theirs: Any, noise: float) -> tuple[Any, Any]:
    """Their new model with noise added to every weight, and ours with the same weights."""
    theirs = theirs.eval()
    transformers.utils.logging.disable_progress_bar()
    with torch.no_grad(), TemporaryDirectory() as folder, quiet():
        for parameter in theirs.parameters():  # a new bias is 0, a new model repeats one token
            parameter.add_(torch.randn_like(parameter), alpha=noise)
        theirs.save_pretrained(Path(folder))
        return theirs, from_pretrained(folder)


def benchmark(
    title: str,
    writers: dict[str, Writer],
    rounds: int,
    note: Callable[[Ids, Ids], str],
    others: Callable[[Measurements], list[Comparison]] = lambda found: [],
) -> Benchmark:
    """Time all; `note` describes the agreement of tokens with those of transformers.

    Everything is compared with transformers; `others` adds comparisons.
    """
    candidates = [Candidate(name, run) for name, run in writers.items()]
    found = measure(candidates, rounds, progress=print)
    expected = writers[THEIRS].found
    notes = {name: note(run.found, expected) for name, run in writers.items()}
    comparisons = [
        Comparison(name, THEIRS, TARGET if "float32" in name else None)
        for name in found
        if name.startswith(OURS)
    ] + others(found)
    notes = {name: text for name, text in notes.items() if text}
    return Benchmark(title, "tokens/s", found, comparisons, notes)
