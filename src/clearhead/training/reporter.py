"""What a run shows while it goes on: progress, evaluations, samples."""

import logging
import math
import time
from types import TracebackType
from typing import Self

from clearhead.training.checkpoint import Progress
from clearhead.training.logbook import Logbook
from clearhead.training.recipe import Recipe
from clearhead.training.trainer import StepReport
from clearhead.training.validation import Verdict

log = logging.getLogger("clearhead.train")


class Reporter:
    """Plain lines every `log_every` steps, and a record of each in metrics.jsonl."""

    def __init__(self, recipe: Recipe, logbook: Logbook, progress: Progress) -> None:
        self.run, self.logbook, self.progress = recipe.run, logbook, progress
        self.reports: list[StepReport] = []
        self.since = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        return None

    def step(self, report: StepReport) -> None:
        """Count a step; every `log_every` of them become a line."""
        self.reports.append(report)
        if report.step % self.run.log_every and report.step != self.run.steps:
            return
        tokens = sum(r.tokens for r in self.reports)
        seconds = sum(r.seconds for r in self.reports)
        values = {
            "epoch": report.epoch,
            "loss": sum(r.loss * r.tokens for r in self.reports) / tokens,
            "ppl": math.exp(min(50.0, sum(r.nll * r.tokens for r in self.reports) / tokens)),
            "tokens_per_second": tokens / seconds,
            "lr": report.lr,
            "grad_norm": report.grad_norm,
            "skipped": self.progress.skipped,
            "seconds": self.progress.seconds,
        }
        left = (self.run.steps - report.step) * seconds / len(self.reports)
        self.logbook.record("train", report.step, values)
        log.info(
            "epoch %d  step %d/%d  loss %.3f  ppl %.2f  %.0f tok/s  lr %.2e  gnorm %.2f  ETA %s",
            report.epoch,
            report.step,
            self.run.steps,
            values["loss"],
            values["ppl"],
            values["tokens_per_second"],
            report.lr,
            report.grad_norm,
            clock(left),
        )
        self.reports = []

    def verdict(self, verdict: Verdict, better: bool) -> None:
        """Show an evaluation."""
        step = self.progress.step
        ppl = math.exp(min(50.0, verdict.loss))
        self.logbook.record("dev", step, {"loss": verdict.loss, "ppl": ppl, "bleu": verdict.bleu})
        mark = ", the best so far" if better else ""
        log.info("step %d  dev ppl %.3f  BLEU %.2f%s", step, ppl, verdict.bleu, mark)
        for source, reference, translation in verdict.samples:
            log.info("    %s\n    = %s\n    → %s", source, reference, translation)

    def average(self, verdict: Verdict, count: int, better: bool) -> None:
        """Show how the averaged model does."""
        log.info(
            "average of the last %d snapshots: dev ppl %.3f  BLEU %.2f, %s",
            count,
            math.exp(min(50.0, verdict.loss)),
            verdict.bleu,
            "kept as best" if better else "not better, best stays",
        )


def clock(seconds: float) -> str:
    """12:34 or 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
