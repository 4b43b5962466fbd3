"""Choosing who and what a clause is about: pronouns, names, nouns, couples, places."""

from functools import cache
from random import Random

from .choose_noun import choose_noun, common
from .closed_class import names, prepositions, pronouns
from .lexicon import Adverbial, Pronoun, Tags
from .syntax import NounPhrase, Place

DEFINITE = frozenset({"the", "possessive", "demonstrative"})
SINGLE = DEFINITE | {"a"}
_HUMAN = frozenset({"human"})
_PEOPLE = ("I", "you", "he", "she", "we", "they")
# Names and nouns practise the third person; je, tu and nous have only the pronouns.
_SUBJECT_WEIGHTS = (0.22, 0.43, 0.55, 0.68, 0.88, 1.0)
_COMPANIONS = frozenset({"kin", "friend"})
# Within these, a pronoun for the subject and one for the object mean the same person.
_SAME = {"I": ("I", "we"), "we": ("I", "we"), "you": ("you",)}


def from_pronoun(pronoun: Pronoun) -> NounPhrase:
    """A pronoun as a noun phrase."""
    return NounPhrase(pronoun.person, pronoun.plural, pronoun.feminine, pronoun)


def name(rng: Random) -> NounPhrase:
    """Somebody's first name."""
    who, feminine = rng.choice(names())
    return NounPhrase(feminine=feminine, name=who)


def subject(rng: Random, tags: Tags) -> NounPhrase:
    """A subject: for what people do half of the time a pronoun or a name."""
    if "human" not in tags or rng.random() < (0.27 if len(tags) == 1 else 0.45):
        return owned(rng, common(rng, choose_noun(rng, tags)))
    draw = rng.random()
    if draw < 0.7:
        who = rng.choices(_PEOPLE, cum_weights=_SUBJECT_WEIGHTS)[0]
        return from_pronoun(pronouns()[who])
    return name(rng) if draw < 0.955 else couple(rng)


def owned(rng: Random, np: NounPhrase) -> NounPhrase:
    """Now and then somebody's instead of mine: `Paul's sister`, `the teacher's car`."""
    possessive = np.determiner and np.determiner.name in _POSSESSIVE and not np.adjective
    if possessive and rng.random() < 0.35:
        np.determiner = None
        if rng.random() < 0.7:
            np.possessor = name(rng)
        else:
            owner = common(rng, choose_noun(rng, frozenset({"grown"})), frozenset({"the"}))
            owner.adjective, owner.plural = None, False
            np.possessor = owner
    return np


_POSSESSIVE = frozenset({"my", "your", "his", "her", "our", "their"})


def couple(rng: Random) -> NounPhrase:
    """Two names joined by `and`; feminine only if both are."""
    left, right = name(rng), name(rng)
    while right.name == left.name:
        right = name(rng)
    return NounPhrase(3, True, left.feminine and right.feminine, parts=(left, right))


def person(rng: Random, other: NounPhrase, pronoun_rate: float) -> NounPhrase:
    """Somebody else than `other`, for receivers and objects."""
    draw = rng.random()
    if draw < pronoun_rate:
        same = _SAME.get(other.pronoun.subject, ()) if other.pronoun else ()
        return from_pronoun(pronouns()[rng.choice([p for p in _PEOPLE if p not in same])])
    if draw < pronoun_rate + 0.25:
        someone = name(rng)
        return someone if someone.name != other.name else person(rng, other, pronoun_rate)
    return owned(rng, common(rng, choose_noun(rng, _HUMAN), SINGLE))


def thing_pronoun(rng: Random) -> NounPhrase:
    """It or them."""
    return from_pronoun(pronouns()["it" if rng.random() < 0.6 else "they"])


@cache
def _prepositions(figure: str) -> tuple[Adverbial, ...]:
    return tuple(p for p in prepositions() if p.when in figure.split())


def place(rng: Random, figure: str) -> Place:
    """Where an `animate`, an `animate animal` or a `thing` can be."""
    preposition = rng.choice(_prepositions(figure))
    np = common(rng, choose_noun(rng, frozenset({preposition.slot})), DEFINITE)
    np.plural = False
    return Place(preposition, np)


def _fixed(english: str) -> Adverbial:
    return next(p for p in prepositions() if p.english == (english,))


def company(rng: Random, subject: NounPhrase, english: str = "with") -> Place:
    """`with Paul`, `for my mother`, `with us`."""
    if rng.random() < 0.6:
        return Place(_fixed(english), person(rng, subject, 0.5))
    np = owned(rng, common(rng, choose_noun(rng, _COMPANIONS), frozenset({"possessive"})))
    np.adjective = None
    return Place(_fixed(english), np)
