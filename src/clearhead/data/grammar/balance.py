"""Weights under which all nouns, and all adjectives, turn up about equally often.

A noun that many verbs accept would otherwise be drawn by each of them, and a
learner would meet `key` ten times for every `piano`.
"""

from functools import cache

from .closed_class import prepositions
from .lexicon import Adjective, Tags, adjectives, nouns, verbs

_ROUNDS = 25
_STEP = 0.6  # damped: a noun with one verb only can never reach the mean


@cache
def noun_weights() -> dict[str, float]:
    """A weight for every noun, by English name, found by a few rounds of correction."""
    weights = {noun.english: 1.0 for noun in nouns()}
    groups = [names for names in map(_members, _draws()) if names]
    for _ in range(_ROUNDS):
        met = dict.fromkeys(weights, 1e-9)
        for names in groups:
            total = sum(weights[name] for name in names)
            for name in names:
                met[name] += weights[name] / total
        mean = sum(met.values()) / len(met)
        for name, often in met.items():
            weights[name] *= (mean / often) ** _STEP
    return weights


def _draws() -> list[Tags]:
    """The sets of tags that nouns are drawn from, one entry for each occasion."""
    objects = [verb.objects for verb in verbs()]
    subjects = [verb.subjects for verb in verbs()]
    places = [frozenset({preposition.slot}) for preposition in prepositions()]
    return objects + objects + subjects + places + [a.tags for a in adjectives()]


def _members(tags: Tags) -> list[str]:
    return [noun.english for noun in nouns() if noun.tags & tags]


@cache
def adjective_weight(adjective: Adjective) -> float:
    """Adjectives that suit few nouns are taken more often where they do.

    So are beau, nouveau and vieux, or bel, nouvel and vieil would hardly be met.
    """
    rare = 3 if adjective.before_vowel else 1
    return float(rare / (1 + len(_members(adjective.tags))) ** 0.7)
