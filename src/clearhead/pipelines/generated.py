"""What generation gives back, and the seeds that give it again."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clearhead.decoding.writing import Ending
from clearhead.errors import UserError


@dataclass(frozen=True)
class Generated:
    """What was written after a prompt; `seed` alone, with the same options, gives it again."""

    prompt: str
    text: str
    ending: Ending
    tokens: int
    seed: int


class Piece(NamedTuple):
    """New characters of one of the texts; the last piece of a text says how it ended."""

    text: int
    new: str
    ending: Ending | None
    tokens: int


def fresh_seed() -> int:
    """One that nobody knows yet."""
    return secrets.randbelow(2**31)


def check_seeds(seeds: Sequence[int]) -> None:
    """No seed is below 0: Python's generator would take it for its absolute value."""
    for seed in seeds:
        if seed < 0:
            raise UserError(f"seed={seed} is below 0; give a whole number of at least 0")
