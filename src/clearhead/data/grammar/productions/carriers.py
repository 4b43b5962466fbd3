"""Sentences around the productions: draw a carrier, fill its slots, write both sides."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ..bitext import (
    NARROW_NO_BREAK,
    GrammarPair,
    Word,
    align,
    align_surely,
    elidable,
    english_text,
    french_text,
    join_french,
)
from ..vocabulary import Draw
from .slots import fill
from .templates import Item, Template, read_template
from .values import NO_BREAK, Filling, within

CARRIERS = ("introductions", "dates", "numbers", "places", "copies", "fields")
_ELIDING = frozenset({"de", "que", "ne", "je", "me", "te", "se", "le", "la"})


@dataclass(frozen=True, slots=True)
class Carried:
    """A carrier with its slots filled; the English side is written, the French on demand."""

    template: Template
    fillings: dict[str, Filling]
    source: list[Word]

    @property
    def text(self) -> str:
        """The English sentence."""
        return self._uncapitalized(english_text(self.source))

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

    def pair(self) -> GrammarPair:
        """Both sides with their links."""
        target = join_french(_closed(_french(self.template, self.fillings)))
        return GrammarPair(
            self.text,
            self._uncapitalized(french_text(target)),
            align(self.source, target),
            align_surely(self.source, target),
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
    _put_in_order(fillings)
    return Carried(template, fillings, _closed(_english(template, fillings)))


def _put_in_order(fillings: dict[str, Filling]) -> None:
    """From 1914 to 1918, not back in time."""
    if "year#2" in fillings:
        years = sorted((fillings["year"], fillings["year#2"]), key=lambda one: one.values)
        fillings["year"], fillings["year#2"] = years


def _english(template: Template, fillings: dict[str, Filling]) -> list[Word]:
    out: list[Word] = []
    for item in template.english:
        if item.slot:
            out += _spaced(within(fillings[item.slot].english, item.slot), item, out)
        else:
            space = None if item.space or not out else ""
            out.append(Word(item.text, item.links, "", space))
    return out


def _closed(words: list[Word]) -> list[Word]:
    """`at 3 p.m..` and `av. J.-C..` have one full stop too many."""
    *rest, before, last = words
    if (before.text, last.text) != (".", "."):
        return words
    return [*rest, before._replace(links=before.links | last.links)]


def _french(template: Template, fillings: dict[str, Filling]) -> list[Word]:
    out: list[Word] = []
    feminine = any(fillings[slot].feminine for slot in template.slots[:1])
    for item in template.french:
        if item.slot:
            out += _spaced(within(fillings[item.slot].french, item.slot), item, out)
        else:
            out.append(_french_word(item, out, feminine))
    return out


def _french_word(item: Item, before: list[Word], feminine: bool) -> Word:
    text = item.text + "e" * (item.agrees and feminine)
    lower = text.lower()
    if lower in _ELIDING and (not before or text == lower):
        text = lower
        found = elidable(text, *item.links)
    else:
        found = Word(text, item.links)
    return found._replace(space=_french_space(item, before))


def _french_space(item: Item, before: list[Word]) -> str | None:
    if not before:
        return None
    if before[-1].text == "«" or item.text in ("»", ":", "%"):
        return NO_BREAK
    if item.text == ";":
        return NARROW_NO_BREAK
    return None if item.space or item.text in "?!" else ""


def _spaced(words: list[Word], item: Item, before: list[Word]) -> list[Word]:
    if before and before[-1].text == "«":
        return [words[0]._replace(space=NO_BREAK), *words[1:]]
    if before and not item.space and not before[-1].text.endswith("'"):
        return [words[0]._replace(space=""), *words[1:]]
    if before and words[0].text in (".", ":"):  # ./run.sh: no full stop of the sentence
        return [words[0]._replace(space=" "), *words[1:]]
    return words
