"""What a production writes into a sentence: the same value in both languages, linked.

Numbers as both languages write them belong to it: digits in groups, words, ordinals, Roman
numerals.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from ..bitext import Word, word_spans
from ..lexicon import table

NO_BREAK = "\u00a0"
GROUP_SPACE = "\u202f"
GLUED = ""
_ROMAN = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
_POINT = 50  # the link of the decimal point; digits after it have the next one


@dataclass(frozen=True, slots=True)
class Filling:
    """Words of both sides; their links are local to the filling.

    `phenomenon` is what it shows. `values` name what may be held out of training (`name:Amara`,
    `time:15:37`); a value that every reader knows by heart, such as a month, is not among them.
    """

    english: Sequence[Word]
    french: Sequence[Word]
    phenomenon: str
    values: tuple[str, ...] = ()
    feminine: bool = False


def piece(text: str, *links: int, space: str | None = None) -> Word:
    """A word with numbered links; `space` is what stands before it, None for the usual."""
    return Word(text, frozenset(("part", link) for link in links), "", space)


def pieces(text: str, *links: int, space: str | None = None) -> list[Word]:
    """The words of `text`, all with the same links; the spaces between them stay."""
    out: list[Word] = []
    end = 0
    for start, stop in word_spans(text):
        gap = text[end:start] if out else space
        out.append(piece(text[start:stop], *links, space=gap))
        end = stop
    return out


def copied(text: str, phenomenon: str, *values: str, feminine: bool = False) -> Filling:
    """A text that French has unchanged, its words linked one to one."""
    parts = enumerate(pieces(text))
    linked = [part._replace(links=frozenset({("part", index)})) for index, part in parts]
    return Filling(linked, linked, phenomenon, tuple(filter(None, values)), feminine)


def one_to_one(english: str, french: str, phenomenon: str) -> Filling:
    """Two texts whose words are all linked with all."""
    return Filling(pieces(english, 0), pieces(french, 0), phenomenon)


def numeric(value: str, english: list[Word], french: list[Word], phenomenon: str) -> Filling:
    """A number written in digits; from three characters on it may be held out."""
    values = (f"number:{value}",) if len(value) > 2 else ()
    return Filling(english, french, phenomenon, values)


def glued(words: Sequence[Word]) -> list[Word]:
    """The same words without a space before the first."""
    return [words[0]._replace(space=GLUED), *words[1:]]


def after_no_break(words: Sequence[Word]) -> list[Word]:
    """The same words with a no-break space before the first."""
    return [words[0]._replace(space=NO_BREAK), *words[1:]]


def joined(left: Sequence[Word], right: Sequence[Word]) -> list[Word]:
    """The last word of `left` and the first of `right` written as one: `5km`, `30pm`."""
    one = left[-1]._replace(text=left[-1].text + right[0].text)
    return [*left[:-1], one._replace(links=one.links | right[0].links), *right[1:]]


def shifted(words: Iterable[Word], by: int) -> list[Word]:
    """The same words with other link numbers, to stand beside a second value."""
    return [
        word._replace(links=frozenset((label, number + by) for label, number in word.links))
        for word in words
    ]


def within(words: Iterable[Word], name: str) -> list[Word]:
    """The words of a filling inside a sentence: their links are those of the slot `name`."""
    return [
        item._replace(links=frozenset((f"{name}:{label}", n) for label, n in item.links))
        for item in words
    ]


def digits(value: str) -> tuple[list[Word], list[Word]]:
    """`1250.5` as 1,250.5 and 1 250,5; the links are below 52."""
    whole, point, decimals = value.partition(".")
    groups = f"{int(whole):,}".split(",")
    english, french = [piece(groups[0], 0)], [piece(groups[0], 0)]
    for index, group in enumerate(groups[1:], start=1):
        english += [piece(",", index, space=GLUED), piece(group, index, space=GLUED)]
        french.append(piece(group, index, space=GROUP_SPACE))
    if point:
        for side, mark in ((english, "."), (french, ",")):
            side.append(piece(mark, _POINT, space=GLUED))
            side.append(piece(decimals, _POINT + 1, space=GLUED))
    return english, french


@cache
def _words() -> dict[int, tuple[str, str, str]]:
    """English, French and the English ordinal of 0 to 19 and the tens."""
    return {int(row[0]): (row[1], row[2], row[3]) for row in table("productions/number_words")}


def written(number: int, spelled: bool) -> tuple[str, str]:
    """A number in both languages, in words or in digits."""
    return (english_words(number), french_words(number)) if spelled else (str(number),) * 2


def english_words(number: int) -> str:
    """A number below 10,000 in English words: twenty-one, three hundred and fifty."""
    if number in _words():
        return _words()[number][0]
    if number < 100:
        return f"{_words()[number // 10 * 10][0]}-{_words()[number % 10][0]}"
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    most, rest = divmod(number, size)
    joint = " and " if rest < 100 else " "
    return f"{english_words(most)} {name}" + (joint + english_words(rest) if rest else "")


def french_words(number: int) -> str:
    """A number below 10,000 in French words: vingt et un, quatre-vingts, deux cent cinquante."""
    if number in _words() and _words()[number][1]:
        return _words()[number][1]
    if number >= 100:
        return _french_large(number)
    tens, ones = divmod(number, 10)
    if tens in (7, 9):
        tens, ones = tens - 1, ones + 10
    first, unit = _words()[10 * tens][1], _words()[ones][1]
    if tens == 8:
        return f"quatre-vingt-{unit}"
    return f"{first} et {unit}" if ones in (1, 11) else f"{first}-{unit}"


def _french_large(number: int) -> str:
    """Mille never takes an s, cent only where nothing follows: deux cents, deux cent dix."""
    size, name = (1000, "mille") if number >= 1000 else (100, "cent")
    most, rest = divmod(number, size)
    plural = "s" if (size, rest) == (100, 0) and most > 1 else ""
    head = name + plural if most == 1 else f"{french_words(most)} {name}{plural}"
    return f"{head} {french_words(rest)}" if rest else head


def english_ordinal(number: int) -> str:
    """`fourth`, `twenty-first`."""
    if number in _words():
        return _words()[number][2]
    return f"{_words()[number // 10 * 10][0]}-{_words()[number % 10][2]}"


def french_ordinal(number: int, feminine: bool = False) -> str:
    """`premier`, `quatrième`, `neuvième`, `vingt et unième`."""
    if number == 1:
        return "première" if feminine else "premier"
    words = "quatre-vingt" if number == 80 else french_words(number)
    if words.endswith("cinq"):
        return words + "uième"
    if words.endswith("neuf"):
        return words[:-1] + "vième"
    return words.removesuffix("e") + "ième"


def english_suffix(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `11th`."""
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{last or 'th'}"


def french_suffix(number: int, feminine: bool = False) -> str:
    """`1er`, `1re`, `2e`."""
    return f"{number}{('re' if feminine else 'er') if number == 1 else 'e'}"


def roman(number: int) -> str:
    """A number below 40 in Roman numerals: XIX."""
    out = ""
    for value, sign in _ROMAN:
        while number >= value:
            out, number = out + sign, number - value
    return out
