"""The small and the wide lexicon as values, the random generator, and the weights of words.

The weights make all nouns, and all adjectives, occur about equally often. Without them a noun
that many verbs accept would be drawn by each of these, and a learner would read `key` ten
times for every `piano`.
"""

import math
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from clearhead.errors import UserError

from . import themes
from .lexicon import Adjective, Adverbial, Noun, Tags, Verb, first_names, names
from .themes import THEMES, Row, rows

_ROUNDS = 25
_STEP = 0.6  # damped: a noun with one verb only can never reach the mean


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Open-class words, adverbials, prepositions, and first names with their gender.

    `spread` limits how many times as often as usual a noun is taken, to balance them.
    """

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    verbs: tuple[Verb, ...]
    adverbials: tuple[Adverbial, ...]
    prepositions: tuple[Adverbial, ...]
    names: tuple[tuple[str, bool], ...]
    spread: float = math.inf


@cache
def small() -> Lexicon:
    """About 450 lemmas: the lexicon of the `first_light` recipe and of the lessons."""
    return _lexicon(themes.rows(themes.CORE), names())


@cache
def wide() -> Lexicon:
    """The small lexicon and the entries of all themes: about 3,900, each noun once."""
    found = [row for theme in THEMES for row in rows(theme)]
    check_unique(found)
    core, more = small(), _lexicon(found, first_names())
    return Lexicon(
        core.nouns + more.nouns,
        core.adjectives + more.adjectives,
        _explicit(core.verbs + more.verbs),
        core.adverbials + more.adverbials,
        core.prepositions + more.prepositions,
        core.names + more.names,
        spread=6.0,
    )


def _lexicon(found: list[Row], names: tuple[tuple[str, bool], ...]) -> Lexicon:
    return Lexicon(
        tuple(themes.noun(row) for row in found if row.kind == "noun"),
        tuple(themes.adjective(row) for row in found if row.kind == "adjective"),
        tuple(themes.verb(row) for row in found if row.kind == "verb"),
        tuple(themes.adverbial(row) for row in found if row.kind == "adverbial"),
        tuple(p for row in found if row.kind == "preposition" for p in themes.prepositions(row)),
        names,
    )


def _explicit(found: tuple[Verb, ...]) -> tuple[Verb, ...]:
    """Give verbs whose French depends on the object a noun as object, never a pronoun.

    *We catch the train* is *prendre*, *we catch it* what the first entry has, *attraper*.
    """
    first: dict[tuple[str, str], tuple[str, ...]] = {}
    return tuple(
        verb
        if first.setdefault((verb.lemma, verb.frame), verb.french) == verb.french
        else replace(verb, features=verb.features | {"explicit"})
        for verb in found
    )


def check_unique(found: list[Row]) -> None:
    """Check that no English noun occurs twice: it has one French noun and one gender."""
    seen = {noun.english: "core.tsv" for noun in small().nouns}
    for row in found:
        if row.kind == "noun" and seen.setdefault(row.english, row.where) != row.where:
            raise UserError(
                f"{row.where}: noun {row.english!r} is in {seen[row.english]} already; "
                "expected each English noun once"
            )


@cache
def noun_weights(lexicon: Lexicon) -> dict[str, float]:
    """A weight for every noun, by English name, found by a few rounds of correction."""
    weights = {noun.english: 1.0 for noun in lexicon.nouns}
    # `spread` limits the weights: in a small group one noun would be drawn nearly always.
    groups = [names for tags in _draws(lexicon) if (names := _members(lexicon, tags))]
    for _ in range(_ROUNDS):
        met = dict.fromkeys(weights, 1e-9)
        for names in groups:
            total = sum(weights[name] for name in names)
            for name in names:
                met[name] += weights[name] / total
        mean = sum(met.values()) / len(met)
        for name, often in met.items():
            raised = weights[name] * (mean / often) ** _STEP
            weights[name] = min(max(raised, 1 / lexicon.spread), lexicon.spread)
    return weights


def _draws(lexicon: Lexicon) -> list[Tags]:
    """The sets of tags by which nouns are drawn, one entry for each use."""
    objects = [verb.objects for verb in lexicon.verbs]
    subjects = [verb.subjects for verb in lexicon.verbs]
    places = [frozenset({preposition.slot}) for preposition in lexicon.prepositions]
    return objects + objects + subjects + places + [a.tags for a in lexicon.adjectives]


def _members(lexicon: Lexicon, tags: Tags) -> list[str]:
    return [noun.english for noun in lexicon.nouns if noun.tags & tags]


@cache
def adjective_weight(lexicon: Lexicon, adjective: Adjective) -> float:
    """Adjectives that suit few nouns are taken more often where they do.

    So are beau, nouveau and vieux, or bel, nouvel and vieil would hardly be met.
    """
    rare = 3 if adjective.before_vowel else 1
    return float(rare / (1 + len(_members(lexicon, adjective.tags))) ** 0.7)


class Draw(Random):
    """A `random.Random` with a lexicon; the same seed draws the same numbers as `Random`."""

    lexicon: Lexicon

    @classmethod
    def of(cls, lexicon: Lexicon, seed: int) -> "Draw":
        """A generator of this lexicon, seeded."""
        rng = cls(seed)
        rng.lexicon = lexicon
        return rng
