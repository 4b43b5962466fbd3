"""Exact match on the grammar corpus, by phenomenon and by construction.

The grammar has exactly one French sentence for each English one, so a translation is either right
or wrong; and each sentence is labelled with its phenomena (negation, agreement, …), so that errors
can be located.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clearhead.data.grammar import PHENOMENA, PRODUCTIONS, GrammarPair
from clearhead.evaluation.scores import check_lines


@dataclass(frozen=True)
class Count:
    """The number of correct sentences."""

    right: int
    total: int

    @property
    def percent(self) -> float:
        """From 0 to 100; 100 if there are no sentences."""
        return 100 * self.right / self.total if self.total else 100.0


@dataclass(frozen=True)
class ExactMatch:
    """Counts of all sentences, and of those with each phenomenon or construction."""

    overall: Count
    by_phenomenon: dict[str, Count]
    by_construction: dict[str, Count]


def exact_match(hypotheses: Sequence[str], pairs: Sequence[GrammarPair]) -> ExactMatch:
    """A hypothesis is right if it equals the reference, character by character.

    A sentence counts for each of its phenomena; phenomena without sentences are left out.

    Raises:
        UserError: the numbers of hypotheses and pairs differ.
    """
    check_lines(hypotheses, [pair.target for pair in pairs])
    right = [h == pair.target for h, pair in zip(hypotheses, pairs, strict=True)]
    constructions = sorted({pair.construction for pair in pairs})
    return ExactMatch(
        _count(right),
        _counts((*PHENOMENA, *PRODUCTIONS), right, [pair.phenomena for pair in pairs]),
        _counts(constructions, right, [{pair.construction} for pair in pairs]),
    )


def _counts(
    names: Iterable[str], right: Sequence[bool], labels: Sequence[frozenset[str] | set[str]]
) -> dict[str, Count]:
    by_name = {
        name: [r for r, own in zip(right, labels, strict=True) if name in own] for name in names
    }
    return {name: _count(found) for name, found in by_name.items() if found}


def _count(right: Sequence[bool]) -> Count:
    return Count(sum(right), len(right))
