"""English sentences whose probabilities are known: the corpus `measured:COUNT[:SEED]`.

The grammar of translations draws a tree by rejection sampling, so that the probability of a
sentence cannot be computed. This one has the same lexicon, inflection and balance of nouns, but is
context-free: a rule rewrites a symbol into words and symbols, and is chosen with its probability,
so the probability of each sentence is exact (`benchmarks/grammar_probability.py` computes it).
"""

import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from random import Random

from clearhead.data.grammar import lexicon as lex
from clearhead.data.grammar.choose_phrase import NUMBERS, POSSESSIVES, attributes
from clearhead.data.grammar.english import takes_an
from clearhead.data.grammar.inflection import be, english_noun, ing, past, third_person
from clearhead.data.grammar.lexicon import Adjective, Noun, Tags, Verb
from clearhead.data.grammar.vocabulary import adjective_weight, noun_weights, small

Side = tuple[str, ...]
Weighted = tuple[float, Side]
Rules = Mapping[str, Sequence[Weighted]]
ONE, MANY = "one", "many"
PRONOUNS = {
    "I": ((9, "I"),),
    ONE: ((10, "he"), (10, "she")),
    MANY: ((9, "you"), (6, "we"), (9, "they")),
}
_UNOWNED = frozenset({"human", "animal", "nature", "transit", "fixture"})
_WITH_ADJECTIVE = 0.24
_PERSONS = {"I": (1, False), ONE: (3, False), MANY: (3, True)}
_SMALL = frozenset({"small", "utensil", "readable", "toy", "fruit"})
_ANIMATE = frozenset({"human", "animal", "infant"})
_MANNERS = {"manner": "manner", "quiet": "quiet", "careful": "careful", "well": "well"}
# The forms of a verb, and the time of a sentence with each.
_TIMES = {"base": "", "past": "past", "ing": "present", "s": "habitual", "plain": "habitual"}


class WeightedGrammar:
    """Rules whose weights are normalised for each symbol; a symbol without a rule is a word.

    Raises:
        ValueError: a symbol has no rule with a weight, or an empty side.
    """

    def __init__(self, rules: Rules, start: str = "S") -> None:
        self.start = start
        self.rules = {symbol: _normal(symbol, sides) for symbol, sides in rules.items()}
        self._draws = {
            symbol: (list(accumulate(p for p, _ in sides))[:-1], [side[::-1] for _, side in sides])
            for symbol, sides in self.rules.items()
        }

    def sample(self, rng: Random) -> list[str]:
        """The words of one sentence."""
        words, todo = [], [self.start]
        while todo:
            symbol = todo.pop()
            if symbol in self._draws:
                thresholds, sides = self._draws[symbol]
                todo += sides[bisect(thresholds, rng.random())]
            else:
                words.append(symbol)
        return words


def _normal(symbol: str, sides: Sequence[Weighted]) -> list[Weighted]:
    """The rules with probabilities in place of weights; those of weight 0 are dropped."""
    kept = [(weight, side) for weight, side in sides if weight > 0]
    total = math.fsum(weight for weight, _ in kept)
    if not kept or not all(side for _, side in kept):
        raise ValueError(f"{symbol} has no rule with a weight, or one with an empty side")
    return [(weight / total, side) for weight, side in kept]


class Phrases:
    """Collects rules; every method adds what its symbol needs and returns the symbol."""

    def __init__(self) -> None:
        self.rules: dict[str, list[Weighted]] = defaultdict(list)
        for name, _ in lex.names():
            self._add("<name>", 1, name)
        for word in POSSESSIVES:
            self._add("<my>", 1, word)
        self._add("<my>", 3, "<name>", "'s")
        for word in NUMBERS:
            self._add("<number>", 1, word)

    def _add(self, symbol: str, weight: float, *side: str) -> None:
        self.rules[symbol].append((weight, side))

    def subject(self, tags: Tags, number: str) -> str:
        """A subject; for people a pronoun or a name half of the time."""
        symbol = f"<subject {_key(tags)} {number}>"
        if symbol not in self.rules:
            if "human" in tags:
                for weight, word in PRONOUNS[number]:
                    self._add(symbol, weight, word)
                self._add(symbol, 20 * (number == ONE), "<name>")
                self._add(symbol, 4 * (number == MANY), "<name>", "and", "<name>")
            if number in (ONE, MANY) and _fitting(tags, number):
                self._add(symbol, 20, self.nouns(tags, number))
        return symbol

    def object(self, tags: Tags) -> str:
        """An object: a pronoun, a name or a noun."""
        symbol = f"<object {_key(tags)}>"
        if symbol not in self.rules:
            if "human" in tags:
                for word in ("him", "her", "them", "us"):
                    self._add(symbol, 4, word)
                self._add(symbol, 16, "<name>")
            else:
                self._add(symbol, 8, "it")
                self._add(symbol, 5, "them")
            self._add(symbol, 60, self.nouns(tags, ONE))
            if _fitting(tags, MANY):
                self._add(symbol, 27, self.nouns(tags, MANY))
        return symbol

    def nouns(self, tags: Tags, number: str, sort: str = "any") -> str:
        """A noun with one of the tags, and its determiner; `sort`: any, the or a."""
        symbol = f"<{sort} {_key(tags)} {number}>"
        if symbol not in self.rules:
            for noun in _fitting(tags, number):
                self._add(
                    symbol, noun_weights(small())[noun.english], self._noun(noun, number, sort)
                )
        return symbol

    def _noun(self, noun: Noun, number: str, sort: str) -> str:
        symbol = f"<{sort} {noun.english} {number}>"
        if symbol in self.rules:
            return symbol
        form, plural = english_noun(noun, number == MANY), number == MANY
        simple = not {"kin", "sport"} & noun.tags
        fitting = attributes(small(), noun) if simple else ()
        for weight, determiner in _determiners(noun, plural, sort):
            share = _WITH_ADJECTIVE if fitting else 0.0
            self._add(symbol, weight * (1 - share), *_before(determiner, form), form)
            if fitting:
                adjectives = self._adjectives(noun, fitting, determiner)
                self._add(symbol, weight * share, *adjectives, form)
        return symbol

    def _adjectives(self, noun: Noun, fitting: Iterable[Adjective], determiner: str) -> Side:
        """A determiner and an adjective, whose first sound selects a or an."""
        kind = "a" if determiner == "a" else ""
        symbol = f"<{kind} adjective {noun.english}>"
        if symbol not in self.rules:
            for adjective in fitting:
                words = adjective.english.split()
                before = _before("a", words[0]) if kind else ()
                self._add(symbol, adjective_weight(small(), adjective), *before, *words)
        return (symbol,) if kind or not determiner else (determiner, symbol)

    def place(self, figure: str) -> str:
        """A place for an `animate`, an `animate animal` or a `thing`."""
        symbol = f"<place {figure}>"
        if symbol not in self.rules:
            for preposition in lex.prepositions():
                if preposition.when in figure.split():
                    where = self.nouns(frozenset({preposition.slot}), ONE, "the")
                    self._add(symbol, 1, *preposition.english, where)
        return symbol


def _fitting(tags: Tags, number: str) -> list[Noun]:
    """The nouns that have one of the tags in this number."""
    found = [noun for noun in lex.nouns() if noun.tags & tags]
    if number == MANY:
        found = [noun for noun in found if not {"mass", "single", "sport"} & noun.tags]
    return found


def _determiners(noun: Noun, plural: bool, sort: str) -> list[tuple[float, str]]:
    if "sport" in noun.tags:
        return [(1, "")]
    if "kin" in noun.tags:
        return [(1, "<my>")]
    mine = not _UNOWNED & noun.tags or {"pet", "known_person"} & noun.tags
    the = [(42, "the"), (5, "these" if plural else "this"), (5, "those" if plural else "that")]
    the += [(18, "<my>")] if mine else []
    if "mass" in noun.tags:
        a = [(35.0, "some")]
    elif plural:
        a = [(10, "some"), (12, "<number>"), (3, "many"), (2, "several")]
    else:
        a = [(26, "a")]
    kinds: dict[str, list[tuple[float, str]]] = {"any": [*the, *a], "the": [*the], "a": [*a]}
    return kinds[sort]


def _before(determiner: str, following: str) -> Side:
    if determiner == "a":
        return ("an" if takes_an(following) else "a",)
    return (determiner,) if determiner else ()


def _key(tags: Tags) -> str:
    return "+".join(sorted(tags))


class Clauses(Phrases):
    """Adds the rules of whole sentences to those of their phrases."""

    def __init__(self) -> None:
        super().__init__()
        for slot, when in (("time", "past"), ("time", "future"), ("time", "present"),
                           ("time", "habitual"), ("frequency", "habitual")):  # fmt: skip
            for row in lex.adverbials():
                if (row.slot, row.when) == (slot, when):
                    self._add(f"<{slot} {when}>", 1, *row.english)
        for kind, weight in (("statement", 66), ("question", 14), ("copula", 12), ("there", 8)):
            self._add("S", weight, f"<{kind}>")
        acting = [v for v in lex.verbs() if v.frame in ("object", "intransitive")]
        for tags in sorted({v.subjects for v in acting}, key=sorted):
            self._doing(tags, [v for v in acting if v.subjects == tags])
        for adjective in lex.adjectives():
            self._being(adjective)
        self._existing()

    def _doing(self, tags: Tags, rows: list[Verb]) -> None:
        """Statements and questions with these subjects and their verbs, in each form."""
        for number, share in (("I", 9), (ONE, 61), (MANY, 30)):
            person, plural = _PERSONS[number]
            human = number != "I" or "human" in tags
            if not human or (number == MANY and not _fitting(tags, MANY)):
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
        rows = [row for row in lex.adverbials() if row.when in manners]
        return found + [(0.5, row.english) for row in rows]

    def _being(self, adjective: Adjective) -> None:
        """`The soup is hot.` `Was Alice happy?`"""
        tags = adjective.tags - ({"skilled"} if adjective.position == "before" else set())
        for number, share in ((ONE, 70), (MANY, 30)):
            if not _fitting(tags, number):
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
                what = self.nouns(tags - {"kin"}, number, "a")
                self._add("<there>", 3 * share, "there", form, what, where, ".")
                subject = self.nouns(tags, number, "the")
                self._add("<there>", 2 * share, subject, form, where, ".")


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
