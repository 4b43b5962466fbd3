"""English sentences whose probabilities are known: the corpus `measured:COUNT[:SEED]`.

The grammar of translations draws a tree by rejection sampling, so that the probability of a
sentence cannot be computed. This one has the same lexicon, inflection and balance of nouns, but is
context-free: subject, tense, verb, object and place are drawn rule by rule, so the probability of
each sentence is exact (`benchmarks/grammar_probability.py` computes it).
"""

from collections.abc import Callable, Iterator
from functools import cache
from random import Random

from clearhead.data.grammar.inflection import be, ing, past, third_person
from clearhead.data.grammar.lexicon import Adjective, Tags, Verb
from clearhead.data.grammar.vocabulary import small
from clearhead.data.weighted_grammar import MANY, ONE, Phrases, WeightedGrammar

_PERSONS = {"I": (1, False), ONE: (3, False), MANY: (3, True)}
_SMALL = frozenset({"small", "utensil", "readable", "toy", "fruit"})
_ANIMATE = frozenset({"human", "animal", "infant"})
_MANNERS = {"manner": "manner", "quiet": "quiet", "careful": "careful", "well": "well"}
# The forms of a verb, and the time of a sentence with each.
_TIMES = {"base": "", "past": "past", "ing": "present", "s": "habitual", "plain": "habitual"}


class Clauses(Phrases):
    """Adds the rules of whole sentences to those of their phrases."""

    def __init__(self) -> None:
        super().__init__()
        for slot, when in (("time", "past"), ("time", "future"), ("time", "present"),
                           ("time", "habitual"), ("frequency", "habitual")):  # fmt: skip
            for row in small().adverbials:
                if (row.slot, row.when) == (slot, when):
                    self._add(f"<{slot} {when}>", 1, *row.english)
        for kind, weight in (("statement", 66), ("question", 14), ("copula", 12), ("there", 8)):
            self._add("S", weight, f"<{kind}>")
        acting = [v for v in small().verbs if v.frame in ("object", "intransitive")]
        for tags in sorted({v.subjects for v in acting}, key=sorted):
            self._doing(tags, [v for v in acting if v.subjects == tags])
        for adjective in small().adjectives:
            self._being(adjective)
        self._existing()

    def _doing(self, tags: Tags, rows: list[Verb]) -> None:
        """Statements and questions with these subjects and their verbs, in each form."""
        for number, share in (("I", 9), (ONE, 61), (MANY, 30)):
            person, plural = _PERSONS[number]
            human = number != "I" or "human" in tags
            if not human or (number == MANY and not self.has(tags, MANY)):
                continue
            subject, weight = self.subject(tags, number), len(rows) * share / 100
            now, was = be("present", person, plural), ("does" if number == ONE else "do")
            simple = self._verbs(tags, rows, "s" if number == ONE else "plain")
            base = {time: self._verbs(tags, rows, "base", time) for time in ("future", "past", "")}
            ways = (
                (24, (now, self._verbs(tags, rows, "ing"))),
                (6, (now, "not", self._verbs(tags, rows, "ing"))),
                (16, (simple,)),
                (6, ("<frequency habitual>", simple)),
                (6, (f"<{was} not>", base[""])),
                (24, (self._verbs(tags, rows, "past"),)),
                (8, ("<did not>", base["past"])),
                (14, ("will", base["future"])),
                (5, ("can", base[""])),
                (4, ("must", base[""])),
            )
            for share_of_way, side in ways:
                self._add("<statement>", weight * share_of_way, subject, *side, ".")
            if number != "I":
                for share_of_way, operator, rest in (
                    (30, now, self._verbs(tags, rows, "ing")),
                    (20, was, base[""]),
                    (30, "did", base["past"]),
                    (20, "will", base["future"]),
                ):
                    self._add("<question>", weight * share_of_way, operator, subject, rest, "?")
        for auxiliary in ("do", "does", "did"):
            if f"<{auxiliary} not>" not in self.rules:
                self._add(f"<{auxiliary} not>", 1, f"{auxiliary}n't")
                self._add(f"<{auxiliary} not>", 1, auxiliary, "not")

    def _verbs(self, tags: Tags, rows: list[Verb], form: str, time: str | None = None) -> str:
        """A verb in one form, its object, and how, where or when."""
        time = _TIMES[form] if time is None else time
        symbol = f"<{form} {time} {'+'.join(sorted(tags))}>"
        if symbol not in self.rules:
            for verb in rows:
                if not (form == "ing" and {"state", "see"} & verb.features):
                    head, *particles = verb.english
                    words = [_FORMS[form](head), *particles]
                    words += [self.object(verb.objects)] if verb.frame == "object" else []
                    self._add(symbol, 5, *words)
                    for weight, more in self._additions(verb, time):
                        self._add(symbol, weight, *words, *more)
        return symbol

    def _additions(self, verb: Verb, time: str) -> list[tuple[float, tuple[str, ...]]]:
        found: list[tuple[float, tuple[str, ...]]] = []
        if time and "state" not in verb.features:
            found.append((2, (f"<time {time}>",)))
        if "place" in verb.features:
            found.append((1, (self.place("animate"),)))
        if "company" in verb.features:
            found.append((1, ("with", "<name>")))
        manners = {when for feature, when in _MANNERS.items() if feature in verb.features}
        rows = [row for row in small().adverbials if row.when in manners]
        return found + [(0.5, row.english) for row in rows]

    def _being(self, adjective: Adjective) -> None:
        """`The soup is hot.` `Was Alice happy?`"""
        tags = adjective.tags - ({"skilled"} if adjective.position == "before" else set())
        for number, share in ((ONE, 70), (MANY, 30)):
            if not self.has(tags, number):
                continue
            subject = self.subject(tags, number)
            for tense, weight in (("present", 2), ("past", 1)):
                form, words = be(tense, *_PERSONS[number]), adjective.english.split()
                self._add("<copula>", 7 * share * weight, subject, form, *words, ".")
                self._add("<copula>", 2 * share * weight, subject, form, "not", *words, ".")
                self._add("<copula>", 2 * share * weight, form, subject, *words, "?")

    def _existing(self) -> None:
        """`There is a cat in the garden.` `The key is on the table.`"""
        for tags, figure in ((_ANIMATE, "animate"), (frozenset({"pet"}), "animate animal"),
                             (_SMALL, "thing")):  # fmt: skip
            where = self.place(figure)
            for number, form, share in ((ONE, "is", 2), (MANY, "are", 1)):
                what = self.nouns(tags - _KIN, number, "a")
                self._add("<there>", 3 * share, "there", form, what, where, ".")
                subject = self.nouns(tags, number, "the")
                self._add("<there>", 2 * share, subject, form, where, ".")


_KIN = frozenset({"kin"})
_FORMS: dict[str, Callable[[str], str]] = {
    "base": lambda head: head,
    "plain": lambda head: head,
    "past": past,
    "ing": ing,
    "s": third_person,
}


@cache
def english_grammar() -> WeightedGrammar:
    """The rules, built once from the lexicon."""
    return WeightedGrammar(Clauses().rules)


class Measured:
    """`count` sentences, drawn independently; the same seed gives the same sentences."""

    def __init__(self, count: int, seed: int = 0) -> None:
        self.count, self.seed = count, seed

    def __iter__(self) -> Iterator[str]:
        grammar, rng = english_grammar(), Random(f"measured {self.seed}")
        for _ in range(self.count):
            yield written(grammar.sample(rng))


def written(words: list[str]) -> str:
    """The text of a sentence: spaces, and a capital at the beginning."""
    text = words[0]
    for word in words[1:]:
        text += word if word in (".", "?", "'s") else f" {word}"
    return text[0].upper() + text[1:]
