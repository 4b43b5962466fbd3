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


Pairs = tuple[tuple[int, int], ...]
# What marks a whole sentence in French and has no word of its own in English: `est-ce que`
# beside the verb that English moves to the front, `ne` beside not. Annotators call
# such links possible, all others sure (Och and Ney 2003, section 5.1).
POSSIBLE = frozenset({"question", "ne"})


def align(source: Sequence[Word], target: Sequence[Word]) -> Pairs:
    """All (source word, target word) index pairs that share a link, in order."""
    return _sharing(source, target, frozenset())


def align_surely(source: Sequence[Word], target: Sequence[Word]) -> Pairs:
    """Those of them that share a link which is more than possible."""
    return _sharing(source, target, POSSIBLE)


def _sharing(source: Sequence[Word], target: Sequence[Word], ignored: frozenset[str]) -> Pairs:
    places: dict[Link, list[int]] = {}
    for index, target_word in enumerate(target):
        for link in target_word.links:
            if link[0] not in ignored:
                places.setdefault(link, []).append(index)
    pairs = {
        (index, place)
        for index, source_word in enumerate(source)
        for link in source_word.links
        for place in places.get(link, ())
    }
    return tuple(sorted(pairs))
