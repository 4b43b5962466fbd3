"""The splits, disjoint by construction: which sentence may appear where is decided by itself."""

from collections.abc import Callable, Iterator
from random import Random
from zlib import crc32

from clearhead.errors import UserError

from .english import text
from .features import describe
from .held_out import has_held_out_construction, has_held_out_word
from .long_sentences import choose_long
from .sentences import GrammarPair, choose, read_english, write

SPLITS = ("train", "dev", "test", "held_out_words", "held_out_constructions", "long")
LONGEST = 14  # words on either side, punctuation included; `long` has more on both


def generate(split: str, seed: int = 0) -> Iterator[GrammarPair]:
    """Endless pairs of one split; the same seed gives the same pairs on every machine.

    A sentence may come again, but never in another split, whatever the seeds.
    """
    if split not in SPLITS:
        raise UserError(f"grammar split {split!r} is unknown; choose one of {', '.join(SPLITS)}")
    rng = Random(crc32(f"{split} {seed}".encode()))
    draw = choose_long if split == "long" else choose
    admits, fits = _ADMITS.get(split, _neither), _is_long if split == "long" else _is_short
    while True:
        tree = draw(rng)
        source = read_english(tree)
        if split in _SHARED and share(text(source)) != split:
            continue
        phenomena, meetings = describe(tree)
        if not admits(has_held_out_word(meetings), has_held_out_construction(phenomena)):
            continue
        pair = write(tree, source, phenomena)
        if fits(pair):
            yield pair


def share(source: str) -> str:
    """Where the English text itself puts a sentence: a checksum, so for ever the same.

    Ninety in a hundred are for training, five for dev, five for test.
    """
    number = crc32(source.encode()) % 100
    return "train" if number < 90 else "dev" if number < 95 else "test"


def _neither(word: bool, construction: bool) -> bool:
    return not (word or construction)


def _lengths(pair: GrammarPair) -> tuple[int, int]:
    """The number of words of both sides: the final marks are the last aligned pair."""
    source, target = pair.alignment[-1]
    return source + 1, target + 1


def _is_short(pair: GrammarPair) -> bool:
    return max(_lengths(pair)) <= LONGEST


def _is_long(pair: GrammarPair) -> bool:
    return min(_lengths(pair)) > LONGEST


_SHARED = ("train", "dev", "test")
_ADMITS: dict[str, Callable[[bool, bool], bool]] = {
    "held_out_words": lambda word, construction: word and not construction,
    "held_out_constructions": lambda word, construction: construction,
}
