"""Exact match on the grammar corpus, by phenomenon and by construction.

The grammar gives one French sentence to each English one, so a translation is
right or wrong; and it knows what each sentence shows (negation, agreement, …), so
an error has an address.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clearhead.data.grammar import PHENOMENA, GrammarPair
from clearhead.evaluation.scores import check_lines


@dataclass(frozen=True)
class Count:
    """How many of the sentences are right."""

    right: int
    total: int

    @property
    def percent(self) -> float:
        """From 0 to 100; of no sentence at all, 100."""
        return 100 * self.right / self.total if self.total else 100.0


@dataclass(frozen=True)
class ExactMatch:
    """Overall, and among the sentences that show a phenomenon or have a construction."""

    overall: Count
    by_phenomenon: dict[str, Count]
    by_construction: dict[str, Count]


def exact_match(hypotheses: Sequence[str], pairs: Sequence[GrammarPair]) -> ExactMatch:
    """A hypothesis is right if it is the reference, character by character.

    A sentence counts under each phenomenon that it shows; phenomena that none
    shows are left out.

    Raises:
        UserError: not as many hypotheses as pairs.
    """
    check_lines(hypotheses, [pair.target for pair in pairs])
    right = [h == pair.target for h, pair in zip(hypotheses, pairs, strict=True)]
    constructions = sorted({pair.construction for pair in pairs})
    return ExactMatch(
        _count(right),
        _counts(PHENOMENA, right, [pair.phenomena for pair in pairs]),
        _counts(constructions, right, [{pair.construction} for pair in pairs]),
    )


def _counts(
    names: Iterable[str], right: Sequence[bool], shown: Sequence[frozenset[str] | set[str]]
) -> dict[str, Count]:
    of_name = {
        name: [r for r, here in zip(right, shown, strict=True) if name in here] for name in names
    }
    return {name: _count(answers) for name, answers in of_name.items() if answers}


def _count(right: Sequence[bool]) -> Count:
    return Count(sum(right), len(right))
