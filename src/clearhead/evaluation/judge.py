"""All that can be said about a system's translations of a test set."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearhead.errors import UserError
from clearhead.evaluation.as_papers import AsPapers
from clearhead.evaluation.comparison import Comparison, compare
from clearhead.evaluation.examples import Examples
from clearhead.evaluation.phenomena import ExactMatch, exact_match
from clearhead.evaluation.scores import Score, Scores, score

if TYPE_CHECKING:  # scoring a file of hypotheses need not wait for torch
    from clearhead.evaluation.alignment_error import AlignmentErrors
    from clearhead.translation import Translator

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Verdict:
    """Scores always; the rest where it was asked for and the data allow it."""

    scores: Scores
    comparison: list[Comparison] | None = None
    exact_match: ExactMatch | None = None
    alignment: "AlignmentErrors | None" = None
    as_papers: Score | None = None


def judge(
    examples: Examples,
    hypotheses: Sequence[str],
    against: Sequence[str] | None = None,
    translator: "Translator | None" = None,
    papers: AsPapers | None = None,
) -> Verdict:
    """Judge hypotheses, perhaps against those of another system, perhaps also as papers do.

    On the grammar corpus also count what is right, and, with the translator at
    hand, measure where its heads look.

    Raises:
        UserError: not as many hypotheses as examples.
    """
    return Verdict(
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
        return None  # the corpus has no gold links, or the tokenizer no spans of characters
    try:
        return alignment_errors(translator.model, translator.tokenizer, examples.grammar)
    except UserError as error:  # the scores are worth showing without it
        logger.warning("no alignment error rate: %s", error)
        return None
