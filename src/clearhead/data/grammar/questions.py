"""Questions with where, why, when, who, what and how many."""

from collections.abc import Callable
from random import Random

from .choose_clause import clause, in_frame
from .choose_noun import choose_noun, common
from .choose_phrase import DEFINITE, from_pronoun, subject
from .closed_class import pronouns
from .constructions import BE, SMALL
from .lexicon import Verb
from .settle import finish, settle
from .syntax import Clause, NounPhrase


def asking(mood: str) -> Callable[[Random], Clause]:
    """A chooser of questions with this question word."""

    def choose(rng: Random) -> Clause:
        if mood == "where" and rng.random() < 0.5:
            return _where_is(rng)
        verb = rng.choice(_ASKED[mood]())
        who = from_pronoun(pronouns()["he"]) if mood == "who" else _asked(rng, verb)
        c = clause(rng, f"wh_{mood.replace(' ', '_')}", verb, who)
        if mood == "what":
            c.direct = None
        if mood == "how many":
            c.direct = _counted(rng, verb)
        settle(rng, c, mood, "positive" if mood != "why" else "")
        return finish(_timed(rng, c))

    return choose


def _asked(rng: Random, verb: Verb) -> NounPhrase:
    """Anyone but the speaker: nobody asks `Where am I singing?`."""
    who = subject(rng, verb.subjects)
    while who.pronoun and who.pronoun.subject == "I":
        who = subject(rng, verb.subjects)
    return who


def _timed(rng: Random, c: Clause) -> Clause:
    if c.mood == "when" and c.tense == "present":
        c.tense, c.modal = rng.choice(("past", "future")), ""
    if c.mood in ("what", "how many", "where", "why"):
        c.adverbs = [a for a in c.adverbs if a.slot == "time" and a.when != "habitual"]
    return c


def _where_is(rng: Random) -> Clause:
    tags = rng.choice((SMALL, frozenset({"kin", "pet", "goto"})))
    np = common(rng, choose_noun(rng, tags), DEFINITE)
    c = settle(rng, Clause("where_is", BE, np), "where", "positive")
    c.tense = "present" if c.tense == "future" else c.tense
    return c


def _counted(rng: Random, verb: Verb) -> NounPhrase:
    noun = choose_noun(rng, verb.objects)
    while {"mass", "single", "sport"} & noun.tags:
        noun = choose_noun(rng, verb.objects)
    return NounPhrase(plural=True, feminine=noun.feminine, noun=noun)


def _active(*frames: str) -> Callable[[], list[Verb]]:
    def found() -> list[Verb]:
        rows = [v for v in in_frame(*frames) if "human" in v.subjects]
        return [v for v in rows if not {"state", "être"} & v.features or frames == ("give",)]

    return found


def _things() -> list[Verb]:
    return [v for v in _active("object")() if not {"human", "animal", "heard"} & v.objects]


def _countable() -> list[Verb]:
    good = {"see", "buy", "sell", "find", "lose", "read", "write", "eat", "visit", "draw",
            "wash", "choose", "break", "invite", "repair", "carry", "correct", "steal"}  # fmt: skip
    return [v for v in _active("object")() if v.lemma in good]


def _placed() -> list[Verb]:
    return [v for v in _active("intransitive", "object", "de", "à")() if "place" in v.features]


_ASKED = {
    "where": _placed,
    "why": _active("intransitive", "object", "give"),
    "when": lambda: [v for v in in_frame("intransitive", "object") if "state" not in v.features],
    "who": _active("intransitive", "object", "give"),
    "what": _things,
    "how many": _countable,
}
