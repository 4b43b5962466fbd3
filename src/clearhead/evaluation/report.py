"""A verdict for programs: one JSON object."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clearhead.evaluation.judge import Verdict
from clearhead.evaluation.phenomena import Count, ExactMatch
from clearhead.evaluation.scores import Score


@dataclass(frozen=True)
class Subject:
    """What was judged; `system` is the model and its search, None for a file that was given."""

    data: str
    lines: int
    system: dict[str, str | int | float] | None
    hypotheses: Path
    against: Path | None = None


def as_json(subject: Subject, verdict: Verdict) -> str:
    """Scores and percentages from 0 to 100, rates from 0 to 1, nothing rounded."""
    scores, papers = verdict.scores, verdict.as_papers
    found: dict[str, Any] = {
        "data": subject.data,
        "lines": subject.lines,
        "system": subject.system,
        "hypotheses": str(subject.hypotheses),
        "bleu": _signed(scores.bleu),
        "chrf": _signed(scores.chrf),
        "length_ratio": scores.length_ratio,
    }
    if papers is not None:
        found["bleu_as_papers"] = _signed(papers)
    if verdict.comparison is not None:
        metrics = {
            c.metric.lower(): asdict(c) | {"difference": c.difference} for c in verdict.comparison
        }
        found["comparison"] = {"against": str(subject.against), **metrics}
    if verdict.exact_match is not None:
        found["exact_match"] = _exact(verdict.exact_match)
    if verdict.alignment is not None:
        best = asdict(verdict.alignment.best)
        found["alignment_error_rate"] = {"best": best, **asdict(verdict.alignment)}
    return json.dumps(found, indent=2, ensure_ascii=False)


def _signed(score: Score) -> dict[str, float | str]:
    return {"score": score.value, "signature": score.signature}


def _exact(exact: ExactMatch) -> dict[str, Any]:
    return {
        "overall": _counted(exact.overall),
        "by_phenomenon": {name: _counted(c) for name, c in exact.by_phenomenon.items()},
        "by_construction": {name: _counted(c) for name, c in exact.by_construction.items()},
    }


def _counted(count: Count) -> dict[str, float]:
    return {"right": count.right, "total": count.total, "percent": count.percent}
