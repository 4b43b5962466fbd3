"""Labels that the built-in grammar knows: `grammar:SPLIT:COUNT[:SEED]` instead of a file.

It makes each sentence from a tree, so it knows the truth about both tasks without any
annotator: of a sentence its construction, of a word what it does there ("that" may begin a
relative clause, connect two clauses or point at a noun).
"""

from collections.abc import Iterator
from itertools import islice
from random import Random
from zlib import crc32

from clearhead.data.labelled import LabelledText, LabelledWords
from clearhead.errors import UserError

# The first of these that a word's links name is what it does.
ROLES = {
    "verb": "verb",
    "finite": "auxiliary",
    "not": "negation",
    "noun": "noun",
    "det": "determiner",
    "adj": "adjective",
    "particle": "particle",
    "prep": "preposition",
    "wh": "question word",
    "relative": "relative",
    "connective": "conjunction",
    "and": "conjunction",
    "end": "end mark",
    "adv0": "adverbial",
    "adv1": "adverbial",
    "adv2": "adverbial",
}
SPLITS = ("train", "dev", "test")
PREFIX = "grammar:"


def labelled_sentences(spec: str) -> list[LabelledText]:
    """English sentences and what each is: object, copula, relative, wh_why, …"""
    return [text for text, _ in _made(spec)]


def labelled_roles(spec: str) -> list[LabelledWords]:
    """The words of English sentences and what each does: noun, auxiliary, relative, …"""
    return [words for _, words in _made(spec)]


def _made(spec: str) -> Iterator[tuple[LabelledText, LabelledWords]]:
    split, count, seed = _parsed(spec)
    return islice(_endless(split, seed), count)


def _endless(split: str, seed: int) -> Iterator[tuple[LabelledText, LabelledWords]]:
    from clearhead.data.grammar.english import text
    from clearhead.data.grammar.sentences import choose, read_english
    from clearhead.data.grammar.splits import share

    rng, number = Random(crc32(f"labels {split} {seed}".encode())), 0
    while True:
        tree = choose(rng)
        words = read_english(tree)
        sentence = text(words)
        if share(sentence) != split:
            continue
        number += 1
        place = f"the grammar, sentence {number}"
        tags: list[str | None] = [_role({name for name, _ in word.links}) for word in words]
        yield (
            LabelledText(place, sentence, None, tree.construction),
            LabelledWords(place, [word.text for word in words], tags),
        )


def _role(links: set[str]) -> str:
    return next((role for name, role in ROLES.items() if name in links), "other")


def _parsed(spec: str) -> tuple[str, int, int]:
    _, split, *numbers = spec.split(":")
    whole = all(number.isascii() and number.isdigit() for number in numbers)
    if split not in SPLITS or not whole or len(numbers) not in (1, 2) or not int(numbers[0]):
        raise UserError(
            f"{spec}: expected grammar:SPLIT:COUNT or grammar:SPLIT:COUNT:SEED with a split of "
            f"{', '.join(SPLITS)}, for example grammar:train:2000"
        )
    return split, int(numbers[0]), int(numbers[1]) if len(numbers) == 2 else 0
