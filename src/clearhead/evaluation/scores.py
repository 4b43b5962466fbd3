"""BLEU and chrF of plain text as sacreBLEU computes them, and a paired bootstrap of two systems.

Scores of tokenised or lower-cased text look higher and are not comparable; so both sides are
scored as plain text, and sacreBLEU applies its own tokenisation. The signature records it (Post
2018, "A Call for Clarity in Reporting BLEU Scores"): quote it with the score.

Paired bootstrap resampling (Koehn 2004): the test set is resampled 1,000 times with replacement,
and both systems are scored on each sample. p is the share of samples in which the difference
deviates from its mean by more than the observed difference. Below 0.05 the difference is called
significant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from clearhead.errors import UserError

RESAMPLES = 1000
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Score:
    """A value from 0 to 100, the name of the metric, and its signature."""

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class Scores:
    """Scores of a corpus of translations.

    `length_ratio` is the number of BLEU's tokens in the hypotheses per token in the references:
    well below 1, translations are cut short, and BLEU's brevity penalty applies. It is None if the
    references contain no token.
    """

    bleu: Score
    chrf: Score
    length_ratio: float | None


def score(hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
    """Score hypotheses against one reference each; empty lines count.

    Raises:
        UserError: there are no lines, or the numbers of lines differ.
    """
    check_lines(hypotheses, references)
    bleu, chrf = BLEU(), CHRF()
    found = bleu.corpus_score(hypotheses, [references])
    also = chrf.corpus_score(hypotheses, [references])
    return Scores(
        Score("BLEU", found.score, str(bleu.get_signature())),
        Score("chrF", also.score, str(chrf.get_signature())),
        found.sys_len / found.ref_len if found.ref_len else None,
    )


def check_lines(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Check that there is one hypothesis for each reference, and at least one.

    Raises:
        UserError: otherwise.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses for {len(references)} references; "
            "expected one line for each: score the translation of the whole test set"
        )
    if not references:
        raise UserError("there is no line to score; give a test set of at least one pair")


@dataclass(frozen=True)
class Comparison:
    """One metric of two systems; `margin` and `other_margin` are half 95 % intervals.

    `difference` is ours minus theirs. `signature` contains the number of samples and the seed
    (12345 unless SACREBLEU_SEED is set), so that the test can be repeated.
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
        """Positive if our system is better."""
        return self.value - self.other


def compare(
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[str],
    resamples: int = RESAMPLES,
) -> list[Comparison]:
    """BLEU and chrF of two systems on the same lines; deterministic.

    Raises:
        UserError: the numbers of lines differ.
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
    # sacreBLEU counts samples beyond the observed difference. With equal scores there are none,
    # and it would call a system significantly different from itself.
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
