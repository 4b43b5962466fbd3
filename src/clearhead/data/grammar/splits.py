"""Draws the pairs of both grammars: a construction by weight, both sides from its tree, by split.

The splits are disjoint by construction: a sentence's own text, words and values decide to which
split it belongs, so no seed can move it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from zlib import crc32

from clearhead.errors import UserError

from . import bitext, complex_sentences, english, french, statements
from .bitext import GrammarPair, Word, english_text
from .lexicon import determiners
from .productions.carriers import carry
from .syntax import Clause, clauses, describe, held_out_split, phrases
from .vocabulary import Draw, small, wide

SPLITS = ("train", "dev", "test", "held_out_words", "held_out_constructions", "long")
LONGEST = 14  # words on either side, punctuation included; `long` has more on both
WIDE_SPLITS = (*SPLITS, "held_out_values")
PRODUCTION_RATE = 0.45  # the share of sentences with a production
HELD_OUT_PERCENT = 8  # of names, numbers, dates, times and copied texts
_CLAUSES_ONLY = frozenset({"held_out_words", "held_out_constructions", "long"})

Chooser = Callable[[Draw], Clause]

CONSTRUCTIONS: tuple[tuple[Chooser, float], ...] = (
    (statements.plain("intransitive"), 12),
    (statements.plain("object"), 30),
    (statements.plain("generic"), 2),
    (statements.plain("de"), 3.5),
    (statements.plain("à"), 4),
    (statements.plain("dans"), 1),
    (statements.plain("give"), 9),
    (statements.plain("become"), 1),
    (statements.plain("idiom"), 2),
    (statements.copula, 11),
    (statements.comparison, 4),
    (statements.location, 3),
    (statements.existential, 3),
    (statements.asking("where"), 1.5),
    (statements.asking("why"), 1),
    (statements.asking("when"), 1),
    (statements.asking("who"), 1.5),
    (statements.asking("what"), 1.5),
    (statements.asking("how many"), 2.5),
    (complex_sentences.imperative, 4),
    (complex_sentences.reported, 4),
    (complex_sentences.because, 1.5),
    (complex_sentences.coordination, 1.5),
    (complex_sentences.with_relative, 8),
)
_WEIGHTS = tuple(accumulate(weight for _, weight in CONSTRUCTIONS))
# The wide lexicon has verbs with more prepositions: travailler sur, lutter contre.
WIDE_CONSTRUCTIONS: tuple[tuple[Chooser, float], ...] = (
    *CONSTRUCTIONS,
    (statements.featured, 45),
    (statements.plain("sur"), 1),
    (statements.plain("avec"), 1),
    (statements.plain("contre"), 0.7),
    (statements.plain("pour"), 0.7),
)
_WIDE_WEIGHTS = tuple(accumulate(weight for _, weight in WIDE_CONSTRUCTIONS))


def generate(split: str, seed: int = 0) -> Iterator[GrammarPair]:
    """Endless pairs of one split; the same seed gives the same pairs on every machine.

    A sentence may occur again, but never in another split, whatever the seeds.

    Raises:
        UserError: there is no such split.
    """
    check_split(split, SPLITS)
    rng = Draw.of(small(), crc32(f"{split} {seed}".encode()))
    while True:
        tree = complex_sentences.choose_long(rng) if split == "long" else choose(rng)
        yield from _in_split(split, tree, frozenset())


def check_split(split: str, known: Sequence[str]) -> None:
    """Refuse the name of a split that a grammar has not."""
    if split not in known:
        raise UserError(f"grammar split {split!r} is unknown; choose one of {', '.join(known)}")


def share(source: str) -> str:
    """The split of a sentence by a checksum of its English text, so that it never changes.

    Ninety percent are for training, five for dev, five for test.
    """
    number = crc32(source.encode()) % 100
    return "train" if number < 90 else "dev" if number < 95 else "test"


def generate_wide(split: str, seed: int = 0) -> Iterator[GrammarPair]:
    """Endless pairs of one split of the wide grammar, the same for the same seed."""
    check_split(split, WIDE_SPLITS)
    rng = Draw.of(wide(), crc32(f"wide {split} {seed}".encode()))
    while True:
        if split in _CLAUSES_ONLY or rng.random() >= PRODUCTION_RATE:
            tree = complex_sentences.choose_long(rng) if split == "long" else choose_wide(rng)
            names = frozenset(f"name:{name}" for name in _names(tree))
            yield from _in_split(split, tree, names)
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


def _in_split(split: str, tree: Clause, values: frozenset[str]) -> Iterator[GrammarPair]:
    """The pair of a tree with these values, or nothing where it belongs to another split."""
    source = read_english(tree)
    by_text = split not in _CLAUSES_ONLY
    if by_text and split_of(english_text(source), values) != split:
        return
    if not by_text and any(map(is_held_out, values)):
        return  # held out for two reasons: it fits no split
    phenomena, meetings = describe(tree)
    kind = held_out_split(phenomena, meetings) or ("long" if split == "long" else "")
    if kind == ("" if by_text else split):
        pair = write(tree, source, phenomena)
        lengths = [index + 1 for index in pair.alignment[-1]]  # of the final marks
        if min(lengths) > LONGEST if split == "long" else max(lengths) <= LONGEST:
            yield pair


def _names(tree: Clause) -> Iterator[str]:
    for phrase in chain.from_iterable(map(phrases, clauses(tree))):
        for part in phrase.parts or (phrase,):
            if part.name and part.name != "there":
                yield part.name


def choose(rng: Draw) -> Clause:
    """A sentence's tree."""
    return rng.choices(CONSTRUCTIONS, cum_weights=_WEIGHTS)[0][0](rng)


def choose_wide(rng: Draw) -> Clause:
    """A sentence's tree in the wide grammar."""
    tree = rng.choices(WIDE_CONSTRUCTIONS, cum_weights=_WIDE_WEIGHTS)[0][0](rng)
    for clause in clauses(tree):
        _make_negated_subject_definite(clause)
    return tree


def _make_negated_subject_definite(clause: Clause) -> None:
    """Replace *some* before a negated verb: *Des virus n'affectent pas* is hardly French."""
    subject = clause.subject
    if clause.polarity == "positive" or not (subject.noun and subject.determiner):
        return
    if subject.determiner.name == "a" and (subject.plural or "mass" in subject.noun.tags):
        subject.determiner = determiners()["the"]


def read_english(sentence: Clause) -> list[Word]:
    """The English words of a tree, final mark included."""
    return [*english.clause(sentence), _mark(sentence)]


def _mark(sentence: Clause) -> Word:
    mark = "?" if sentence.asks else "!" if sentence.mood == "imperative" else "."
    return bitext.word(mark, ("end", 0))


def write(sentence: Clause, source: Sequence[Word], phenomena: set[str]) -> GrammarPair:
    """The pair of a tree; its English words and its phenomena are known already."""
    loose = [*french.clause(sentence), _mark(sentence)]
    target = bitext.join_french(loose)
    elision = {"elision"} if any(item.text.endswith("'") for item in target) else set()
    contraction = {"contraction"} if len(target) < len(loose) else set()
    return GrammarPair(
        english_text(source),
        bitext.french_text(target),
        bitext.align(source, target),
        bitext.align(source, target, bitext.POSSIBLE),
        frozenset(phenomena | elision | contraction),
        sentence.construction,
    )


# The grammars by the name that a corpus has for them: `grammar:train:100`, `grammar:wide:…`.
GRAMMARS: dict[str, Callable[[str, int], Iterator[GrammarPair]]] = {
    "small": generate,
    "wide": generate_wide,
}
