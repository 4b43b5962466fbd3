"""Settling a clause: tense, negation, question, modal, adverbs, and what follows from them."""

from functools import cache
from random import Random

from .choose_phrase import company, place
from .closed_class import adverbials, determiners
from .lexicon import Adverbial
from .syntax import Clause, phrases

_TENSES = (("present", "past", "future"), (0.46, 0.76, 1.0))
_MODALS = ("can", "must", "want", "going")
_INDEFINITE = ("a",)
_DEFINITE = frozenset({"the", "this", "that", "my", "your", "his", "her", "our", "their"})
_UNDENIED = frozenset({"many", "several", "each", "two", "three", "four", "five", "six", "seven",
                       "eight", "nine", "ten"})  # fmt: skip


def settle(rng: Random, c: Clause, mood: str = "", polarity: str = "") -> Clause:
    """Decide everything about a clause that is not who does what to whom."""
    c.tense = rng.choices(_TENSES[0], cum_weights=_TENSES[1])[0]
    if "nofuture" in c.verb.features and c.tense == "future":
        c.tense = "present"
    c.mood = mood or ("question" if _askable(c) and rng.random() < 0.24 else "statement")
    c.polarity = polarity or ("not" if rng.random() < 0.26 else "positive")
    c.contracted = c.asks or rng.random() < 0.5
    _choose_modal(rng, c)
    _choose_adverbs(rng, c)
    return finish(c)


def finish(c: Clause) -> Clause:
    """Aspect and determiners, once tense, polarity and adverbs are known."""
    _leave_habit(c)
    habitual = any(a.when == "habitual" for a in c.adverbs) or c.polarity == "never"
    simple = {"state", "see"} & c.verb.features or c.verb.english[0] == "be"
    c.progressive = (
        c.tense == "present" and not (habitual or simple or c.modal) and c.mood != "imperative"
    )
    if c.asks and c.subject.determiner and c.subject.determiner.name not in _DEFINITE:
        c.subject.determiner = determiners()["the"]
    if c.direct and c.direct.determiner:
        if c.polarity != "positive" and c.direct.determiner.name in _UNDENIED:
            c.direct.determiner = determiners()["a" if c.verb.frame == "there" else "the"]
        if c.direct.determiner.name in _INDEFINITE:
            c.direct.scope = _scope(c)
    return c


def _scope(c: Clause) -> str:
    if c.polarity != "positive":
        return "negative"
    return "question" if c.asks and c.mood != "who" else ""


def _askable(c: Clause) -> bool:
    return not (c.subject.pronoun and c.subject.pronoun.subject == "I") and not c.extracted


def _choose_modal(rng: Random, c: Clause) -> None:
    human = c.subject.noun is None or "human" in c.subject.noun.tags
    if c.tense == "present" and human and not _resists_modal(c) and rng.random() < 0.16:
        c.modal = rng.choice(_MODALS)


def _resists_modal(c: Clause) -> bool:
    return "state" in c.verb.features or c.verb.lemma in ("fall", "be", "lose", "cough", "forget")


def _leave_habit(c: Clause) -> None:
    """`He finds the key` is no English of the moment: such verbs need a habit or another time."""
    momentary = "habit" in c.verb.features and c.tense == "present" and not c.modal
    if momentary and not any(a.when == "habitual" for a in c.adverbs):
        if c.mood == "imperative" or c.polarity == "never":
            return
        c.tense = "past"
        c.adverbs = [a for a in c.adverbs if a.slot != "time"]


@cache
def _adverbs(slot: str, when: str) -> tuple[Adverbial, ...]:
    return tuple(a for a in adverbials() if a.slot == slot and (not when or a.when == when))


def _choose_adverbs(rng: Random, c: Clause) -> None:
    features = c.verb.features
    if "state" in features or c.mood == "when" or c.adjective:
        return
    _choose_time(rng, c)
    if c.adverbs or c.modal:
        return
    _choose_manner(rng, c)
    if not c.adverbs and "place" in features and c.mood != "where" and rng.random() < 0.16:
        c.places.append(place(rng, "animate"))
    elif not c.adverbs and {"company", "for"} & features and rng.random() < 0.16:
        c.places.append(company(rng, c.subject, "for" if "for" in features else "with"))


def _choose_time(rng: Random, c: Clause) -> None:
    draw, present = rng.random(), c.tense == "present" and not c.modal
    if c.polarity == "positive" and present and draw < 0.14:
        usual = _adverbs("frequency", "habitual")  # often, always, sometimes, rarely
        c.adverbs.append(rng.choice(usual[:2] if c.asks else usual))
    elif c.polarity == "not" and draw < 0.1 and c.mood == "statement" and not c.modal:
        c.polarity = "never"
    elif draw < 0.3 and not c.modal:
        c.adverbs.append(_time(rng, c))


def _time(rng: Random, c: Clause) -> Adverbial:
    if c.tense != "present":
        return rng.choice(_adverbs("time", c.tense))
    instant = {"see", "habit"} & c.verb.features or c.verb.english[0] == "be"
    return rng.choice(
        _adverbs("time", "present" if rng.random() < 0.3 and not instant else "habitual")
    )


def _choose_manner(rng: Random, c: Clause) -> None:
    for slot, when in (("degree", "well"), ("manner", "manner"), ("manner", "quiet"),
                       ("manner", "careful"), ("place", "place")):  # fmt: skip
        if when in c.verb.features and not c.adverbs and rng.random() < 0.1:
            c.adverbs.append(rng.choice(_adverbs(slot, when)))
    together = c.subject.plural and "company" in c.verb.features and rng.random() < 0.15
    if together and not c.adverbs:
        c.adverbs.append(_adverbs("manner", "company")[0])


def shortest(c: Clause) -> Clause:
    """A clause without adverbs and places, for use inside another one."""
    c.adverbs, c.places = [], []
    return finish(c)


def has_pronoun_object(c: Clause) -> bool:
    """Whether an object stands as a clitic before the French verb."""
    indirect = c.indirect and c.indirect.pronoun and "dative" in c.verb.features
    return bool((c.direct and c.direct.pronoun) or indirect)


def modified(c: Clause) -> bool:
    """Whether some phrase of the clause has a relative clause of its own."""
    return any(np.relative for np in phrases(c))
