"""Sentences longer than any in training, from parts that training knows."""

from random import Random

from .combinations import reported
from .constructions import plain
from .relatives import modified
from .syntax import Clause


def choose_long(rng: Random) -> Clause:
    """Clauses joined by `and`, some with relative clauses, adverbs and places."""
    first, second = _part(rng), _part(rng)
    if rng.random() < 0.5:
        second.connective, second.complement = "and", _part(rng)
    first.construction, first.connective, first.complement = "long", "and", second
    return first


def _part(rng: Random) -> Clause:
    while True:
        draw = rng.random()
        if draw < 0.35:
            c = modified(rng)
        elif draw < 0.5:
            c = reported(rng)
        else:
            c = plain(rng.choice(("object", "give", "intransitive")))(rng)
        if not c.asks and not (c.complement and c.connective != "and"):
            return c
