"""A verdict for people: plain tables that survive a copy into an e-mail."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clearhead.evaluation.comparison import SIGNIFICANT, Comparison
from clearhead.evaluation.judge import Verdict
from clearhead.evaluation.phenomena import Count, ExactMatch
from clearhead.evaluation.report import Subject
from clearhead.evaluation.scores import Score, Scores

if TYPE_CHECKING:
    from clearhead.evaluation.alignment_error import AlignmentErrors

ROWS = {"input": "the row that has read the word", "output": "the row that predicts the word"}


def as_text(subject: Subject, verdict: Verdict) -> str:
    """What was judged and how it translated, then every number with its signature."""
    return "\n".join(_sections(subject, verdict))


def _sections(subject: Subject, verdict: Verdict) -> Iterator[str]:
    yield f"{subject.data}: {subject.lines:,} lines"
    if subject.system is not None:
        yield ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in subject.system.items())
    yield from score_lines(verdict.scores)
    if verdict.as_papers is not None:
        yield "\nas papers score: BLEU of text that is lower-cased and Moses-tokenised"
        yield score_line(verdict.as_papers)
    if verdict.comparison is not None:
        yield f"\nagainst {subject.against}, paired bootstrap, ± is half a 95 % interval"
        for comparison in verdict.comparison:
            yield from comparison_lines(comparison)
    if verdict.exact_match is not None:
        yield from exact_match_lines(verdict.exact_match)
    if verdict.alignment is not None:
        yield from alignment_lines(verdict.alignment)
    yield f"\nhypotheses: {subject.hypotheses}"


def score_lines(scores: Scores) -> Iterator[str]:
    """BLEU, chrF and the length ratio."""
    yield ""
    for score in (scores.bleu, scores.chrf):
        yield score_line(score)
    if scores.length_ratio is not None:
        yield f"{'length':<8}{scores.length_ratio:7.3f}   hypothesis / reference, BLEU's tokens"


def score_line(score: Score) -> str:
    """A number never without its signature."""
    return f"{score.name:<8}{score.value:7.2f}   {score.signature}"


def comparison_lines(c: Comparison) -> Iterator[str]:
    """One metric of two systems."""
    verdict = "significant" if c.p_value < SIGNIFICANT else "not significant"
    ours, theirs = f"{c.value:.2f} ± {c.margin:.2f}", f"{c.other:.2f} ± {c.other_margin:.2f}"
    yield f"{c.metric:<8}{c.difference:+7.2f}   {ours} against {theirs}"
    yield f"{'':18}p = {c.p_value:.4f}, {verdict} at {SIGNIFICANT}; {c.signature}"


def exact_match_lines(exact: ExactMatch) -> Iterator[str]:
    """Overall, then by kind; a sentence counts under each of its phenomena."""
    yield f"\nexact match {_counted(exact.overall)}"
    yield from _table("phenomenon", exact.by_phenomenon)
    yield from _table("construction", exact.by_construction)


def _table(title: str, counts: Mapping[str, Count]) -> Iterator[str]:
    yield f"\n  by {title}"
    for name, count in counts.items():
        yield f"  {name:<22}{_counted(count)}"


def _counted(count: Count) -> str:
    return f"{count.percent:6.2f} %   {count.right:,} of {count.total:,}"


def alignment_lines(found: "AlignmentErrors") -> Iterator[str]:
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
    place = f"layer {best.layer}, head {best.head}, {ROWS[best.rows]}"
    yield f"\n  best: {100 * best.error:.1f} %, {place}"
    yield f"  one link for each target word cannot do better than {100 * found.floor:.1f} %"
    if found.skipped:
        yield f"  {found.skipped:,} sentences left out: longer than the model's positions"
