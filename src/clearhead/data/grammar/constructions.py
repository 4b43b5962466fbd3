"""Statements and yes-no questions: for each construction, how a sentence of it is chosen."""

from collections.abc import Callable
from random import Random

from .choose_clause import clause, in_frame
from .choose_noun import choose_noun, common
from .choose_phrase import DEFINITE, name, place, subject
from .lexicon import Adjective, Verb, adjectives
from .settle import settle
from .syntax import Clause, NounPhrase

BE = Verb(("be",), ("être",), False, "be", frozenset(), frozenset(), frozenset({"state"}))
THERE = Verb(("be",), ("avoir",), False, "there", frozenset(), frozenset(), frozenset({"state"}))
_HUMAN = frozenset({"human"})
_PERSON = frozenset({"human", "adult"})
SMALL = frozenset({"small", "utensil", "readable", "toy", "fruit"})
_ANIMATE = frozenset({"human", "animal", "infant"})
_HABITAT = {"animate": _ANIMATE, "animal": frozenset({"pet"}), "thing": SMALL}


def plain(frame: str) -> Callable[[Random], Clause]:
    """A statement or question around a verb of one frame."""
    return lambda rng: settle(rng, clause(rng, frame, rng.choice(in_frame(frame))))


def copula(rng: Random) -> Clause:
    """`The soup is hot.` `Is Alice happy?`"""
    adjective = rng.choice(adjectives())
    c = Clause("copula", BE, _described(rng, adjective))
    c.adjective = adjective
    return settle(rng, c)


def _described(rng: Random, adjective: Adjective) -> NounPhrase:
    if adjective.tags & _PERSON and rng.random() < 0.55:
        return subject(rng, _HUMAN) if adjective.tags & _HUMAN else name(rng)
    # A new doctor is a doctor, but "the doctor is new" says something else.
    tags = adjective.tags - {"skilled"} if adjective.place == "before" else adjective.tags
    np = common(rng, choose_noun(rng, tags), DEFINITE)
    np.adjective = None
    return np


def comparison(rng: Random) -> Clause:
    """`Paul is taller than Alice.`"""
    graded = [a for a in adjectives() if a.comparative]
    c = copula(rng)
    c.adjective = rng.choice(graded)
    c.construction, c.subject = "comparison", _described(rng, c.adjective)
    c.standard = _described(rng, c.adjective)
    while _clashes(c.subject, c.standard):
        c.subject, c.standard = _described(rng, c.adjective), _described(rng, c.adjective)
    return c


def _clashes(left: NounPhrase, right: NounPhrase) -> bool:
    """Two of different kinds (a king and a film can both be sad), or the same one twice."""
    if not (left.noun and right.noun):
        return bool(left.noun or right.noun or left.parts or right.parts) or left.name == right.name
    alike = left.noun.tags & right.noun.tags - {"openable", "breakable", "fixable"}
    return left.noun is right.noun or not alike or left.plural != right.plural


def location(rng: Random) -> Clause:
    """`The key is on the table.`"""
    figure = rng.choice(("animate", "animal", "thing", "thing"))
    if figure == "animate" and rng.random() < 0.5:
        who = subject(rng, _HUMAN)
    else:
        who = common(rng, choose_noun(rng, _HABITAT[figure]), DEFINITE)
    c = Clause("location", BE, who)
    c.places = [place(rng, "thing" if figure == "thing" else "animate")]
    if figure == "animal":
        c.places = [place(rng, "animate animal")]
    return settle(rng, c)


def existential(rng: Random) -> Clause:
    """`There is a cat in the garden.`"""
    figure = rng.choice(("animate", "animal", "thing"))
    indefinite = frozenset({"a", "number", "quantity"})
    noun = choose_noun(rng, _HABITAT[figure])
    while "kin" in noun.tags:
        noun = choose_noun(rng, _HABITAT[figure])
    what = common(rng, noun, indefinite)
    c = Clause("existential", THERE, NounPhrase(plural=what.plural, name="there"), direct=what)
    c.places = [place(rng, {"animal": "animate animal"}.get(figure, figure))]
    return settle(rng, c)
