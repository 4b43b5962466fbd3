"""The splits, disjoint by construction: which sentence may appear where is decided by itself."""

from collections.abc import Callable, Iterator
from random import Random
from zlib import crc32

from clearhead.errors import UserError

from .held_out import has_held_out_construction, has_held_out_word
from .long_sentences import choose_long
from .segmentation import words
from .sentences import GrammarPair, choose, write
from .syntax import Clause

SPLITS = ("train", "dev", "test", "held_out_words", "held_out_constructions", "long")
LONGEST = 14  # words on either side, punctuation included; `long` has more on both


def generate(split: str, seed: int = 0) -> Iterator[GrammarPair]:
    """Endless pairs of one split; the same seed gives the same pairs on every machine.

    A sentence may come again, but never in another split, whatever the seeds.
    """
    if split not in SPLITS:
        raise UserError(f"grammar split {split!r} is unknown; choose one of {', '.join(SPLITS)}")
    rng = Random(crc32(f"{split} {seed}".encode()))
    draw, admits, fits = _RULES.get(split, (choose, _is_common, _in_share(split)))
    while True:
        tree = draw(rng)
        if admits(tree):
            pair = write(tree)
            if fits(pair):
                yield pair


def _is_common(tree: Clause) -> bool:
    return not (has_held_out_word(tree) or has_held_out_construction(tree))


def _is_new_word(tree: Clause) -> bool:
    return has_held_out_word(tree) and not has_held_out_construction(tree)


def _is_short(pair: GrammarPair) -> bool:
    return max(len(words(pair.source)), len(words(pair.target))) <= LONGEST


def _is_long(pair: GrammarPair) -> bool:
    return min(len(words(pair.source)), len(words(pair.target))) > LONGEST


def _in_share(split: str) -> Callable[[GrammarPair], bool]:
    """Ninety sentences in a hundred are for training, five for dev, five for test."""
    return lambda pair: share(pair.source) == split and _is_short(pair)


def share(source: str) -> str:
    """Where the English text itself puts a sentence: a checksum, so for ever the same."""
    number = crc32(source.encode()) % 100
    return "train" if number < 90 else "dev" if number < 95 else "test"


_Rule = tuple[Callable[[Random], Clause], Callable[[Clause], bool], Callable[[GrammarPair], bool]]
_RULES: dict[str, _Rule] = {
    "held_out_words": (choose, _is_new_word, _is_short),
    "held_out_constructions": (choose, has_held_out_construction, _is_short),
    "long": (choose_long, _is_common, _is_long),
}
