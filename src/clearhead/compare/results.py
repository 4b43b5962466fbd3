"""The record of a benchmark: all laps, what is compared with what, and where it was measured.

It is written as JSON and read again without loss, so that a table can be made
later, elsewhere, from the laps themselves.
"""

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clearhead.compare.hardware import Machine
from clearhead.compare.race import Lap, Laps
from clearhead.errors import UserError
from clearhead.files import atomic_write

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Duel:
    """Two names of a heat; `bar` is what we want the ratio of their rates to reach."""

    ours: str
    theirs: str
    bar: float | None = None


def distinct(duels: Iterable[Duel]) -> list[Duel]:
    """Each pair of names once, with the highest of its bars; nobody against himself."""
    bars: dict[tuple[str, str], float | None] = {}
    for duel in duels:
        pair = duel.ours, duel.theirs
        if duel.ours != duel.theirs:
            bars[pair] = max(bars.get(pair) or 0, duel.bar or 0) or None
    return [Duel(*pair, bar) for pair, bar in bars.items()]


@dataclass(frozen=True)
class Heat:
    """One race: everybody did the same work, counted in `unit` a second (divided by `per`)."""

    title: str
    unit: str
    laps: Laps
    duels: list[Duel] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)  # a word on a contestant
    per: float = 1.0


@dataclass(frozen=True)
class Results:
    """One command of `clearhead bench`."""

    command: str
    setting: str
    machine: Machine
    heats: list[Heat]
    remarks: list[str] = field(default_factory=list)


def write_json(results: Results, path: Path) -> None:
    """Keep the record."""
    record = {"format_version": FORMAT_VERSION, **dataclasses.asdict(results)}
    atomic_write(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Results:
    """Read what `write_json` wrote.

    Raises:
        UserError: the file is missing or holds something else.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Results(
            record["command"],
            record["setting"],
            Machine(**record["machine"]),
            [_heat(heat) for heat in record["heats"]],
            record["remarks"],
        )
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; give a file of --json") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} holds no results of this clearhead ({error!r}); "
            "give a file that `clearhead bench … --json FILE` wrote"
        ) from error


def _heat(record: dict[str, Any]) -> Heat:
    laps = {name: [Lap(*lap) for lap in own] for name, own in record.pop("laps").items()}
    duels = [Duel(**duel) for duel in record.pop("duels")]
    return Heat(laps=laps, duels=duels, **record)
