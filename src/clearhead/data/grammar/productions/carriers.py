"""Carrier sentences around the productions: read from `lexicon/carriers/`, drawn, filled, written.

`I was born on {date}.` and `Je suis né le {date}.`: word by word when both sides have equally
many words. `My | name is {first}.` and `Je | m'appelle {first}.`: part by part, the parts
between bars. A third column links parts that are in another order: `0-1 1-0`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from clearhead.errors import UserError

from .. import bitext
from ..lexicon import Links, numbered_lines, read, read_links
from ..vocabulary import Draw
from .slots import fill, is_slot, put_in_order
from .values import NO_BREAK, Filling, within

CARRIERS = ("introductions", "dates", "numbers", "places", "copies", "fields")
_ELIDING = frozenset({"de", "que", "ne", "je", "me", "te", "se", "le", "la"})
_SEGMENT = re.compile(r"\{([^}]*)\}|(\s*\|\s*)|([^{|]+)")
_MARKS = ".,;:?!()…"
_QUOTES = '"«»'
_ABBREVIATED = ("Mr", "Mrs", "Ms", "Dr", "M")


class Item(NamedTuple):
    """A word or a mark with its links, or a slot; `space` is what the template has before it."""

    text: str
    space: str
    part: int = -1  # of a word; -1 of a mark or a slot
    slot: str = ""
    agrees: bool = False
    links: frozenset[bitext.Link] = frozenset()


@dataclass(frozen=True, slots=True)
class Template:
    """Both sides of a carrier sentence."""

    english: tuple[Item, ...]
    french: tuple[Item, ...]

    @property
    def slots(self) -> list[str]:
        """The names of its slots, in English order; `city#2` is a second city."""
        return [item.slot for item in self.english if item.slot]


def read_template(cells: list[str], where: str) -> Template:
    """A carrier from its columns: English, French and, where needed, links.

    Raises:
        UserError: a slot that is unknown or on one side only, or parts that cannot be linked.
    """
    if not 2 <= len(cells) <= 3:
        raise UserError(f"{where}: expected English, French and perhaps links, found {cells}")
    english, french = _read(cells[0], where), _read(cells[1], where)
    _check_slots(english, french, where)
    counts = _count(english), _count(french)
    links = _part_links(cells[2] if len(cells) == 3 else "", counts, where)
    _check_marks(english, french, where)
    return Template(tuple(_linked(english, links, 0)), tuple(_linked(french, links, 1)))


def _read(side: str, where: str) -> list[Item]:
    out: list[Item] = []
    space, part, barred, opened = "", 0, "|" in side, False
    for slot, bar, text in _SEGMENT.findall(side):
        if bar:
            space, part, opened = " ", part + opened, False
        elif slot:
            if not is_slot(slot.partition("#")[0]):
                raise UserError(f"{where}: slot {{{slot}}} is unknown")
            out.append(Item("", space, slot=slot))
            space = ""
        else:
            words, space = _words(text, space)
            for item in words:
                if item.text == "." and out and out[-1].text in _ABBREVIATED:
                    out.append(item._replace(part=out[-1].part))
                    continue
                mark = item.text in _MARKS + _QUOTES
                out.append(item._replace(part=-1 if mark else part))
                opened = opened or not mark
                part += not barred and not mark
    return out


def _words(text: str, before: str) -> tuple[list[Item], str]:
    """The words of a text, and the space after them; `né(e)` is one that agrees."""
    found, space, end = list[Item](), before, 0
    for start, stop in bitext.word_spans(text):
        if start >= end:  # not the parts of "(e)"
            agrees = text.startswith("(e)", stop)
            found.append(Item(text[start:stop], space + text[end:start], agrees=agrees))
            space, end = "", stop + len("(e)") * agrees
    return found, space + text[end:]


def _check_slots(english: list[Item], french: list[Item], where: str) -> None:
    sides = [sorted(item.slot for item in side if item.slot) for side in (english, french)]
    if sides[0] != sides[1] or len(set(sides[0])) != len(sides[0]):
        raise UserError(f"{where}: slots {sides[0]} and {sides[1]}; expected the same, each once")


def _count(side: list[Item]) -> int:
    return 1 + max((item.part for item in side), default=-1)


def _part_links(text: str, counts: tuple[int, int], where: str) -> Links:
    if not text:
        if counts[0] != counts[1]:
            raise UserError(
                f"{where}: {counts[0]} English and {counts[1]} French parts; set bars or links"
            )
        return tuple((index, index) for index in range(counts[0]))
    links = read_links(text)
    if [{s for s, _ in links}, {t for _, t in links}] != [set(range(n)) for n in counts]:
        raise UserError(f"{where}: links {text!r} leave out a part; there are {counts}")
    return links


def _check_marks(english: list[Item], french: list[Item], where: str) -> None:
    kinds = [
        sorted(_kind(item.text) for item in side if not item.slot and item.part < 0)
        for side in (english, french)
    ]
    if kinds[0] != kinds[1]:
        raise UserError(f"{where}: punctuation {kinds[0]} and {kinds[1]}; expected the same")


def _kind(text: str) -> str:
    return '"' if text in ("«", "»") else text


def _linked(items: list[Item], links: Links, side: int) -> Iterator[Item]:
    """The items of a side with their links: words by part, marks by their order in their kind."""
    seen = Counter[str]()
    for item in items:
        kind = _kind(item.text)
        if item.slot:
            yield item
        elif item.part < 0:
            yield item._replace(links=frozenset({(f"mark{kind}", seen[kind])}))
            seen[kind] += 1
        else:
            labels = frozenset((f"part{s}", t) for s, t in links if (s, t)[side] == item.part)
            yield item._replace(links=labels)


@dataclass(frozen=True, slots=True)
class Carried:
    """A carrier with its slots filled; the English side is written, the French on demand."""

    template: Template
    fillings: dict[str, Filling]
    source: list[bitext.Word]

    @property
    def text(self) -> str:
        """The English sentence."""
        return self._uncapitalized(bitext.english_text(self.source))

    @property
    def values(self) -> frozenset[str]:
        """The values in it that may be held out."""
        return frozenset(v for filling in self.fillings.values() for v in filling.values)

    def _uncapitalized(self, text: str) -> str:
        """A file name or an address that begins the sentence keeps its small letter."""
        first = self.template.english[0].slot
        if not first or self.fillings[first].phenomenon != "copy":
            return text
        return self.fillings[first].english[0].text[0] + text[1:]

    def pair(self) -> bitext.GrammarPair:
        """Both sides with their links."""
        target = bitext.join_french(bitext.closed(_french(self.template, self.fillings)))
        return bitext.GrammarPair(
            self.text,
            self._uncapitalized(bitext.french_text(target)),
            bitext.align(self.source, target),
            bitext.align(self.source, target, bitext.POSSIBLE),
            frozenset(filling.phenomenon for filling in self.fillings.values()),
            "production",
        )


@cache
def carriers() -> tuple[Template, ...]:
    """Every carrier sentence, or a UserError that names a malformed line by file and number."""
    return tuple(
        template for name in CARRIERS for template in parse(read(f"carriers/{name}"), f"{name}.tsv")
    )


def parse(text: str, name: str) -> list[Template]:
    """Read the text of a file of carriers."""
    return [
        read_template([cell.strip() for cell in line.split("\t")], f"{name}:{number}")
        for number, line in numbered_lines(text)
    ]


def carry(rng: Draw, template: Template | None = None) -> Carried:
    """A sentence around one carrier, at random unless given."""
    template = template or rng.choice(carriers())
    fillings = {slot: fill(rng, slot.partition("#")[0]) for slot in template.slots}
    put_in_order(fillings)
    return Carried(template, fillings, bitext.closed(_english(template, fillings)))


def _english(template: Template, fillings: dict[str, Filling]) -> list[bitext.Word]:
    out: list[bitext.Word] = []
    for item in template.english:
        if item.slot:
            out += _spaced(within(fillings[item.slot].english, item.slot), item, out)
        else:
            space = None if item.space or not out else ""
            out.append(bitext.Word(item.text, item.links, "", space))
    return out


def _french(template: Template, fillings: dict[str, Filling]) -> list[bitext.Word]:
    out: list[bitext.Word] = []
    feminine = any(fillings[slot].feminine for slot in template.slots[:1])
    for item in template.french:
        if item.slot:
            out += _spaced(within(fillings[item.slot].french, item.slot), item, out)
        else:
            out.append(_french_word(item, out, feminine))
    return out


def _french_word(item: Item, before: list[bitext.Word], feminine: bool) -> bitext.Word:
    text = item.text + "e" * (item.agrees and feminine)
    lower = text.lower()
    if lower in _ELIDING and (not before or text == lower):
        text = lower
        found = bitext.elidable(text, *item.links)
    else:
        found = bitext.Word(text, item.links)
    return found._replace(space=_french_space(item, before))


def _french_space(item: Item, before: list[bitext.Word]) -> str | None:
    if not before:
        return None
    if before[-1].text == "«" or item.text in ("»", ":", "%"):
        return NO_BREAK
    if item.text == ";":
        return bitext.NARROW_NO_BREAK
    return None if item.space or item.text in "?!" else ""


def _spaced(words: list[bitext.Word], item: Item, before: list[bitext.Word]) -> list[bitext.Word]:
    if before and before[-1].text == "«":
        return [words[0]._replace(space=NO_BREAK), *words[1:]]
    if before and not item.space and not before[-1].text.endswith("'"):
        return [words[0]._replace(space=""), *words[1:]]
    if before and words[0].text in (".", ":"):  # ./run.sh: no full stop of the sentence
        return [words[0]._replace(space=" "), *words[1:]]
    return words
