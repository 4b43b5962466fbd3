"""Sentences with a relative clause on one of their nouns."""

from random import Random

from .choose_clause import relative
from .closed_class import determiners
from .constructions import BE, copula, plain
from .settle import settle, shortest
from .syntax import Clause, NounPhrase, phrases

_CONSUMED = frozenset({"eat", "drink", "break"})


def modified(rng: Random) -> Clause:
    """A sentence with a relative clause: `The girl who is singing likes cats.`"""
    while True:
        c = plain(rng.choice(("object", "object", "intransitive")))(rng)
        if rng.random() < 0.3:
            c = copula(rng)
        if c.polarity == "never" or not modify(rng, c):
            continue
        c.construction = "relative"
        return shortest(c)


def modify(rng: Random, c: Clause) -> bool:
    """Hang a relative clause on one of the nouns; False if none can carry one."""
    owners = [np.possessor for np in phrases(c)]
    fit = [np for np in phrases(c) if np.noun and not _closed(np) and np not in owners]
    if not fit:
        return False
    np = rng.choice(fit)
    inner = relative(rng, np)
    if inner is None or inner.verb.lemma == c.verb.lemma or _is_gone(inner, c):
        return False
    np.determiner, np.adjective, np.scope, np.bare = determiners()["the"], None, "", False
    settle(rng, inner, "statement", "positive" if rng.random() < 0.9 else "not")
    if inner.tense == "future":
        inner.tense = "past"
    shortest(inner)
    np.relative = inner
    return True


def _is_gone(inner: Clause, c: Clause) -> bool:
    """What was eaten can still be spoken of, but nothing can be done with it."""
    return inner.verb.lemma in _CONSUMED and inner.extracted == "direct" and c.verb is not BE


def _closed(np: NounPhrase) -> bool:
    assert np.noun
    return bool({"kin", "sport", "known_person"} & np.noun.tags or np.possessor)
