"""Variants of training pairs: other forms in which people type, and synthetic names and numbers.

Corpora are edited: capitals, full stops, apostrophes and one kind of quotation mark. Input is
not: *im from boston*, *Don’t worry*, *- buy milk*, two sentences on a line, an emoji at the end.
Each form changes the source as people type it, and the target only where the translation must
show it as well (a list item stays a list item).

A corpus contains few names, and those often: Tom is in every twelfth pair of Tatoeba. A model
trained on it alone replaces an unknown name by a similar known one. A name or number that is the
same on both sides of a pair can be replaced by any other: *Tom lives at 42 Boston Street* remains
a correct pair with *Vekora* and *73*.
"""

import re
from collections.abc import Callable
from random import Random
from string import ascii_uppercase

from clearhead.data.pairs import Pair

Form = Callable[[Random, Pair], Pair]

RESERVOIR = 1000
"""Number of earlier pairs from which joined texts are drawn."""
_JOINED = 0.3  # probability that a varied pair is joined to others
_MORE_FORMS = 0.25  # probability of a second form
_NARROW = "\u202f"  # the one space of French that `unify_french_spaces` leaves
# A word of letters with the punctuation around it, but no address, file name or code.
_WORD = re.compile(r"(?<!\S)[\"“(«]*[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!?…\"”)»]*(?!\S)")
# *we'll*, *we're* and *he'd* would become other words.
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])['’](?=(?:t|m|s|ve)\b)")
_QUOTES = '"“”«»'
_ITEMS = ("- ", "- ", "- ", "* ", "• ", "– ", "1. ", "2. ", "3. ", "4) ", "a) ", "b) ", "> ")
_HEADINGS = ("# ", "## ", "### ", "", "", "")
_EMOJI = (
    *"😀😃😂🤣😊😉😍😎🤔😅😢😭😡🙏👍👎👏💪🎉🎂🎁💔🔥✨⭐🌍🚀🚗🚂🏠📚📎📧📞💻🐛✅❌☕🍕🍎🐶🐱🧬",
    *("❤️", "☀️", "🌧️", "❄️", "✈️", "⚠️", ":-)", ":)", ":("),
)


class InputForms:
    """Changes the form of pairs, with probability `rate` for each pair.

    The same seed changes the same pairs in the same way.
    """

    def __init__(self, rate: float, seed: int = 0) -> None:
        self.rate, self._random = rate, Random(f"forms {seed}")
        self._reservoir: list[Pair] = []
        self._seen = 0

    def __call__(self, pair: Pair) -> Pair:
        """The pair unchanged, or in one or two other forms, perhaps joined to earlier pairs."""
        if not self.rate:
            return pair
        draw = self._random
        varied = pair
        if draw.random() < self.rate:
            if draw.random() < _JOINED:
                varied = self._joined(pair)
            varied = _one_form(draw, varied)
            if draw.random() < _MORE_FORMS:
                varied = _one_form(draw, varied)
        self._remember(pair)
        return varied

    def _joined(self, pair: Pair) -> Pair:
        """One to three earlier pairs and this one, as a text of several sentences."""
        if not self._reservoir:
            return pair
        others = self._random.choices(self._reservoir, k=self._random.choice((1, 1, 1, 2, 3)))
        sides = zip(*others, pair, strict=True)
        return Pair(*(" ".join(side) for side in sides))

    def _remember(self, pair: Pair) -> None:
        """Reservoir sampling: each pair so far is in the reservoir with the same probability."""
        self._seen += 1
        if len(self._reservoir) < RESERVOIR:
            self._reservoir.append(pair)
        elif (index := self._random.randrange(self._seen)) < RESERVOIR:
            self._reservoir[index] = pair


def as_typed_in_a_chat(random: Random, pair: Pair) -> Pair:
    """Lower case, and perhaps without apostrophes and without the last punctuation mark."""
    source = _WORD.sub(lambda word: word[0].lower(), pair.source)
    if random.random() < 0.5:
        source = _APOSTROPHE.sub("", source)
    if random.random() < 0.6:
        source = source.rstrip(".?! ") or source
    return Pair(source, pair.target)


def without_full_stop(random: Random, pair: Pair) -> Pair:
    """Both sides without their full stop."""
    if not all(side.endswith(".") and not side.endswith("..") for side in pair):
        return pair
    return Pair(*(side[:-1] for side in pair))


def without_apostrophes(random: Random, pair: Pair) -> Pair:
    """*dont* and *its* for *don't* and *it's*."""
    return Pair(_APOSTROPHE.sub("", pair.source), pair.target)


def with_typographic_quotes(random: Random, pair: Pair) -> Pair:
    """’ “ ” and … as word processors insert them."""
    if "`" in pair.source:
        return pair
    source = pair.source.replace("'", "’").replace("...", "…")
    source = re.sub(r'(?<!\S)"(?=\S)', "“", source).replace('"', "”")
    return Pair(source, pair.target)


def with_two_spaces(random: Random, pair: Pair) -> Pair:
    """Two spaces after one of the words of the source."""
    words = pair.source.split(" ")
    if len(words) < 2:
        return pair
    index = random.randrange(1, len(words))
    return Pair(" ".join([*words[:index], "", *words[index:]]), pair.target)


def as_list_item(random: Random, pair: Pair) -> Pair:
    """A dash, a bullet or a number before both sides."""
    item = random.choice(_ITEMS)
    return Pair(*(item + side for side in without_full_stop(random, pair)))


def as_heading(random: Random, pair: Pair) -> Pair:
    """English headings capitalize each word, French ones only the first."""
    source, target = without_full_stop(random, pair)
    source = _WORD.sub(lambda word: _capitalized(word[0]), source)
    mark = random.choice(_HEADINGS)
    return Pair(mark + source, mark + target)


def as_quotation(random: Random, pair: Pair) -> Pair:
    """The sentence between the quotation marks of each language."""
    if any(mark in side for side in pair for mark in _QUOTES):
        return pair
    first, last = random.choice(('""', "“”"))
    return Pair(f"{first}{pair.source}{last}", f"«{_NARROW}{pair.target}{_NARROW}»")


def with_emoji(random: Random, pair: Pair) -> Pair:
    """The same emoji at the end of both sides, rarely at the beginning."""
    emoji = random.choice(_EMOJI) * random.choice((1, 1, 1, 1, 1, 2))
    if random.random() < 0.15:
        return Pair(*(f"{emoji} {side}" for side in pair))
    return Pair(*(f"{side} {emoji}" for side in pair))


def exclaimed(random: Random, pair: Pair) -> Pair:
    """An exclamation mark in place of the full stop."""
    source, target = pair
    if pair == without_full_stop(random, pair):
        return pair
    return Pair(source[:-1] + "!", f"{target[:-1]}{_NARROW}!")


# The weight with which each form is drawn.
FORMS: dict[Form, float] = {
    as_typed_in_a_chat: 4,
    without_full_stop: 3,
    without_apostrophes: 1,
    with_typographic_quotes: 3,
    with_two_spaces: 0.5,
    as_list_item: 1.5,
    as_heading: 1,
    as_quotation: 1.5,
    with_emoji: 1.5,
    exclaimed: 1,
}


def _capitalized(word: str) -> str:
    """The word with its first letter in upper case, the others unchanged."""
    first = next(i for i, character in enumerate(word) if character.isalpha())
    return word[:first] + word[first].upper() + word[first + 1 :]


def _one_form(random: Random, pair: Pair) -> Pair:
    (form,) = random.choices(list(FORMS), list(FORMS.values()))
    return form(random, pair)


# A name, an abbreviation, or a number of two or more digits: "1 year" and "2 years" differ in more
# than the digit.
_COPIED = re.compile(r"\b(?:[A-Z][a-z]{2,}|[A-Z]{2,}|[1-9]\d+)\b")
ELIDING = "AEIOUHY"  # first letters of names before which French elides: d'Anna
# The parts of syllables in names of many languages (Ljubljana, Siemens, Zhang); simple parts occur
# more often.
_SIMPLE, _OPEN = "bcdfghjklmnprstvwxyz", "aeiou"
_CLUSTERS = (
    *("bl", "br", "ch", "cl", "dr", "fl", "gr", "kh", "kl", "kr", "lj", "ph", "pl", "pr", "qu"),
    *("sch", "sh", "sk", "sm", "sn", "st", "str", "sz", "th", "tr", "vl", "zh"),
)
_ONSETS = [*_SIMPLE * 3, *_CLUSTERS]
_FIRST = [onset for onset in _ONSETS if onset[0] not in "hy"]  # d'Hugo and de Hugo both occur
_VOWELS = [*_OPEN * 8, "y", "ai", "au", "ea", "ee", "ei", "ia", "ie", "io", "oo", "ou", "ue"]
_FIRST_VOWELS = [vowel for vowel in _VOWELS if vowel != "y"]  # d'Yves, de Yasmine
_ENDS = ("ck", "d", "l", "ll", "m", "n", "nd", "ng", "nn", "r", "rd", "rk", "rt", "s", "ss", "st")
_CODAS = [*[""] * 24, *_ENDS, "t", "tz", "x", "z"]
_ACCENTED = {"a": "áàâäãåą", "e": "éèêëęě", "i": "íîïı", "o": "óôöõøő", "u": "úùûüů"} | {
    "c": "çćč",
    "l": "ł",
    "n": "ñń",
    "r": "ř",
    "s": "śšş",
    "y": "ý",
    "z": "żž",
}
_ACCENT, _HYPHEN = 0.12, 0.04  # the probability of each in a name


def copied(pair: Pair) -> set[str]:
    """The names and numbers that both sides contain."""
    source, target = (set(_COPIED.findall(side)) for side in pair)
    return source & target


def synthetic_name(random: Random, vowel: bool) -> str:
    """Two or three syllables, the first without an onset if the name begins with a vowel.

    Sometimes a letter has a diacritic (Ståhl, Núñez), or another name follows a hyphen.
    """
    draw = random.choice
    first = draw(_FIRST_VOWELS) if vowel else draw(_FIRST) + draw(_VOWELS)
    others = [draw(_ONSETS) + draw(_VOWELS) for _ in range(draw((1, 1, 2)))]
    name = "".join(syllable + draw(_CODAS) for syllable in (first, *others)).capitalize()
    if random.random() < _ACCENT:
        name = _with_accent(random, name)
    if random.random() < _HYPHEN:
        name += "-" + synthetic_name(random, random.random() < 0.2)
    return name


def _with_accent(random: Random, name: str) -> str:
    """Put a diacritic on one letter after the first, if one of them can have it."""
    able = [i for i in range(1, len(name)) if name[i] in _ACCENTED]
    if not able:
        return name
    index = random.choice(able)
    return name[:index] + random.choice(_ACCENTED[name[index]]) + name[index + 1 :]


Namer = Callable[[Random, bool], str]


class SyntheticNames:
    """Replaces the names and numbers of pairs, with probability `rate` for each pair.

    The same seed changes the same pairs in the same way. `name` generates a name that begins with
    a vowel (True) or with a consonant (False).
    """

    def __init__(self, rate: float, seed: int = 0, name: Namer = synthetic_name) -> None:
        self.rate, self._random, self._name = rate, Random(seed), name

    def __call__(self, pair: Pair) -> Pair:
        """The pair, with another of its kind for each name and number that both sides contain."""
        if self._random.random() >= self.rate:
            return pair
        new = {word: self._another(word) for word in sorted(copied(pair))}
        return Pair(*(_COPIED.sub(lambda w: new.get(w[0], w[0]), side) for side in pair))

    def _another(self, word: str) -> str:
        """A new word that begins with a vowel if `word` does: *de Tom*, but *d'Anna*."""
        size, vowel = len(word), word[0] in ELIDING
        if word.isdecimal():
            return str(self._random.randint(10 ** (size - 1), 10**size - 1))
        if word.isupper():
            first = self._random.choice("AEIOU" if vowel else "BCDFGKLMNPRSTVZ")
            return first + "".join(self._random.choices(ascii_uppercase, k=size - 1))
        return self._name(self._random, vowel)
