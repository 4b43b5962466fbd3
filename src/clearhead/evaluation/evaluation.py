"""All metrics of a system's translations of a test set."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearhead.errors import UserError
from clearhead.evaluation.exact_match import ExactMatch, exact_match
from clearhead.evaluation.examples import Examples
from clearhead.evaluation.moses_bleu import MosesBleu
from clearhead.evaluation.scores import Comparison, Score, Scores, compare, score

if TYPE_CHECKING:  # scoring a file of hypotheses does not import torch
    from clearhead.evaluation.alignment_error import AlignmentErrors
    from clearhead.translation import Translator

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Evaluation:
    """Scores; other metrics if they were requested and the data allow them."""

    scores: Scores
    comparison: list[Comparison] | None = None
    exact_match: ExactMatch | None = None
    alignment: "AlignmentErrors | None" = None
    as_papers: Score | None = None


def evaluate(
    examples: Examples,
    hypotheses: Sequence[str],
    against: Sequence[str] | None = None,
    translator: "Translator | None" = None,
    papers: MosesBleu | None = None,
) -> Evaluation:
    """Evaluate hypotheses, optionally against those of another system or as in papers.

    On the grammar corpus also exact match and, with the translator, the alignment error rate.

    Raises:
        UserError: the numbers of hypotheses and examples differ.
    """
    return Evaluation(
        score(hypotheses, examples.references),
        None if against is None else compare(hypotheses, against, examples.references),
        exact_match(hypotheses, examples.grammar) if examples.grammar else None,
        _alignment(examples, translator) if translator else None,
        papers.score(hypotheses, examples.references) if papers else None,
    )


def _alignment(examples: Examples, translator: "Translator") -> "AlignmentErrors | None":
    from clearhead.evaluation.alignment_error import alignment_errors
    from clearhead.text import Tokenizer

    if not examples.grammar or not isinstance(translator.tokenizer, Tokenizer):
        return None  # no gold links, or a tokenizer without character spans
    try:
        return alignment_errors(translator.model, translator.tokenizer, examples.grammar)
    except UserError as error:  # the other metrics are still valid
        logger.warning("no alignment error rate: %s", error)
        return None
