"""A sentence of the corpus: one construction drawn by weight, both sides read off its tree."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from . import (
    combinations,
    constructions,
    english,
    english_clause,
    french_clause,
    french_surface,
    relatives,
)
from .bitext import Pairs, Word, align, align_surely, word
from .questions import asking
from .syntax import Clause

Chooser = Callable[[Random], Clause]

CONSTRUCTIONS: tuple[tuple[Chooser, float], ...] = (
    (constructions.plain("intransitive"), 12),
    (constructions.plain("object"), 30),
    (constructions.plain("generic"), 2),
    (constructions.plain("de"), 3.5),
    (constructions.plain("à"), 4),
    (constructions.plain("dans"), 1),
    (constructions.plain("give"), 9),
    (constructions.plain("become"), 1),
    (constructions.plain("idiom"), 2),
    (constructions.copula, 11),
    (constructions.comparison, 4),
    (constructions.location, 3),
    (constructions.existential, 3),
    (asking("where"), 1.5),
    (asking("why"), 1),
    (asking("when"), 1),
    (asking("who"), 1.5),
    (asking("what"), 1.5),
    (asking("how many"), 2.5),
    (combinations.imperative, 4),
    (combinations.reported, 4),
    (combinations.because, 1.5),
    (combinations.coordination, 1.5),
    (relatives.modified, 8),
)
_WEIGHTS = tuple(accumulate(weight for _, weight in CONSTRUCTIONS))


class GrammarPair(NamedTuple):
    """An English sentence, its French, and how they came about."""

    source: str
    target: str
    alignment: Pairs  # (source word, target word), 0-based over words()
    sure: Pairs  # those of `alignment` that every annotator would draw
    phenomena: frozenset[str]
    construction: str


def choose(rng: Random) -> Clause:
    """A sentence's tree."""
    return rng.choices(CONSTRUCTIONS, cum_weights=_WEIGHTS)[0][0](rng)


def read_english(sentence: Clause) -> list[Word]:
    """The English words of a tree, final mark included."""
    return [*english_clause.clause(sentence), _mark(sentence)]


def _mark(sentence: Clause) -> Word:
    mark = "?" if sentence.asks else "!" if sentence.mood == "imperative" else "."
    return word(mark, ("end", 0))


def write(sentence: Clause, source: Sequence[Word], phenomena: set[str]) -> GrammarPair:
    """The pair of a tree whose English words and phenomena are known already."""
    loose = [*french_clause.clause(sentence), _mark(sentence)]
    target = french_surface.join(loose)
    found = phenomena | _surface_phenomena(loose, target)
    return GrammarPair(
        english.text(source),
        french_surface.text(target),
        align(source, target),
        align_surely(source, target),
        frozenset(found),
        sentence.construction,
    )


def _surface_phenomena(loose: Sequence[Word], target: Sequence[Word]) -> set[str]:
    elided = {"elision"} if any(item.text.endswith("'") for item in target) else set()
    return elided | ({"contraction"} if len(target) < len(loose) else set())
