"""All metrics of a system's translations of a test set, as plain text or as one JSON object."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.errors import UserError, counted
from clearhead.evaluation.examples import Examples
from clearhead.evaluation.scores import (
    SIGNIFICANT,
    Comparison,
    Count,
    ExactMatch,
    MosesBleu,
    Score,
    Scores,
    compare,
    exact_match,
    score,
)

if TYPE_CHECKING:
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


ROWS = {"input": "the step whose input is the word", "output": "the step that predicts it"}


@dataclass(frozen=True)
class Subject:
    """What was evaluated; `system` is the model and its search, None for a given file."""

    data: str
    lines: int
    system: dict[str, str | int | float] | None
    hypotheses: Path
    against: Path | None = None


def as_json(subject: Subject, evaluation: Evaluation) -> str:
    """Scores and percentages from 0 to 100, rates from 0 to 1, nothing rounded."""
    scores, papers = evaluation.scores, evaluation.as_papers
    found: dict[str, Any] = {
        "data": subject.data,
        "lines": subject.lines,
        "system": subject.system,
        "hypotheses": str(subject.hypotheses),
        "bleu": _score(scores.bleu),
        "chrf": _score(scores.chrf),
        "length_ratio": scores.length_ratio,
    }
    if papers is not None:
        found["bleu_as_papers"] = _score(papers)
    if evaluation.comparison is not None:
        metrics = {
            c.metric.lower(): asdict(c) | {"difference": c.difference}
            for c in evaluation.comparison
        }
        found["comparison"] = {"against": str(subject.against), **metrics}
    if evaluation.exact_match is not None:
        exact = evaluation.exact_match
        found["exact_match"] = {
            "overall": _count(exact.overall),
            "by_phenomenon": {name: _count(c) for name, c in exact.by_phenomenon.items()},
            "by_construction": {name: _count(c) for name, c in exact.by_construction.items()},
        }
    if evaluation.alignment is not None:
        best = asdict(evaluation.alignment.best)
        found["alignment_error_rate"] = {"best": best, **asdict(evaluation.alignment)}
    return json.dumps(found, indent=2, ensure_ascii=False)


def _score(score: Score) -> dict[str, float | str]:
    return {"score": score.value, "signature": score.signature}


def _count(count: Count) -> dict[str, float]:
    return {"right": count.right, "total": count.total, "percent": count.percent}


def as_text(subject: Subject, evaluation: Evaluation) -> str:
    """The system, then every metric with its signature."""
    return "\n".join(_sections(subject, evaluation))


def _sections(subject: Subject, evaluation: Evaluation) -> Iterator[str]:
    yield f"{subject.data}: {counted(subject.lines, 'line')}"
    if subject.system is not None:
        yield ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in subject.system.items())
    yield from _score_lines(evaluation.scores)
    if evaluation.as_papers is not None:
        yield "\nas in papers: BLEU of lower-cased, Moses-tokenized text"
        yield _score_line(evaluation.as_papers)
    if evaluation.comparison is not None:
        yield f"\nagainst {subject.against}, paired bootstrap, ± is half a 95 % interval"
        for comparison in evaluation.comparison:
            yield from _comparison_lines(comparison)
    if evaluation.exact_match is not None:
        yield from _exact_match_lines(evaluation.exact_match)
    if evaluation.alignment is not None:
        yield from _alignment_lines(evaluation.alignment)
    yield f"\nhypotheses: {subject.hypotheses}"


def _score_lines(scores: Scores) -> Iterator[str]:
    yield ""
    for found in (scores.bleu, scores.chrf):
        yield _score_line(found)
    if scores.length_ratio is not None:
        yield f"{'length':<8}{scores.length_ratio:7.3f}   hypothesis / reference, BLEU's tokens"


def _score_line(score: Score) -> str:
    return f"{score.name:<8}{score.value:7.2f}   {score.signature}"


def _comparison_lines(c: Comparison) -> Iterator[str]:
    significance = "significant" if c.p_value < SIGNIFICANT else "not significant"
    ours, theirs = f"{c.value:.2f} ± {c.margin:.2f}", f"{c.other:.2f} ± {c.other_margin:.2f}"
    yield f"{c.metric:<8}{c.difference:+7.2f}   {ours} against {theirs}"
    yield f"{'':18}p = {c.p_value:.4f}, {significance} at {SIGNIFICANT}; {c.signature}"


def _exact_match_lines(exact: ExactMatch) -> Iterator[str]:
    yield f"\nexact match {_percent(exact.overall)}"
    yield from _table("phenomenon", exact.by_phenomenon)
    yield from _table("construction", exact.by_construction)


def _table(title: str, counts: Mapping[str, Count]) -> Iterator[str]:
    yield f"\n  by {title}"
    for name, count in counts.items():
        yield f"  {name:<22}{_percent(count)}"


def _percent(count: Count) -> str:
    return f"{count.percent:6.2f} %   {count.right:,} of {count.total:,}"


def _alignment_lines(found: "AlignmentErrors") -> Iterator[str]:
    """A table of layers and heads for each convention, then the best head."""
    yield f"\nalignment error rate of cross-attention in percent, {found.sentences:,} sentences"
    for rows, table in found.heads.items():
        yield f"\n  {ROWS[rows]}"
        names = [f"head {head}" for head in range(len(table[0]))]
        yield f"  {'':<9}" + "".join(f"{name:>9}" for name in [*names, "average"])
        for layer, (heads, average) in enumerate(zip(table, found.layers[rows], strict=True)):
            errors = "".join(f"{100 * error:9.1f}" for error in [*heads, average])
            yield f"  layer {layer:<3}{errors}"
    best = found.best
    head = f"layer {best.layer}, head {best.head}, {ROWS[best.rows]}"
    yield f"\n  best: {100 * best.error:.1f} %, {head}"
    yield f"  lower bound with one link for each target word: {100 * found.floor:.1f} %"
    if found.skipped:
        yield f"  {found.skipped:,} sentences left out: longer than the model's positions"
