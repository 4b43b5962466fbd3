"""Sentences made of two clauses, and commands."""

from random import Random

from .choose_clause import clause, in_frame
from .choose_phrase import from_pronoun, name, subject
from .closed_class import determiners, pronouns
from .constructions import BE, copula, plain
from .lexicon import Pronoun, Verb, adjectives, verbs
from .settle import settle, shortest
from .syntax import Clause, NounPhrase

_HUMAN = frozenset({"human"})
_FEELINGS = {
    "smile": ("happy", "proud"),
    "cry": ("sad", "tired"),
    "sleep": ("tired", "sick"),
    "rest": ("tired", "sick"),
    "stay home": ("tired", "sick"),
    "go to bed": ("tired", "sick"),
    "cough": ("sick",),
}
_NO_COMMAND = frozenset({"lose", "break", "forget", "cry"})
_NEVER_COMMAND = frozenset(
    {"find", "meet", "see", "hear", "understand", "wake up", "cough", "fall"}
)


def imperative(rng: Random) -> Clause:
    """`Open the door!` `Don't touch it!`"""
    rows = in_frame("object", "give", "intransitive")
    verb = rng.choice([v for v in rows if _can_be_ordered(v)])
    c = clause(rng, "imperative", verb, from_pronoun(pronouns()["you"]))
    denied = bool(rng.random() < 0.4 or verb.reflexive or c.verb.lemma in _NO_COMMAND)
    clitic = (c.direct and c.direct.pronoun) or (c.indirect and c.indirect.pronoun)
    polarity = "not" if denied or clitic else "positive"
    settle(rng, shortest(c), "imperative", polarity)
    c.tense, c.modal, c.polarity = "present", "", polarity
    return shortest(c)


def _can_be_ordered(verb: Verb) -> bool:
    unwilled = "state" in verb.features or verb.lemma in _NEVER_COMMAND
    return "human" in verb.subjects and not unwilled


def reported(rng: Random) -> Clause:
    """`Paul thinks that the soup is hot.` `I don't know if she is sleeping.`"""
    verb = rng.choice(in_frame("that", "whether"))
    c = settle(rng, clause(rng, "reported", verb))
    c.tense, c.modal = "present", ""
    shortest(c)
    if "positive" in verb.features:
        c.mood, c.polarity = "statement", "positive"
    if c.polarity == "never":
        c.polarity = "not"
    unsure = verb.lemma == "know" and c.polarity == "not"
    c.connective = "whether" if verb.frame == "whether" or unsure else "that"
    c.complement = _hoped(rng) if verb.lemma == "hope" else _statement(rng)
    if c.complement.subject.determiner and c.complement.subject.determiner.name == "that":
        c.complement.subject.determiner = determiners()["the"]  # not "think that that man"
    return c


def _hoped(rng: Random) -> Clause:
    c = plain(rng.choice(("intransitive", "object")))(rng)
    while c.tense != "future" or c.asks or c.polarity == "never":
        c = plain(rng.choice(("intransitive", "object")))(rng)
    return shortest(c)


def _statement(rng: Random) -> Clause:
    frames = ("copula", "intransitive", "object")
    frame = rng.choice(frames)
    inner = copula(rng) if frame == "copula" else plain(frame)(rng)
    while inner.asks or inner.polarity == "never":
        inner = copula(rng) if frame == "copula" else plain(frame)(rng)
    return shortest(inner)


def because(rng: Random) -> Clause:
    """`Alice is crying because she is sad.`"""
    rows = [v for v in verbs() if {"joy", "pain"} & v.features]
    verb = rng.choice(rows)
    who = subject(rng, _HUMAN)
    while who.plural and who.feminine:  # `they` is ils throughout the corpus
        who = subject(rng, _HUMAN)
    c = settle(rng, clause(rng, "because", verb, who), "statement", "positive")
    c.tense, c.modal = rng.choice(("present", "past")), ""
    shortest(c)
    reason = Clause("copula", BE, from_pronoun(_anaphor(who)), c.tense)
    wanted = _FEELINGS.get(verb.lemma, ("happy",))
    feeling = rng.choice(wanted)
    reason.adjective = next(a for a in adjectives() if a.english == feeling)
    c.connective, c.complement = "because", reason
    return c


def _anaphor(who: NounPhrase) -> Pronoun:
    if who.pronoun:
        return who.pronoun
    return pronouns()["they" if who.plural else "she" if who.feminine else "he"]


def coordination(rng: Random) -> Clause:
    """`Paul is singing and Alice is dancing.`"""
    first = _doing(rng, name(rng))
    second = _doing(rng, subject(rng, _HUMAN))
    while second.subject.name == first.subject.name or second.verb is first.verb:
        second = _doing(rng, subject(rng, _HUMAN))
    first.construction, first.connective, first.complement = "coordination", "and", second
    second.tense = first.tense
    shortest(second)
    return shortest(first)


def _doing(rng: Random, who: NounPhrase) -> Clause:
    verb = rng.choice([v for v in in_frame("intransitive") if "human" in v.subjects])
    c = settle(rng, clause(rng, "intransitive", verb, who), "statement", "positive")
    c.modal = ""
    return c
