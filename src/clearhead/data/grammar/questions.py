"""Draws questions with where, why, when, who, what and how many."""

from collections.abc import Callable

from .choose_clause import clause, finish, in_frame, settle
from .choose_phrase import DEFINITE, choose_noun, common, from_pronoun, matching, subject
from .lexicon import Verb, pronouns
from .statements import BE, SMALL
from .syntax import Clause, NounPhrase
from .vocabulary import Draw, Lexicon

_UNCOUNTED = frozenset({"mass", "single", "sport", "plural"})
Active = Callable[[Lexicon], list[Verb]]


def asking(mood: str) -> Callable[[Draw], Clause]:
    """The function that draws questions with this question word."""

    def choose(rng: Draw) -> Clause:
        if mood == "where" and rng.random() < 0.5:
            return _where_is(rng)
        verb = rng.choice(_ASKED[mood](rng.lexicon))
        who = from_pronoun(pronouns()["he"]) if mood == "who" else _asked(rng, verb)
        c = clause(rng, f"wh_{mood.replace(' ', '_')}", verb, who)
        if mood == "what":
            c.direct = None
        if mood == "how many":
            c.direct = _counted(rng, verb)
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
    noun = choose_noun(rng, tags)
    while "intangible" in noun.tags:
        noun = choose_noun(rng, tags)
    np = common(rng, noun, DEFINITE)
    c = settle(rng, Clause("where_is", BE, np), "where", "positive")
    c.tense = "present" if c.tense == "future" else c.tense
    return c


def _counted(rng: Draw, verb: Verb) -> NounPhrase:
    noun = choose_noun(rng, verb.objects)
    while _UNCOUNTED & noun.tags:
        noun = choose_noun(rng, verb.objects)
    return NounPhrase(plural=True, feminine=noun.feminine, noun=noun)


def _active(*frames: str) -> Active:
    def found(lexicon: Lexicon) -> list[Verb]:
        rows = [v for v in in_frame(lexicon, *frames) if "human" in v.subjects]
        return [v for v in rows if not {"state", "être"} & v.features or frames == ("give",)]

    return found


def _things(lexicon: Lexicon) -> list[Verb]:
    return [
        v
        for v in _active("object")(lexicon)
        if not {"human", "animal", "heard"} & v.objects and "explicit" not in v.features
    ]


def _countable(lexicon: Lexicon) -> list[Verb]:
    good = {"see", "buy", "sell", "find", "lose", "read", "write", "eat", "visit", "draw",
            "wash", "choose", "break", "invite", "repair", "carry", "correct", "steal"}  # fmt: skip
    rows = [v for v in _active("object")(lexicon) if v.lemma in good]
    return [
        v for v in rows if any(not _UNCOUNTED & n.tags for n in matching(lexicon, v.objects)[0])
    ]


def _placed(lexicon: Lexicon) -> list[Verb]:
    return [
        v for v in _active("intransitive", "object", "de", "à")(lexicon) if "place" in v.features
    ]


def _changing(lexicon: Lexicon) -> list[Verb]:
    return [v for v in in_frame(lexicon, "intransitive", "object") if "state" not in v.features]


_ASKED: dict[str, Active] = {
    "where": _placed,
    "why": _active("intransitive", "object", "give"),
    "when": _changing,
    "who": _active("intransitive", "object", "give"),
    "what": _things,
    "how many": _countable,
}
