"""The built-in grammar as a corpus: `grammar:SPLIT:COUNT[:SEED]`."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from clearhead.data.pairs import Pair, Pairs
from clearhead.errors import UserError


@dataclass
class GrammarPairs(Pairs):
    """The first `count` sentences that the grammar makes for a split and a seed."""

    split: str
    count: int
    seed: int = 0

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (said by Pairs)
        from clearhead.data.grammar import generate

        for sentence in islice(generate(self.split, self.seed), self.count):
            yield Pair(sentence.source, sentence.target)


def parse_grammar(spec: str) -> GrammarPairs:
    """Read `grammar:SPLIT:COUNT[:SEED]`, for example `grammar:train:20000`."""
    parts = spec.split(":")[1:]
    numbers = parts[1:]
    if len(parts) not in (2, 3) or not parts[0] or not all(map(_is_number, numbers)):
        raise UserError(
            f"{spec}: expected grammar:SPLIT:COUNT or grammar:SPLIT:COUNT:SEED, "
            "for example grammar:train:20000"
        )
    return GrammarPairs(parts[0], *map(int, numbers))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
