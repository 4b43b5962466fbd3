"""Words that know where they come from: the derivation labels both sides with the same links."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Link = tuple[str, int]


class Word(NamedTuple):
    """One word of one side; two words that share a link are translations of each other."""

    text: str
    links: frozenset[Link]
    before_vowel: str = ""  # the form it takes before a vowel sound: l', j', bel, cet, mon


def word(text: str, *links: Link, before_vowel: str = "") -> Word:
    """A word with its links."""
    return Word(text, frozenset(links), before_vowel)


def phrase(texts: Iterable[str], *links: Link) -> list[Word]:
    """Several words that all carry the same links (`wake up`, `look at`)."""
    shared = frozenset(links)
    return [Word(text, shared) for text in texts]


def align(source: Sequence[Word], target: Sequence[Word]) -> tuple[tuple[int, int], ...]:
    """All (source word, target word) index pairs that share a link, in order."""
    places: dict[Link, list[int]] = {}
    for index, target_word in enumerate(target):
        for link in target_word.links:
            places.setdefault(link, []).append(index)
    pairs = {
        (index, place)
        for index, source_word in enumerate(source)
        for link in source_word.links
        for place in places.get(link, ())
    }
    return tuple(sorted(pairs))
