"""What a translator answers."""

from dataclasses import dataclass

# (source word, target word), counted from 0 among what str.split() gives.
Link = tuple[int, int]


@dataclass(frozen=True)
class Translation:
    """One translation of one text.

    `score` is its log-probability; for a text of several sentences both numbers
    are the sums over the sentences. `finished` is False where the length limit
    cut it. `alignment` is None unless asked for. `ids` are those of the sentences, in order.
    """

    text: str
    score: float
    normalized: float
    finished: bool
    ids: tuple[tuple[int, ...], ...]
    alignment: tuple[Link, ...] | None = None


BLANK = Translation("", 0.0, 0.0, True, ())
