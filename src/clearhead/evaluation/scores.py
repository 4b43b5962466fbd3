"""BLEU and chrF as sacreBLEU computes them, on plain text, each with its signature.

Scores of tokenised or lower-cased text look higher and compare with nothing; so
both sides are scored as a reader sees them, and sacreBLEU does its own
tokenisation. The signature says which (Post 2018, "A Call for Clarity in
Reporting BLEU Scores"): quote it with the number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from clearhead.errors import UserError


@dataclass(frozen=True)
class Score:
    """A number from 0 to 100, what it is called, and how it was computed."""

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class Scores:
    """What a corpus of translations is worth.

    `length_ratio` is the number of BLEU's tokens in the hypotheses for each one in
    the references: well below 1 means that translations are cut short, and BLEU
    has a brevity penalty for it. It is None where the references hold no token.
    """

    bleu: Score
    chrf: Score
    length_ratio: float | None


def score(hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
    """Score hypotheses against one reference each; an empty line on either side counts.

    Raises:
        UserError: there are no lines, or not as many on both sides.
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
    """Line n of one must answer line n of the other."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses for {len(references)} references; "
            "expected one line for each: score the translation of the whole test set"
        )
    if not references:
        raise UserError("there is no line to score; give a test set of at least one pair")
