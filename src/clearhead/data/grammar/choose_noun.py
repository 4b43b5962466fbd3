"""Choosing a noun and what stands before it: determiner, number, adjective."""

from functools import cache
from itertools import accumulate
from random import Random

from .balance import adjective_weight, noun_weights
from .closed_class import determiners
from .lexicon import Adjective, Noun, Tags, adjectives, nouns
from .syntax import NounPhrase

Weights = tuple[tuple[str, float], ...]

_POSSESSIVES = ("my", "your", "his", "her", "our", "their")
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_GROUPS = {
    "possessive": _POSSESSIVES,
    "demonstrative": ("this", "that"),
    "number": _NUMBERS,
    "quantity": ("many", "several"),
}
_MASS = (("the", 45), ("a", 35), ("possessive", 14), ("demonstrative", 6))
_PLACE = (("the", 70), ("demonstrative", 20), ("a", 10))
_WILD = (("the", 42), ("a", 26), ("demonstrative", 10), ("number", 12), ("quantity", 5))
_COUNT = (*_WILD, ("possessive", 18))
_UNOWNED = frozenset({"human", "animal", "nature", "transit", "fixture"})
_ADJECTIVE_RATE = 0.24
_PLURAL_RATE = 0.3


@cache
def matching(tags: Tags) -> tuple[tuple[Noun, ...], tuple[float, ...]]:
    """The nouns that carry one of the tags, with cumulative weights."""
    found = tuple(noun for noun in nouns() if noun.tags & tags)
    weights = noun_weights()
    return found, tuple(accumulate(weights[noun.english] for noun in found))


def choose_noun(rng: Random, tags: Tags) -> Noun:
    """A noun that carries one of the tags."""
    found, weights = matching(tags)
    return rng.choices(found, cum_weights=weights)[0]


@cache
def attributes(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may stand beside the noun."""
    return tuple(a for a in adjectives() if a.tags & noun.tags and a.place != "predicate")


def _choices(noun: Noun) -> Weights:
    if "kin" in noun.tags:
        return (("possessive", 1),)
    if "sport" in noun.tags:
        return (("the", 1),)
    if "mass" in noun.tags:
        return _MASS
    if "place" in noun.tags and "mine" not in noun.tags:
        return _PLACE
    mine = not _UNOWNED & noun.tags or {"pet", "known_person"} & noun.tags
    return _COUNT if mine else _WILD


def determiner_name(rng: Random, noun: Noun, only: frozenset[str] = frozenset()) -> str:
    """A determiner that suits the noun, from the kinds in `only` if given."""
    choices = [(kind, w) for kind, w in _choices(noun) if not only or kind in only]
    kinds, weights = zip(*(choices or [("the", 1)]), strict=True)
    kind = rng.choices(kinds, weights)[0]
    return rng.choice(_GROUPS[kind]) if kind in _GROUPS else str(kind)


def common(rng: Random, noun: Noun, only: frozenset[str] = frozenset()) -> NounPhrase:
    """A noun phrase around `noun`; `only` limits the kinds of determiner."""
    name = determiner_name(rng, noun, only)
    fixed = {"mass", "single"} & noun.tags
    counted = name in (*_NUMBERS, *_GROUPS["quantity"])
    plural = counted or (not fixed and rng.random() < _PLURAL_RATE)
    np = NounPhrase(
        plural=plural,
        feminine=noun.feminine,
        noun=noun,
        determiner=determiners()[name],
        bare="sport" in noun.tags,
    )
    simple = not {"kin", "sport"} & noun.tags
    if simple and rng.random() < _ADJECTIVE_RATE and attributes(noun):
        fitting = attributes(noun)
        np.adjective = rng.choices(fitting, [adjective_weight(a) for a in fitting])[0]
    return np
