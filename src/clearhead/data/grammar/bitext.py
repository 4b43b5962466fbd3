"""Words with alignment links, and how a sentence is written from them in either language.

A derivation gives the words of both sides the same links; the alignment is read off these.
French words change where they meet: elision, contraction and the spaces before punctuation.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .lexicon import aspirated_names, aspirated_words

# An elision only at the start of a word, or the t' of "don't" would be one too.
_WORD = re.compile(
    r"""
      \b aujourd['’]hui \b             # one word in spite of its apostrophe
    | \w+ n['’]t \b                    # don't, isn't
    | \b (?: qu | [cdjlmnst] ) ['’]    # qu', l', n', s'
    | ['’]s \b                         # Paul's -> Paul + 's
    | \w+ (?: - \w+ )*                 # grand-mère, est-ce
    | [^\w\s]                          # punctuation
    """,
    re.VERBOSE | re.IGNORECASE,
)
NARROW_NO_BREAK = "\u202f"  # French typography has it before ? and !
_VOWELS = "aeiouâàéèêëîïôöœh"
_VOWEL_Y = re.compile("y(?:$|eux$|[bcdfghjklmnpqrstvwxz])")  # y, yeux, Yves, but not Yann
_ELIDED = {"de": "d'", "que": "qu'", "ne": "n'", "je": "j'", "me": "m'", "te": "t'", "se": "s'",
           "le": "l'", "la": "l'"}  # fmt: skip
_CONTRACTED = {
    ("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux",
    ("de", "Le"): "du", ("à", "Le"): "au",  # of names: Le Caire, au Caire
}  # fmt: skip
_ROMAN = re.compile("[IVX]+er?")
_SPACED = "?!"
_ATTACHED = frozenset({".", "?", "!", ",", "'s"})

Link = tuple[str, int]
Pairs = tuple[tuple[int, int], ...]
# What marks a whole sentence in French and has no word of its own in English: `est-ce que`
# beside the verb that English moves to the front, `ne` beside not. Annotators call
# such links possible, all others sure (Och and Ney 2003, section 5.1).
POSSIBLE = frozenset({"question", "ne"})


class Word(NamedTuple):
    """One word of one side; two words that share a link are translations of each other."""

    text: str
    links: frozenset[Link]
    before_vowel: str = ""  # the form it takes before a vowel sound: l', j', bel, cet, mon
    space: str | None = None  # what stands before it; None: what the language has there


class GrammarPair(NamedTuple):
    """An English sentence, its French translation and its derivation."""

    source: str
    target: str
    alignment: Pairs  # (source word, target word), 0-based over words()
    sure: Pairs  # those of `alignment` that every annotator would draw
    phenomena: frozenset[str]
    construction: str


def word_spans(text: str) -> list[tuple[int, int]]:
    """The (start, end) character offsets of every word of `text`, in order."""
    return [match.span() for match in _WORD.finditer(text)]


def words(text: str) -> list[str]:
    """The words of `text`: `"L'ami n'a pas"` is `["L'", "ami", "n'", "a", "pas"]`."""
    return _WORD.findall(text)


def word(text: str, *links: Link, before_vowel: str = "") -> Word:
    """A word with its links."""
    return Word(text, frozenset(links), before_vowel)


def phrase(texts: Iterable[str], *links: Link) -> list[Word]:
    """Several words that all carry the same links (`wake up`, `look at`)."""
    shared = frozenset(links)
    return [Word(text, shared) for text in texts]


def elidable(text: str, *links: Link) -> Word:
    """A French word that loses its vowel before another: de, que, ne, je, me, te, se, le, la.

    Any other word stays as it is.
    """
    return word(text, *links, before_vowel=_ELIDED.get(text, ""))


def align(
    source: Sequence[Word], target: Sequence[Word], without: frozenset[str] = frozenset()
) -> Pairs:
    """All (source word, target word) index pairs that share a link of another kind, in order."""
    positions: dict[Link, list[int]] = {}
    for index, target_word in enumerate(target):
        for link in target_word.links:
            if link[0] not in without:
                positions.setdefault(link, []).append(index)
    pairs = {
        (index, position)
        for index, source_word in enumerate(source)
        for link in source_word.links
        for position in positions.get(link, ())
    }
    return tuple(sorted(pairs))


def english_text(words: Sequence[Word]) -> str:
    """The sentence as it is written, from its words and punctuation."""
    out = words[0].text
    for item in words[1:]:
        usual = "" if item.text in _ATTACHED else " "
        out += (usual if item.space is None else item.space) + item.text
    return out[0].upper() + out[1:]


def starts_with_vowel(text: str) -> bool:
    """Whether a French word begins with a vowel sound, so that le becomes l' before it."""
    if text in aspirated_names() or _ROMAN.fullmatch(text):
        return False  # le IIe siècle
    lower = text.lower()
    if lower[0] == "y":
        return _VOWEL_Y.match(lower) is not None
    return lower[0] in _VOWELS and not lower.startswith(aspirated_words())


def join_french(words: list[Word]) -> list[Word]:
    """Each word in the form that it has before its neighbour: elided, contracted."""
    return _contract(_elide(words))


def _elide(words: list[Word]) -> list[Word]:
    out = list(words)
    # From the right: whether que elides depends on the word after it alone.
    for index in range(len(out) - 2, -1, -1):
        this, following = out[index], out[index + 1].text
        if this.text == "si" and following in ("il", "ils"):
            out[index] = this._replace(text="s'")
        elif this.before_vowel and starts_with_vowel(following):
            out[index] = this._replace(text=this.before_vowel)
    return out


def _contract(words: list[Word]) -> list[Word]:
    out: list[Word] = []
    for this in words:
        fused = _CONTRACTED.get((out[-1].text, this.text)) if out else None
        if fused:
            out[-1] = Word(fused, out[-1].links | this.links)
        else:
            out.append(this)
    return out


def closed(words: list[Word]) -> list[Word]:
    """`at 3 p.m..` and `av. J.-C..` have one full stop too many."""
    *rest, before, last = words
    if (before.text, last.text) != (".", "."):
        return words
    return [*rest, before._replace(links=before.links | last.links)]


def french_text(words: list[Word]) -> str:
    """The sentence as it is written, from the words that `join_french` returned."""
    out = ""
    for item in words:
        if item.space is not None:
            out += item.space
        elif item.text in _SPACED:
            out += NARROW_NO_BREAK
        elif out and not out.endswith("'") and item.text not in ".,":
            out += " "
        out += item.text
    return out[0].upper() + out[1:]
