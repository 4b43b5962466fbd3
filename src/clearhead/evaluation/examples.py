"""The sentences that a system is tried on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from clearhead.data import open_pairs
from clearhead.data.grammar import GrammarPair, generate
from clearhead.data.grammar_pairs import GrammarPairs
from clearhead.errors import UserError

Item = TypeVar("Item")


@dataclass(frozen=True)
class Examples:
    """Sources with their references; `grammar` knows more where the built-in grammar made them."""

    sources: list[str]
    references: list[str]
    grammar: list[GrammarPair] | None = None

    def __len__(self) -> int:
        return len(self.references)


def read_examples(
    spec: str, limit: int | None = None, source_lang: str = "en", target_lang: str = "fr"
) -> Examples:
    """Read a corpus as `clearhead.data.open_pairs` names it, or its first `limit` pairs.

    Unlike training, evaluation keeps pairs with an empty side: leaving them out
    would shift every line after them away from its hypothesis.

    Raises:
        UserError: it cannot be read, or holds nothing.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit={limit} leaves no line to evaluate; give at least 1")
    corpus = open_pairs(spec, source_lang, target_lang)
    if isinstance(corpus, GrammarPairs):
        made = _first(generate(corpus.split, corpus.seed), _smaller(corpus.count, limit))
        examples = Examples([p.source for p in made], [p.target for p in made], made)
    else:
        rows = _first(corpus.rows(), limit)
        examples = Examples([row.source for row in rows], [row.target for row in rows])
    if not len(examples):
        raise UserError(f"{spec} holds no pair of sentences; expected at least one")
    return examples


def _first(items: Iterator[Item] | Iterable[Item], count: int | None) -> list[Item]:
    return list(islice(items, count))


def _smaller(count: int, limit: int | None) -> int:
    return count if limit is None else min(count, limit)
