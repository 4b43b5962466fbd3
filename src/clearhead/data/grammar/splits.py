"""The pairs of both grammars by split; the splits are disjoint by construction.

A sentence's own text, words and values decide to which split it belongs, so no seed can move it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from zlib import crc32

from clearhead.errors import UserError

from .bitext import GrammarPair, english_text
from .complex_sentences import choose_long
from .productions.carriers import carry
from .sentences import choose, choose_wide, read_english, write
from .syntax import Clause, clauses, describe, has_held_out_construction, has_held_out_word, phrases
from .vocabulary import Draw, small, wide

SPLITS = ("train", "dev", "test", "held_out_words", "held_out_constructions", "long")
LONGEST = 14  # words on either side, punctuation included; `long` has more on both
_SHARED = ("train", "dev", "test")
_ADMITS: dict[str, Callable[[bool, bool], bool]] = {
    "held_out_words": lambda word, construction: word and not construction,
    "held_out_constructions": lambda word, construction: construction,
}
WIDE_SPLITS = (*SPLITS, "held_out_values")
PRODUCTION_RATE = 0.45  # the share of sentences with a production
HELD_OUT_PERCENT = 8  # of names, numbers, dates, times and copied texts
_CLAUSES_ONLY = frozenset({"held_out_words", "held_out_constructions", "long"})


def generate(split: str, seed: int = 0) -> Iterator[GrammarPair]:
    """Endless pairs of one split; the same seed gives the same pairs on every machine.

    A sentence may occur again, but never in another split, whatever the seeds.

    Raises:
        UserError: there is no such split.
    """
    check_split(split, SPLITS)
    rng = Draw.of(small(), crc32(f"{split} {seed}".encode()))
    draw = choose_long if split == "long" else choose
    admits, fits = _ADMITS.get(split, _neither), is_long if split == "long" else is_short
    while True:
        tree = draw(rng)
        source = read_english(tree)
        if split in _SHARED and share(english_text(source)) != split:
            continue
        phenomena, meetings = describe(tree)
        if not admits(has_held_out_word(meetings), has_held_out_construction(phenomena)):
            continue
        pair = write(tree, source, phenomena)
        if fits(pair):
            yield pair


def check_split(split: str, known: Sequence[str]) -> None:
    """Whether a grammar has a split of this name.

    Raises:
        UserError: it has none.
    """
    if split not in known:
        raise UserError(f"grammar split {split!r} is unknown; choose one of {', '.join(known)}")


def share(source: str) -> str:
    """The split of a sentence by a checksum of its English text, so that it never changes.

    Ninety percent are for training, five for dev, five for test.
    """
    number = crc32(source.encode()) % 100
    return "train" if number < 90 else "dev" if number < 95 else "test"


def _neither(word: bool, construction: bool) -> bool:
    return not (word or construction)


def _lengths(pair: GrammarPair) -> tuple[int, int]:
    """The number of words of both sides: the last aligned pair is the final punctuation."""
    source, target = pair.alignment[-1]
    return source + 1, target + 1


def is_short(pair: GrammarPair) -> bool:
    """Whether neither side is longer than training allows."""
    return max(_lengths(pair)) <= LONGEST


def is_long(pair: GrammarPair) -> bool:
    """Whether both sides are longer than any in training."""
    return min(_lengths(pair)) > LONGEST


def generate_wide(split: str, seed: int = 0) -> Iterator[GrammarPair]:
    """Endless pairs of one split of the wide grammar, the same for the same seed.

    Raises:
        UserError: there is no such split, or a file of the lexicon is malformed.
    """
    check_split(split, WIDE_SPLITS)
    rng = Draw.of(wide(), crc32(f"wide {split} {seed}".encode()))
    while True:
        if split in _CLAUSES_ONLY or rng.random() >= PRODUCTION_RATE:
            yield from _clause(rng, split)
        else:
            carried = carry(rng)
            if split_of(carried.text, carried.values) == split:
                yield carried.pair()


def is_held_out(value: str) -> bool:
    """Whether this value never occurs in training; a checksum decides, so it never changes."""
    return crc32(value.encode()) % 100 < HELD_OUT_PERCENT


def split_of(source: str, values: frozenset[str]) -> str:
    """The split of a sentence with these values and no other reason to be held out.

    Half of the sentences with a held-out value are in `held_out_values`, a quarter each in dev
    and in test.
    """
    if not any(map(is_held_out, values)):
        return share(source)
    number = crc32(source.encode()) % 100
    return "held_out_values" if number < 50 else "dev" if number < 75 else "test"


def _clause(rng: Draw, split: str) -> Iterator[GrammarPair]:
    """A clause of this split, or nothing where the clause drawn belongs to another."""
    tree = choose_long(rng) if split == "long" else choose_wide(rng)
    source = read_english(tree)
    phenomena, meetings = describe(tree)
    kind = "long" if split == "long" else ""
    if has_held_out_construction(phenomena):
        kind = "held_out_constructions"
    elif has_held_out_word(meetings):
        kind = "held_out_words"
    names = frozenset(f"name:{name}" for name in _names(tree))
    if kind and any(map(is_held_out, names)):
        return  # held out for two reasons: it fits no split
    if (kind or split_of(english_text(source), names)) == split:
        pair = write(tree, source, phenomena)
        if is_long(pair) if split == "long" else is_short(pair):
            yield pair


def _names(tree: Clause) -> Iterator[str]:
    for phrase in chain.from_iterable(map(phrases, clauses(tree))):
        for part in phrase.parts or (phrase,):
            if part.name and part.name != "there":
                yield part.name
