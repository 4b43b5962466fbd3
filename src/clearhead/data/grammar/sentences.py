"""Draws a sentence: one construction by weight, both sides written from its tree."""

from collections.abc import Callable, Sequence
from itertools import accumulate

from . import complex_sentences, english, french, statements
from .bitext import (
    GrammarPair,
    Word,
    align,
    align_surely,
    english_text,
    french_text,
    join_french,
    word,
)
from .lexicon import determiners
from .questions import asking
from .syntax import Clause, clauses
from .vocabulary import Draw

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
    (asking("where"), 1.5),
    (asking("why"), 1),
    (asking("when"), 1),
    (asking("who"), 1.5),
    (asking("what"), 1.5),
    (asking("how many"), 2.5),
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
    return word(mark, ("end", 0))


def write(sentence: Clause, source: Sequence[Word], phenomena: set[str]) -> GrammarPair:
    """The pair of a tree; its English words and its phenomena are known already."""
    loose = [*french.clause(sentence), _mark(sentence)]
    target = join_french(loose)
    found = phenomena | _surface_phenomena(loose, target)
    return GrammarPair(
        english_text(source),
        french_text(target),
        align(source, target),
        align_surely(source, target),
        frozenset(found),
        sentence.construction,
    )


def _surface_phenomena(loose: Sequence[Word], target: Sequence[Word]) -> set[str]:
    elided = {"elision"} if any(item.text.endswith("'") for item in target) else set()
    return elided | ({"contraction"} if len(target) < len(loose) else set())
