"""The score below which a translation is doubtful: how it is stored and how it is measured.

Scores of different models are not comparable: a model that was trained longer or with less
label smoothing is more certain of everything. So each model directory has its own threshold in
`doubt.json`, which `benchmarks/doubt.py --write` measures; a directory without it has the default.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from clearhead.errors import UserError
from clearhead.files import atomic_write, verify_checksum

FILE = "doubt.json"
DEFAULT_THRESHOLD = -0.5
"""In nats per token: the geometric mean of the tokens' probabilities is 0.61."""

_REPAIR = "measure it with benchmarks/doubt.py --write, or delete the file"


def load_threshold(directory: Path) -> float:
    """The threshold of a model directory, or the default.

    Raises:
        UserError: `doubt.json` holds no finite number "threshold".
    """
    path = directory / FILE
    if not path.exists():
        return DEFAULT_THRESHOLD
    verify_checksum(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a JSON file ({error}); {_REPAIR}") from error
    found = values.get("threshold") if isinstance(values, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise UserError(f'{path} holds no number "threshold"; {_REPAIR}')
    return float(found)


def save_threshold(directory: Path, threshold: float, measured: str) -> None:
    """Write `doubt.json`; `measured` says on which sentences."""
    values = {"threshold": threshold, "measured": measured}
    atomic_write(directory / FILE, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class Judged:
    """A translation: its score per token, whether anything else marks it, whether it is right."""

    per_token: float
    marked_anyway: bool
    correct: bool


@dataclass(frozen=True)
class Marks:
    """The marks that one threshold gives; a mark on a wrong translation is a hit."""

    threshold: float
    marked: int
    hits: int
    wrong: int

    @classmethod
    def at(cls, threshold: float, translations: Iterable[Judged]) -> "Marks":
        """The marks on these translations."""
        all_of_them = list(translations)
        marked = [t for t in all_of_them if t.marked_anyway or t.per_token < threshold]
        hits = sum(not t.correct for t in marked)
        return cls(threshold, len(marked), hits, sum(not t.correct for t in all_of_them))

    @property
    def precision(self) -> float:
        """The share of the marks that are on wrong translations; 1 without any mark."""
        return self.hits / self.marked if self.marked else 1.0

    @property
    def recall(self) -> float:
        """The share of the wrong translations that are marked; 1 if none is wrong."""
        return self.hits / self.wrong if self.wrong else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.hits / (self.marked + self.wrong) if self.wrong else 0.0


def best_threshold(translations: Sequence[Judged]) -> float:
    """The threshold with the highest F1; it lies halfway between two neighbouring scores.

    Among equals the lowest, which marks least. Without a wrong translation nothing can be
    measured, and the threshold is minus infinity.
    """
    if all(t.correct for t in translations):
        return -math.inf
    scores = sorted({t.per_token for t in translations})
    middles = [(low + high) / 2 for low, high in pairwise(scores)]
    candidates = [scores[0] - 1.0, *middles, scores[-1] + 1.0]
    return max(candidates, key=lambda threshold: Marks.at(threshold, translations).f1)
