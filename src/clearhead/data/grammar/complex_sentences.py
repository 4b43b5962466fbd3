"""Draws commands, sentences with two clauses or a relative clause, and long sentences."""

from .choose_clause import clause, in_frame, relative, settle, shortest
from .choose_phrase import HUMAN, from_pronoun, name, subject
from .lexicon import determiners, pronouns
from .statements import copula, plain
from .syntax import BE, Clause, NounPhrase, phrases
from .vocabulary import Draw

_FEELINGS = {
    "smile": ("happy", "proud"),
    "cry": ("sad", "tired"),
    "sleep": ("tired", "sick"),
    "rest": ("tired", "sick"),
    "stay home": ("tired", "sick"),
    "go to bed": ("tired", "sick"),
    "cough": ("sick",),
    "shout": ("angry", "nervous"),
    "suffer": ("sick",),
    "worry": ("nervous",),
}
_FEELINGS_OF_PAIN = ("sad", "tired")
_NO_COMMAND = frozenset({"lose", "break", "forget", "cry"})
_NEVER_COMMAND = frozenset(
    {"find", "meet", "see", "hear", "understand", "wake up", "cough", "fall"}
)
_CONSUMED = frozenset({"eat", "drink", "break"})


def imperative(rng: Draw) -> Clause:
    """`Open the door!` `Don't touch it!`"""
    rows = in_frame(rng.lexicon, "object", "give", "intransitive")
    willed = [v for v in rows if "human" in v.subjects and "state" not in v.features]
    verb = rng.choice([v for v in willed if v.lemma not in _NEVER_COMMAND])
    c = clause(rng, "imperative", verb, from_pronoun(pronouns()["you"]))
    denied = bool(rng.random() < 0.4 or verb.reflexive or c.verb.lemma in _NO_COMMAND)
    clitic = (c.direct and c.direct.pronoun) or (c.indirect and c.indirect.pronoun)
    polarity = "not" if denied or clitic else "positive"
    settle(rng, shortest(c), "imperative", polarity)
    c.tense, c.modal, c.polarity = "present", "", polarity
    return shortest(c)


def reported(rng: Draw) -> Clause:
    """`Paul thinks that the soup is hot.` `I don't know if she is sleeping.`"""
    verb = rng.choice(in_frame(rng.lexicon, "that", "whether"))
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


def _hoped(rng: Draw) -> Clause:
    while True:
        c = plain(rng.choice(("intransitive", "object")))(rng)
        if c.tense == "future" and not c.asks and c.polarity != "never":
            return shortest(c)


def _statement(rng: Draw) -> Clause:
    draw = rng.choice((copula, plain("intransitive"), plain("object")))
    inner = draw(rng)
    while inner.asks or inner.polarity == "never":
        inner = draw(rng)
    return shortest(inner)


def because(rng: Draw) -> Clause:
    """`Alice is crying because she is sad.`"""
    rows = [v for v in rng.lexicon.verbs if {"joy", "pain"} & v.features]
    verb = rng.choice(rows)
    who = subject(rng, HUMAN)
    while who.plural and who.feminine:  # `they` is always ils
        who = subject(rng, HUMAN)
    c = settle(rng, clause(rng, "because", verb, who), "statement", "positive")
    c.tense, c.modal = rng.choice(("present", "past")), ""
    shortest(c)
    anaphor = pronouns()["they" if who.plural else "she" if who.feminine else "he"]
    reason = Clause("copula", BE, from_pronoun(who.pronoun or anaphor), c.tense)
    usual = _FEELINGS_OF_PAIN if "pain" in verb.features else ("happy",)
    feeling = rng.choice(_FEELINGS.get(verb.lemma, usual))
    reason.adjective = next(a for a in rng.lexicon.adjectives if a.english == feeling)
    c.connective, c.complement = "because", reason
    return c


def coordination(rng: Draw) -> Clause:
    """`Paul is singing and Alice is dancing.`"""
    first = _doing(rng, name(rng))
    second = _doing(rng, subject(rng, HUMAN))
    while second.subject.name == first.subject.name or second.verb is first.verb:
        second = _doing(rng, subject(rng, HUMAN))
    first.construction, first.connective, first.complement = "coordination", "and", second
    second.tense = first.tense
    shortest(second)
    return shortest(first)


def _doing(rng: Draw, who: NounPhrase) -> Clause:
    rows = in_frame(rng.lexicon, "intransitive")
    verb = rng.choice([v for v in rows if "human" in v.subjects])
    c = settle(rng, clause(rng, "intransitive", verb, who), "statement", "positive")
    c.modal = ""
    return c


def with_relative(rng: Draw) -> Clause:
    """A sentence with a relative clause: `The girl who is singing likes cats.`"""
    while True:
        c = plain(rng.choice(("object", "object", "intransitive")))(rng)
        if rng.random() < 0.3:
            c = copula(rng)
        if c.polarity == "never" or not add_relative(rng, c):
            continue
        c.construction = "relative"
        return shortest(c)


def add_relative(rng: Draw, c: Clause) -> bool:
    """Attach a relative clause to one of the nouns; False if it suits none of them."""
    owners = [np.possessor for np in phrases(c)]
    fit = [np for np in phrases(c) if np.noun and not _closed(np) and np not in owners]
    if not fit:
        return False
    np = rng.choice(fit)
    inner = relative(rng, np)
    if inner is None or inner.verb.lemma == c.verb.lemma:
        return False
    # What was consumed cannot act any more.
    if inner.verb.lemma in _CONSUMED and inner.extracted == "direct" and c.verb is not BE:
        return False
    np.determiner, np.adjective, np.scope, np.bare = determiners()["the"], None, "", False
    settle(rng, inner, "statement", "positive" if rng.random() < 0.9 else "not")
    if inner.tense == "future":
        inner.tense = "past"
    shortest(inner)
    np.relative = inner
    return True


def _closed(np: NounPhrase) -> bool:
    assert np.noun
    return bool(
        {"kin", "sport", "known_person", "bare", "own", "unique"} & np.noun.tags or np.possessor
    )


def choose_long(rng: Draw) -> Clause:
    """Clauses joined by `and`, some with relative clauses, adverbs and places."""
    first, second = _part(rng), _part(rng)
    if rng.random() < 0.5:
        second.connective, second.complement = "and", _part(rng)
    first.construction, first.connective, first.complement = "long", "and", second
    return first


def _part(rng: Draw) -> Clause:
    while True:
        draw = rng.random()
        if draw < 0.35:
            c = with_relative(rng)
        elif draw < 0.5:
            c = reported(rng)
        else:
            c = plain(rng.choice(("object", "give", "intransitive")))(rng)
        if not c.asks and not (c.complement and c.connective != "and"):
            return c
