"""Is one system really better? Paired bootstrap resampling (Koehn 2004), by sacreBLEU.

The test set is drawn again 1,000 times from its own lines, with replacement; both
systems are scored on each draw. p is the share of draws in which the difference
strays from its mean by more than the difference observed: how easily the choice
of test sentences alone makes such a difference. Below 0.05 it is called significant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from clearhead.evaluation.scores import check_lines

RESAMPLES = 1000
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """One metric of two systems; `margin` and `other_margin` are half 95 % intervals.

    `difference` is ours minus theirs. `signature` tells the number of resamples and
    the seed (12345 unless SACREBLEU_SEED is set), so that the test can be repeated.
    """

    metric: str
    value: float
    margin: float
    other: float
    other_margin: float
    p_value: float
    signature: str

    @property
    def difference(self) -> float:
        """Positive where our system is the better one."""
        return self.value - self.other


def compare(
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[str],
    resamples: int = RESAMPLES,
) -> list[Comparison]:
    """BLEU and chrF of two systems on the same lines; the same input gives the same answer.

    Raises:
        UserError: the number of lines is not the same in all three.
    """
    check_lines(hypotheses, references)
    check_lines(against, references)
    test = PairedTest(
        [("against", against), ("system", hypotheses)],
        {"BLEU": BLEU(), "chrF": CHRF()},
        [references],
        test_type="bs",
        n_samples=resamples,
    )
    signatures, results = test()
    return [
        _comparison(name, cast(list[Result], results[name]), str(signature))
        for name, signature in signatures.items()
    ]


def _comparison(name: str, results: list[Result], signature: str) -> Comparison:
    theirs, ours = results
    # sacreBLEU counts draws beyond the difference; where both scores are equal none can
    # be, and it would call a system significantly different from itself.
    p_value = 1.0 if ours.score == theirs.score else float(ours.p_value or 0)
    return Comparison(
        "BLEU" if name == "BLEU" else "chrF",  # sacreBLEU says chrF2
        ours.score,
        float(ours.ci or 0),
        theirs.score,
        float(theirs.ci or 0),
        p_value,
        signature,
    )
