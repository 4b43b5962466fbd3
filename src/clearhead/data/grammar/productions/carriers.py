"""Carrier sentences around the productions: read from `lexicon/carriers/`, drawn, filled, written.

`I was born on {date}.` and `Je suis né le {date}.`: word by word when both sides have equally
many words. `My | name is {first}.` and `Je | m'appelle {first}.`: part by part, the parts
between bars. A third column links parts that are in another order: `0-1 1-0`.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from clearhead.errors import UserError

from .. import bitext
from ..lexicon import Links, read_links
from ..vocabulary import Draw
from .slots import fill, is_slot, put_in_order
from .values import NO_BREAK, Filling, within

CARRIERS = ("introductions", "dates", "numbers", "places", "copies", "fields")
_ELIDING = frozenset({"de", "que", "ne", "je", "me", "te", "se", "le", "la"})
_SEGMENT = re.compile(r"\{([^}]*)\}|(\s*\|\s*)|([^{|]+)")
_MARKS = ".,;:?!()…"
_QUOTES = '"«»'
_ABBREVIATED = ("Mr", "Mrs", "Ms", "Dr", "M")
_AGREES = ["(", "e", ")"]  # né(e)


class Item(NamedTuple):
    """A word with its links, or a slot; `space` is what the template has before it."""

    text: str
    space: str
    links: frozenset[bitext.Link] = frozenset()
    slot: str = ""
    agrees: bool = False


@dataclass(frozen=True, slots=True)
class Template:
    """Both sides of a carrier sentence."""

    english: tuple[Item, ...]
    french: tuple[Item, ...]

    @property
    def slots(self) -> list[str]:
        """The names of its slots, in English order; `city#2` is a second city."""
        return [item.slot for item in self.english if item.slot]


class _Raw(NamedTuple):
    text: str
    space: str
    part: int  # of a word; -1 of a mark or a slot
    slot: str = ""
    agrees: bool = False


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
    return Template(
        tuple(_item(raw, number, links, 0) for number, raw in _marked(english, french, where)),
        tuple(_item(raw, number, links, 1) for number, raw in _marked(french, english, where)),
    )


def _read(side: str, where: str) -> list[_Raw]:
    out: list[_Raw] = []
    space, part, barred, opened = "", 0, "|" in side, False
    for slot, bar, text in _SEGMENT.findall(side):
        if bar:
            space, part, opened = " ", part + opened, False
        elif slot:
            if not is_slot(slot.partition("#")[0]):
                raise UserError(f"{where}: slot {{{slot}}} is unknown")
            out.append(_Raw("", space, -1, slot))
            space = ""
        else:
            words, space = _words(text, space)
            for raw in words:
                if raw.text == "." and out and out[-1].text in _ABBREVIATED:
                    out.append(raw._replace(part=out[-1].part))
                    continue
                mark = raw.text in _MARKS + _QUOTES
                out.append(raw._replace(part=-1 if mark else part))
                opened = opened or not mark
                part += not barred and not mark
    return out


def _words(text: str, before: str) -> tuple[list[_Raw], str]:
    """The words of a text, and the space after them; `né(e)` is one that agrees."""
    spans = bitext.word_spans(text)
    found, end, index = list[_Raw](), 0, 0
    while index < len(spans):
        start, stop = spans[index]
        gap = text[end:start] if index else before + text[:start]
        agrees = [text[a:b] for a, b in spans[index + 1 : index + 4]] == _AGREES
        agrees = agrees and text[stop : stop + 3] == "(e)"
        found.append(_Raw(text[start:stop], gap, 0, "", agrees))
        index += 4 if agrees else 1
        end = spans[index - 1][1]
    return found, text[end:] if spans else before + text


def _check_slots(english: list[_Raw], french: list[_Raw], where: str) -> None:
    sides = [sorted(raw.slot for raw in side if raw.slot) for side in (english, french)]
    if sides[0] != sides[1] or len(set(sides[0])) != len(sides[0]):
        raise UserError(f"{where}: slots {sides[0]} and {sides[1]}; expected the same, each once")


def _count(side: list[_Raw]) -> int:
    return 1 + max((raw.part for raw in side), default=-1)


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


def _marked(side: list[_Raw], other: list[_Raw], where: str) -> list[tuple[int, _Raw]]:
    """Number the marks of each kind, which are linked in order with those of the other side."""
    kinds = [sorted(_kind(raw.text) for raw in s if not raw.slot and raw.part < 0)
             for s in (side, other)]  # fmt: skip
    if kinds[0] != kinds[1]:
        raise UserError(f"{where}: punctuation {kinds[0]} and {kinds[1]}; expected the same")
    seen: dict[str, int] = {}
    out = []
    for raw in side:
        kind = _kind(raw.text)
        seen[kind] = seen.get(kind, -1) + (raw.part < 0)
        out.append((seen[kind], raw))
    return out


def _kind(text: str) -> str:
    return '"' if text in ("«", "»") else text


def _item(raw: _Raw, number: int, links: Links, side: int) -> Item:
    if raw.slot:
        return Item("", raw.space, frozenset(), raw.slot)
    if raw.part < 0:
        labels = frozenset({(f"mark{_kind(raw.text)}", number)})
    else:
        labels = frozenset((f"part{s}", t) for s, t in links if (s, t)[side] == raw.part)
    return Item(raw.text, raw.space, labels, "", raw.agrees)


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
            bitext.align_surely(self.source, target),
            frozenset(filling.phenomenon for filling in self.fillings.values()),
            "production",
        )


@cache
def carriers() -> tuple[Template, ...]:
    """Every carrier sentence.

    Raises:
        UserError: a malformed line, by file and number.
    """
    folder = files("clearhead.data.grammar").joinpath("lexicon", "carriers")
    return tuple(
        template
        for name in CARRIERS
        for template in parse(folder.joinpath(f"{name}.tsv").read_text("utf-8"), f"{name}.tsv")
    )


def parse(text: str, name: str) -> list[Template]:
    """Read the text of a file of carriers."""
    return [
        read_template([cell.strip() for cell in line.split("\t")], f"{name}:{number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line and not line.startswith("#")
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
