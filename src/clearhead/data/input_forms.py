"""Variants of training pairs in other forms in which people type and paste.

Corpora are edited: capitals, full stops, apostrophes and one kind of quotation mark. Input is
not: *im from boston*, *Don’t worry*, *- buy milk*, two sentences on a line, an emoji at the end.
Each form changes the source as people type it, and the target only where the translation must
show it as well (a list item stays a list item).
"""

import re
from collections.abc import Callable
from random import Random

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
_ENCLOSING = (
    ("(", ")"), ("[", "]"), ("**", "**"), ("*", "*"), ("__", "__"), ("_", "_"), ("~~", "~~"),
    ("<p>", "</p>"), ("<li>", "</li>"), ("<b>", "</b>"), ("<h2>", "</h2>"), ("<td>", "</td>"),
)  # fmt: skip
_LABELS = ("A", "B", "Q", "Tom", "Anna", "1", "P.S.", "Note", "Attention")  # the same in French
_QUOTATION = (*['""', "“”"] * 3, "''", "‘’", "«»", "„“")
_SEVERAL = {".": ("...", "…", "!"), "!": ("!!", "!!!", "?!"), "?": ("??", "???", "?!", "!?")}
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
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
        if pair.source[-1:] in _SEVERAL:  # a text is joined from sentences, not from fragments
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
    if not all(side[:-1].strip() and side[-1] == "." and side[-2] != "." for side in pair):
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
    marks = random.choice(_QUOTATION)
    return Pair(f"{marks[0]}{pair.source}{marks[1]}", f"«{_NARROW}{pair.target}{_NARROW}»")


def enclosed(random: Random, pair: Pair) -> Pair:
    """Parentheses, emphasis or the tags of an element around both sides."""
    first, last = random.choice(_ENCLOSING)
    return Pair(*(f"{first}{side}{last}" for side in pair))


def with_label(random: Random, pair: Pair) -> Pair:
    """The name of a speaker, or another label, before both sides."""
    label = random.choice(_LABELS)
    return Pair(f"{label}: {pair.source}", f"{label}{_NARROW}: {pair.target}")


def with_emoji(random: Random, pair: Pair) -> Pair:
    """The same emoji at the end of both sides, rarely at the beginning."""
    emoji = random.choice(_EMOJI) * random.choice((1, 1, 1, 1, 1, 2))
    if random.random() < 0.15:
        return Pair(*(f"{emoji} {side}" for side in pair))
    return Pair(*(f"{side} {emoji}" for side in pair))


def with_several_marks(random: Random, pair: Pair) -> Pair:
    """An ellipsis, an exclamation mark or several marks in place of the last mark of both sides."""
    source, target = pair
    last = source[-1:]
    if last not in _SEVERAL or not target.endswith(last) or source[-2:-1] in _SEVERAL:
        return pair
    marks = random.choice(_SEVERAL[last])
    space = "" if marks[0] in ".…" else _NARROW
    return Pair(source[:-1] + marks, target[:-1].rstrip(_NARROW) + space + marks)


def with_other_capital(random: Random, pair: Pair) -> Pair:
    """*Dog* and *Chien* for *dog* and *chien*, or the reverse: fragments show their case."""
    source, target = pair
    words = source.split()
    if not words or source[-1] in ".!?…:" or target[-1] in ".!?…:" or len(words) > 4:
        return pair
    if source[0].islower() and target[0].islower():
        return Pair(*(side[0].upper() + side[1:] for side in pair))
    if words[0] in target.split() or not source[1:].islower() or not target[1:].islower():
        return pair  # perhaps a name
    return Pair(*(side[0].lower() + side[1:] for side in pair))


def with_typo(random: Random, pair: Pair) -> Pair:
    """A letter of a word of the source doubled, left out, exchanged with the next, or mistyped."""
    words = re.findall(r"(?<!\S)[a-z]{4,}(?=[\s.,!?])", pair.source)
    if not words:
        return pair
    word = random.choice(words)
    i = random.randrange(1, len(word) - 1)
    head, letter, after = word[:i], word[i], word[i + 1 :]
    (row,) = (row for row in _KEYS if letter in row)
    near = row.index(letter)
    other = random.choice(row[max(near - 1, 0) : near + 2].replace(letter, ""))
    ways = (letter * 2 + after, after, after[0] + letter + after[1:], other + after)
    return Pair(
        re.sub(rf"(?<!\S){word}\b", head + random.choice(ways), pair.source, count=1), pair.target
    )


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
    with_several_marks: 2,
    enclosed: 1.5,
    with_label: 0.7,
    with_other_capital: 1,
    with_typo: 4,
}


def _capitalized(word: str) -> str:
    """The word with its first letter in upper case, the others unchanged."""
    first = next((i for i, character in enumerate(word) if character.isalpha()), 0)  # ½ has none
    return word[:first] + word[first].upper() + word[first + 1 :]


def _one_form(random: Random, pair: Pair) -> Pair:
    (form,) = random.choices(list(FORMS), list(FORMS.values()))
    return form(random, pair)
