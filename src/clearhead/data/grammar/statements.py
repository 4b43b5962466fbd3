"""Draws statements and questions, one function for each construction or question word.

`featured` begins with a noun instead of a verb, so that every noun of a large lexicon occurs.
"""

from collections.abc import Callable
from functools import cache
from itertools import accumulate, combinations

from .choose_clause import INDEFINITE, clause, finish, in_frame, settle
from .choose_phrase import (
    DEFINITE,
    HUMAN,
    alike,
    attributes,
    choose_noun,
    clashes,
    common,
    from_pronoun,
    matching,
    name,
    owned,
    place,
    repeats,
    subject,
)
from .lexicon import Adjective, Noun, Tags, Verb, pronouns
from .syntax import BE, THERE, Clause, NounPhrase
from .vocabulary import Draw, Lexicon

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
_UNCOUNTED = frozenset({"mass", "single", "sport", "plural"})
_INTANGIBLE = frozenset({"intangible"})  # never in a place: a paragraph
_COUNTED = frozenset(
    {"see", "buy", "sell", "find", "lose", "read", "write", "eat", "visit", "draw", "wash"}
    | {"choose", "break", "invite", "repair", "carry", "correct", "steal"}
)
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
    while clashes(c.subject, c.standard):
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
        alike(left, right) and ("plural" in left.tags) == ("plural" in right.tags)
        for left, right in combinations(found, 2)
    )


def location(rng: Draw) -> Clause:
    """`The key is on the table.`"""
    figure = rng.choice(("animate", "animal", "thing", "thing"))
    if figure == "animate" and rng.random() < 0.5:
        who = subject(rng, HUMAN)
    else:
        who = common(rng, choose_noun(rng, _HABITAT[figure], _INTANGIBLE), DEFINITE)
    c = Clause("location", BE, who)
    c.places = [place(rng, "thing" if figure == "thing" else "animate")]
    if figure == "animal":
        c.places = [place(rng, "animate animal")]
    return settle(rng, c)


def existential(rng: Draw) -> Clause:
    """`There is a cat in the garden.`"""
    figure = rng.choice(("animate", "animal", "thing"))
    what = common(rng, choose_noun(rng, _HABITAT[figure], _INTANGIBLE | {"kin"}), INDEFINITE)
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
    only = INDEFINITE if "indefinite" in verb.features else frozenset()
    c.direct = owned(rng, common(rng, noun, only))
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


def asking(mood: str) -> Callable[[Draw], Clause]:
    """The function that draws questions with this question word."""

    def choose(rng: Draw) -> Clause:
        if mood == "where" and rng.random() < 0.5:
            return _where_is(rng)
        verb = rng.choice(_asked_verbs(rng.lexicon, mood))
        who = from_pronoun(pronouns()["he"]) if mood == "who" else _asked(rng, verb)
        c = clause(rng, f"wh_{mood.replace(' ', '_')}", verb, who)
        if mood == "what":
            c.direct = None
        if mood == "how many":
            noun = choose_noun(rng, verb.objects, _UNCOUNTED)
            c.direct = NounPhrase(plural=True, feminine=noun.feminine, noun=noun)
        settle(rng, c, mood, "positive" if mood != "why" else "")
        return finish(_timed(rng, c))

    return choose


def _asked(rng: Draw, verb: Verb) -> NounPhrase:
    """A subject other than *I*: `Where am I singing?` is unusual."""
    who = subject(rng, verb.subjects)
    while who.pronoun and who.pronoun.subject == "I":
        who = subject(rng, verb.subjects)
    return who


def _timed(rng: Draw, c: Clause) -> Clause:
    if c.mood == "when" and c.tense == "present":
        c.tense, c.modal = rng.choice(("past", "future")), ""
    if c.mood in ("what", "how many", "where", "why"):
        c.adverbs = [a for a in c.adverbs if a.slot == "time" and a.when != "habitual"]
    return c


def _where_is(rng: Draw) -> Clause:
    tags = rng.choice((SMALL, frozenset({"kin", "pet", "goto"})))
    np = common(rng, choose_noun(rng, tags, _INTANGIBLE), DEFINITE)
    c = settle(rng, Clause("where_is", BE, np), "where", "positive")
    c.tense = "present" if c.tense == "future" else c.tense
    return c


@cache
def _asked_verbs(lexicon: Lexicon, mood: str) -> list[Verb]:
    """The verbs of the questions with this question word."""
    found = in_frame(lexicon, *_ASKED[mood])
    if mood == "when":
        return [v for v in found if "state" not in v.features]
    active = [v for v in found if "human" in v.subjects and not {"state", "être"} & v.features]
    if mood == "where":
        return [v for v in active if "place" in v.features]
    if mood == "what":
        active = [v for v in active if not {"human", "animal", "heard"} & v.objects]
        return [v for v in active if "explicit" not in v.features]
    if mood == "how many":
        active = [v for v in active if v.lemma in _COUNTED]
        return [v for v in active if any(map(_is_countable, matching(lexicon, v.objects)[0]))]
    return active


def _is_countable(noun: Noun) -> bool:
    return not _UNCOUNTED & noun.tags


# The frames of the verbs with which each question word is used.
_ASKED = {
    "where": ("intransitive", "object", "de", "à"),
    "why": ("intransitive", "object", "give"),
    "when": ("intransitive", "object"),
    "who": ("intransitive", "object", "give"),
    "what": ("object",),
    "how many": ("object",),
}
