"""Draws clauses around a verb: complements, tense, negation, question, modal, adverbs."""

from functools import cache

from .choose_phrase import (
    DEFINITE,
    HUMAN,
    SINGLE,
    choose_noun,
    common,
    companion,
    from_pronoun,
    owned,
    person,
    place,
    subject,
    thing_pronoun,
)
from .lexicon import Adverbial, Tags, Verb, determiners, pronouns
from .syntax import Clause, NounPhrase
from .themes import GOVERNED
from .vocabulary import Draw, Lexicon

INDEFINITE = frozenset({"a", "number", "quantity"})
_BECOMING = frozenset(
    {"rich", "poor", "famous", "serious", "generous", "patient", "strong", "polite", "sad"}
)
_TENSES = (("present", "past", "future"), (0.46, 0.76, 1.0))
_MODALS = ("can", "must", "want", "going")
_NO_MODAL = frozenset({"fall", "be", "lose", "cough", "forget"})
_DEFINITE = frozenset({"the", "this", "that", "my", "your", "his", "her", "our", "their"})
_MANNERS = (
    ("degree", "well"), ("manner", "manner"), ("manner", "quiet"), ("manner", "careful"),
    ("manner", "thorough"), ("place", "place"),
)  # fmt: skip
_UNDENIED = frozenset({"many", "several", "each", "two", "three", "four", "five", "six", "seven",
                       "eight", "nine", "ten"})  # fmt: skip


@cache
def in_frame(lexicon: Lexicon, *frames: str) -> tuple[Verb, ...]:
    """The verbs with one of these frames."""
    return tuple(verb for verb in lexicon.verbs if verb.frame in frames)


def clause(rng: Draw, construction: str, verb: Verb, who: NounPhrase | None = None) -> Clause:
    """A clause around `verb` in the present tense, with its complements."""
    c = Clause(construction, verb, who or subject(rng, verb.subjects))
    if verb.frame == "object":
        c.direct = _object(rng, c)
    elif verb.frame == "generic":
        c.direct = _generic(rng, verb.objects)
    elif verb.frame in GOVERNED:
        c.indirect, c.preposition = _governed(rng, c), verb.frame
    elif verb.frame == "give":
        c.direct = _thing(rng, c, 0.15)
        rate = 0.0 if c.direct.pronoun and rng.random() < 0.8 else 0.5
        c.indirect, c.preposition = person(rng, c.subject, rate), "à"
    elif verb.frame == "become":
        words = [a for a in rng.lexicon.adjectives if a.english in _BECOMING]
        first = {a.english: a for a in reversed(words)}  # of people sérieux, of wounds grave
        c.adjective = rng.choice([a for a in words if first[a.english] is a])
    return c


def _object(rng: Draw, c: Clause) -> NounPhrase:
    objects, explicit = c.verb.objects, "explicit" in c.verb.features
    if "human" in objects and rng.random() < len(HUMAN & objects) / min(len(objects), 3):
        someone = person(rng, c.subject, 0.0 if explicit else 0.5)
        if someone.determiner and "definite" in c.verb.features:
            someone.determiner = determiners()["the"]
        return someone
    return _thing(rng, c, 0.0 if "indefinite" in c.verb.features else 0.25)


def _thing(rng: Draw, c: Clause, pronoun_rate: float) -> NounPhrase:
    if rng.random() < pronoun_rate * ("explicit" not in c.verb.features):
        return thing_pronoun(rng)
    noun = choose_noun(rng, c.verb.objects)
    only = INDEFINITE if "indefinite" in c.verb.features else frozenset()
    return owned(rng, common(rng, noun, only))


def _generic(rng: Draw, objects: Tags) -> NounPhrase:
    """A whole kind, bare in English: `likes cats`, `hates cheese`."""
    noun = choose_noun(rng, objects)
    plural = "mass" not in noun.tags
    return NounPhrase(plural=plural, feminine=noun.feminine, noun=noun, bare=True)


def _governed(rng: Draw, c: Clause) -> NounPhrase:
    if c.verb.objects & HUMAN and "dative" in c.verb.features and rng.random() < 0.8:
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
        np.plural = False  # avoids de + des
    return np if "instrument" in noun.tags else owned(rng, np)


def relative(rng: Draw, np: NounPhrase) -> Clause | None:
    """A relative clause that suits the noun, or None if no verb does."""
    assert np.noun
    acting = in_frame(rng.lexicon, "object", "intransitive")
    taking = [v for v in in_frame(rng.lexicon, "object") if v.objects & np.noun.tags]
    as_object = [v for v in taking if "human" in v.subjects and "state" not in v.features]
    as_subject = [v for v in acting if v.subjects & np.noun.tags]
    if as_object and (not as_subject or rng.random() < 0.5):
        who = subject(rng, HUMAN)
        who = who if who.pronoun or who.name else from_pronoun(pronouns()["I"])
        c = Clause("object_relative", rng.choice(as_object), who)
        c.extracted, c.antecedent, c.direct = "direct", np, None
        return c
    if not as_subject:
        return None
    c = clause(rng, "subject_relative", rng.choice(as_subject), np)
    c.extracted, c.antecedent = "subject", np
    return c


def settle(rng: Draw, c: Clause, mood: str = "", polarity: str = "") -> Clause:
    """Choose tense, mood, polarity, contraction, modal verb and adverbs of a clause."""
    c.tense = rng.choices(_TENSES[0], cum_weights=_TENSES[1])[0]
    if "nofuture" in c.verb.features and c.tense == "future":
        c.tense = "present"
    stated = c.extracted or (c.subject.pronoun and c.subject.pronoun.subject == "I")
    c.mood = mood or ("question" if not stated and rng.random() < 0.24 else "statement")
    c.polarity = polarity or ("not" if rng.random() < 0.26 else "positive")
    c.contracted = c.asks or rng.random() < 0.5
    _choose_modal(rng, c)
    _choose_adverbs(rng, c)
    return finish(c)


def finish(c: Clause) -> Clause:
    """Set aspect and determiners, which follow from tense, polarity and adverbs."""
    _avoid_momentary_present(c)
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
        if c.direct.determiner.name == "a":
            c.direct.scope = _scope(c)
    return c


def _scope(c: Clause) -> str:
    if c.polarity != "positive":
        return "negative"
    return "question" if c.asks and c.mood != "who" else ""


def _choose_modal(rng: Draw, c: Clause) -> None:
    human = c.subject.noun is None or "human" in c.subject.noun.tags
    resists = "state" in c.verb.features or c.verb.lemma in _NO_MODAL
    if c.tense == "present" and human and not resists and rng.random() < 0.16:
        c.modal = rng.choice(_MODALS)


def _avoid_momentary_present(c: Clause) -> None:
    """Take momentary verbs out of the present: `He finds the key` needs a habit or a past."""
    momentary = "habit" in c.verb.features and c.tense == "present" and not c.modal
    if momentary and not any(a.when == "habitual" for a in c.adverbs):
        if c.mood == "imperative" or c.polarity == "never":
            return
        c.tense = "past"
        c.adverbs = [a for a in c.adverbs if a.slot != "time"]


@cache
def _adverbs(lexicon: Lexicon, slot: str, when: str) -> tuple[Adverbial, ...]:
    return tuple(a for a in lexicon.adverbials if a.slot == slot and a.when == when)


def _choose_adverbs(rng: Draw, c: Clause) -> None:
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
        c.places.append(companion(rng, c.subject, "for" if "for" in features else "with"))


def _choose_time(rng: Draw, c: Clause) -> None:
    draw, present = rng.random(), c.tense == "present" and not c.modal
    if c.polarity == "positive" and present and draw < 0.14:
        usual = _adverbs(rng.lexicon, "frequency", "habitual")  # often, always, sometimes, rarely
        c.adverbs.append(rng.choice(usual[:2] if c.asks else usual))
    elif c.polarity == "not" and draw < 0.1 and c.mood == "statement" and not c.modal:
        c.polarity = "never"
    elif draw < 0.3 and not c.modal:
        c.adverbs.append(_time(rng, c))


def _time(rng: Draw, c: Clause) -> Adverbial:
    when = c.tense
    if when == "present":
        instant = {"see", "habit"} & c.verb.features or c.verb.english[0] == "be"
        when = "present" if rng.random() < 0.3 and not instant else "habitual"
    return rng.choice(_adverbs(rng.lexicon, "time", when))


def _choose_manner(rng: Draw, c: Clause) -> None:
    for slot, when in _MANNERS:
        if when in c.verb.features and not c.adverbs and rng.random() < 0.1:
            c.adverbs.append(rng.choice(_adverbs(rng.lexicon, slot, when)))
    together = c.subject.plural and "company" in c.verb.features and rng.random() < 0.15
    if together and not c.adverbs:
        c.adverbs.append(_adverbs(rng.lexicon, "manner", "company")[0])


def shortest(c: Clause) -> Clause:
    """Remove adverbs and places, so that the clause can stand inside another one."""
    c.adverbs, c.places = [], []
    return finish(c)
