"""Choosing a clause around a verb: its complements, as the verb's frame asks for them."""

from functools import cache
from random import Random

from .choose_noun import choose_noun, common
from .choose_phrase import DEFINITE, SINGLE, from_pronoun, owned, person, subject, thing_pronoun
from .closed_class import determiners, pronouns
from .lexicon import Adjective, Tags, Verb, adjectives, verbs
from .syntax import Clause, NounPhrase

_HUMAN = frozenset({"human"})
_INDEFINITE = frozenset({"a", "number", "quantity"})
_BECOMING = frozenset(
    {"rich", "poor", "famous", "serious", "generous", "patient", "strong", "polite", "sad"}
)
_GOVERNED = frozenset({"à", "de", "dans"})


@cache
def in_frame(*frames: str) -> tuple[Verb, ...]:
    """The verbs with one of these frames."""
    return tuple(verb for verb in verbs() if verb.frame in frames)


def clause(rng: Random, construction: str, verb: Verb, who: NounPhrase | None = None) -> Clause:
    """A clause around `verb` in the present tense, complements chosen."""
    c = Clause(construction, verb, who or subject(rng, verb.subjects))
    if verb.frame == "object":
        c.direct = _object(rng, c)
    elif verb.frame == "generic":
        c.direct = _generic(rng, verb.objects)
    elif verb.frame in _GOVERNED:
        c.indirect, c.preposition = _governed(rng, c), verb.frame
    elif verb.frame == "give":
        c.direct = _thing(rng, c, 0.15)
        rate = 0.0 if c.direct.pronoun and rng.random() < 0.8 else 0.5
        c.indirect, c.preposition = person(rng, c.subject, rate), "à"
    elif verb.frame == "become":
        c.adjective = rng.choice(_becoming())
    return c


def _object(rng: Random, c: Clause) -> NounPhrase:
    objects = c.verb.objects
    if "human" in objects and rng.random() < len(_HUMAN & objects) / min(len(objects), 3):
        someone = person(rng, c.subject, 0.5)
        if someone.determiner and "definite" in c.verb.features:
            someone.determiner = determiners()["the"]
        return someone
    return _thing(rng, c, 0.0 if "indefinite" in c.verb.features else 0.25)


def _thing(rng: Random, c: Clause, pronoun_rate: float) -> NounPhrase:
    if rng.random() < pronoun_rate:
        return thing_pronoun(rng)
    noun = choose_noun(rng, c.verb.objects)
    only = _INDEFINITE if "indefinite" in c.verb.features else frozenset()
    return owned(rng, common(rng, noun, only))


def _generic(rng: Random, objects: Tags) -> NounPhrase:
    """A whole kind, bare in English: `likes cats`, `hates cheese`."""
    noun = choose_noun(rng, objects)
    plural = "mass" not in noun.tags
    return NounPhrase(plural=plural, feminine=noun.feminine, noun=noun, bare=True)


def _governed(rng: Random, c: Clause) -> NounPhrase:
    if c.verb.objects & _HUMAN and "dative" in c.verb.features and rng.random() < 0.8:
        return person(rng, c.subject, 0.5)
    noun = choose_noun(rng, c.verb.objects)
    where = {"goto", "building", "instrument"} & (c.verb.objects | noun.tags)
    if "place" in noun.tags and c.verb.frame != "de" and where:
        np = common(rng, noun, frozenset({"the", "demonstrative"}))
    else:
        np = common(rng, noun, DEFINITE if where or "mass" in noun.tags else SINGLE)
    if where:
        np.plural = False
        np.adjective = np.adjective if rng.random() < 0.5 else None
    if np.determiner and np.determiner.name == "a":
        np.plural = False  # de + des is no construction a beginner should meet
    return np if "instrument" in noun.tags else owned(rng, np)


@cache
def _becoming() -> tuple[Adjective, ...]:
    return tuple(a for a in adjectives() if a.english in _BECOMING)


def relative(rng: Random, np: NounPhrase) -> Clause | None:
    """A relative clause that suits the noun, or None if no verb does."""
    assert np.noun
    as_object = [v for v in in_frame("object") if _takes(v, np.noun.tags)]
    as_subject = [v for v in in_frame("object", "intransitive") if v.subjects & np.noun.tags]
    if as_object and (not as_subject or rng.random() < 0.5):
        who = subject(rng, _HUMAN)
        who = who if who.pronoun or who.name else from_pronoun(pronouns()["I"])
        c = Clause("object_relative", rng.choice(as_object), who)
        c.extracted, c.antecedent, c.direct = "direct", np, None
        return c
    if not as_subject:
        return None
    c = clause(rng, "subject_relative", rng.choice(as_subject), np)
    c.extracted, c.antecedent = "subject", np
    return c


def _takes(verb: Verb, tags: Tags) -> bool:
    return bool(verb.objects & tags and "human" in verb.subjects) and "state" not in verb.features
