"""Draws statements and yes-no questions, one function for each construction.

`featured` begins with a noun instead of a verb, so that every noun of a large lexicon occurs.
"""

from collections.abc import Callable
from functools import cache
from itertools import accumulate, combinations

from .choose_clause import clause, in_frame, settle
from .choose_phrase import (
    DEFINITE,
    HUMAN,
    attributes,
    choose_noun,
    common,
    matching,
    name,
    owned,
    place,
    repeats,
    subject,
)
from .lexicon import Adjective, Noun, Tags, Verb
from .syntax import Clause, NounPhrase
from .vocabulary import Draw, Lexicon

BE = Verb(("be",), ("être",), False, "be", frozenset(), frozenset(), frozenset({"state"}))
THERE = Verb(("be",), ("avoir",), False, "there", frozenset(), frozenset(), frozenset({"state"}))
_PERSON = frozenset({"human", "adult"})
SMALL = frozenset({"small", "utensil", "readable", "toy", "fruit"})
_ANIMATE = frozenset({"human", "animal", "infant"})
_HABITAT = {"animate": _ANIMATE, "animal": frozenset({"pet"}), "thing": SMALL}
_TERMS = frozenset(
    {"model", "component", "layer", "hyper", "metric", "number_like", "data", "dataset", "method"}
    | {"program", "code", "codepart", "fault", "field", "concept", "gene", "protein", "cell"}
    | {"cellpart", "molecule", "tissue", "unit", "formula", "annotation"}
)
_TERM_WEIGHT = 3
_SUBJECT, _OBJECT = "subject", "object"


def plain(frame: str) -> Callable[[Draw], Clause]:
    """A statement or question around a verb of one frame."""
    return lambda rng: settle(rng, clause(rng, frame, rng.choice(in_frame(rng.lexicon, frame))))


def copula(rng: Draw) -> Clause:
    """`The soup is hot.` `Is Alice happy?`"""
    adjective = rng.choice(_predicable(rng.lexicon))
    c = Clause("copula", BE, _described(rng, adjective))
    c.adjective = adjective
    return settle(rng, c)


@cache
def _predicable(lexicon: Lexicon) -> tuple[Adjective, ...]:
    """The adjectives that may follow *be*: not *former*."""
    return tuple(a for a in lexicon.adjectives if a.predicative)


def _described(rng: Draw, adjective: Adjective) -> NounPhrase:
    if adjective.tags & _PERSON and rng.random() < 0.55:
        return subject(rng, HUMAN) if adjective.tags & HUMAN else name(rng)
    noun = choose_noun(rng, _describable(adjective))
    while repeats(adjective, noun):
        noun = choose_noun(rng, _describable(adjective))
    np = common(rng, noun, DEFINITE)
    np.adjective = None
    return np


def _describable(adjective: Adjective) -> Tags:
    """The tags of the nouns it may describe; "the doctor is new" is no "new doctor"."""
    return adjective.tags - {"skilled"} if adjective.position == "before" else adjective.tags


def comparison(rng: Draw) -> Clause:
    """`Paul is taller than Alice.`"""
    c = copula(rng)
    c.adjective = rng.choice(_graded(rng.lexicon))
    c.construction, c.subject = "comparison", _described(rng, c.adjective)
    c.standard = _described(rng, c.adjective)
    while _clashes(c.subject, c.standard):
        c.subject, c.standard = _described(rng, c.adjective), _described(rng, c.adjective)
    return c


@cache
def _graded(lexicon: Lexicon) -> tuple[Adjective, ...]:
    """The adjectives with a comparative that people or two nouns of a kind share."""
    return tuple(a for a in lexicon.adjectives if a.comparative and _has_two(lexicon, a))


def _has_two(lexicon: Lexicon, adjective: Adjective) -> bool:
    if adjective.tags & _PERSON:
        return True
    found, _ = matching(lexicon, _describable(adjective))
    return any(
        _alike(left, right) and ("plural" in left.tags) == ("plural" in right.tags)
        for left, right in combinations(found, 2)
    )


def _clashes(left: NounPhrase, right: NounPhrase) -> bool:
    """Whether two nouns are of different kinds (a sad king, a sad film) or the same."""
    if not (left.noun and right.noun):
        return bool(left.noun or right.noun or left.parts or right.parts) or left.name == right.name
    return not _alike(left.noun, right.noun) or left.plural != right.plural


def _alike(left: Noun, right: Noun) -> bool:
    shared = left.tags & right.tags - {"openable", "breakable", "fixable"}
    return left is not right and bool(shared)


def location(rng: Draw) -> Clause:
    """`The key is on the table.`"""
    figure = rng.choice(("animate", "animal", "thing", "thing"))
    if figure == "animate" and rng.random() < 0.5:
        who = subject(rng, HUMAN)
    else:
        who = common(rng, _placeable(rng, _HABITAT[figure]), DEFINITE)
    c = Clause("location", BE, who)
    c.places = [place(rng, "thing" if figure == "thing" else "animate")]
    if figure == "animal":
        c.places = [place(rng, "animate animal")]
    return settle(rng, c)


def _placeable(rng: Draw, tags: Tags) -> Noun:
    """A noun that can be in a place: a book, but not a paragraph."""
    noun = choose_noun(rng, tags)
    while "intangible" in noun.tags:
        noun = choose_noun(rng, tags)
    return noun


def existential(rng: Draw) -> Clause:
    """`There is a cat in the garden.`"""
    figure = rng.choice(("animate", "animal", "thing"))
    indefinite = frozenset({"a", "number", "quantity"})
    noun = _placeable(rng, _HABITAT[figure])
    while "kin" in noun.tags:
        noun = _placeable(rng, _HABITAT[figure])
    what = common(rng, noun, indefinite)
    c = Clause("existential", THERE, NounPhrase(plural=what.plural, name="there"), direct=what)
    c.places = [place(rng, {"animal": "animate animal"}.get(figure, figure))]
    return settle(rng, c)


def featured(rng: Draw) -> Clause:
    """A statement or question about a noun drawn from the whole lexicon."""
    lexicon = rng.lexicon
    noun = rng.choices(lexicon.nouns, cum_weights=_weights(lexicon))[0]
    uses, adjectives = _uses(lexicon, noun), _adjectives(lexicon, noun)
    if adjectives and (not uses or rng.random() < 0.25):
        return _described_noun(rng, noun, adjectives)
    return _used(rng, noun, uses) if uses else featured(rng)


def _described_noun(rng: Draw, noun: Noun, adjectives: tuple[Adjective, ...]) -> Clause:
    np = common(rng, noun, DEFINITE)
    np.adjective = None
    c = Clause("copula", BE, np)
    c.adjective = rng.choice(adjectives)
    return settle(rng, c)


def _used(rng: Draw, noun: Noun, uses: tuple[tuple[Verb, str], ...]) -> Clause:
    verb, role = rng.choice(uses)
    if role == _SUBJECT:
        return settle(rng, clause(rng, verb.frame, verb, owned(rng, common(rng, noun))))
    c = clause(rng, verb.frame, verb)
    indefinite = frozenset({"a", "number", "quantity"} if "indefinite" in verb.features else ())
    c.direct = owned(rng, common(rng, noun, indefinite))
    return settle(rng, c)


@cache
def _weights(lexicon: Lexicon) -> tuple[int, ...]:
    return tuple(accumulate(_TERM_WEIGHT if n.tags & _TERMS else 1 for n in lexicon.nouns))


@cache
def _uses(lexicon: Lexicon, noun: Noun) -> tuple[tuple[Verb, str], ...]:
    """The verbs that take the noun as their object or, if it is no person, as their subject."""
    rows = in_frame(lexicon, "object", "give")
    found = [(verb, _OBJECT) for verb in rows if verb.objects & noun.tags]
    acting = in_frame(lexicon, "object", "intransitive")
    subjects = [v for v in acting if v.subjects & noun.tags and "human" not in noun.tags]
    return (*found, *((verb, _SUBJECT) for verb in subjects))


@cache
def _adjectives(lexicon: Lexicon, noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may follow *the noun is*; of people none that French puts before them.

    *A new doctor* and *the doctor is new* say different things.
    """
    found = attributes(lexicon, noun)
    return tuple(a for a in found if a.position != "before" or "human" not in noun.tags)
