"""What a run shows while it goes on: progress, evaluations, samples, curves."""

import logging
from contextlib import ExitStack
from textwrap import indent
from types import TracebackType
from typing import Self

from clearhead.training.checkpoint import Progress
from clearhead.training.console import STEPS, on_terminal
from clearhead.training.curves import draw_curves
from clearhead.training.logbook import Logbook
from clearhead.training.measures import Meter, StepReport, clock, perplexity
from clearhead.training.memory import peak_memory, peak_resident
from clearhead.training.progress_bar import ProgressBar
from clearhead.training.recipe import Recipe
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Score, Verdict
from clearhead.training.tensorboard import Board, open_board

log = logging.getLogger("clearhead.train")
steps_log = logging.getLogger(STEPS)


class Reporter:
    """A record in metrics.jsonl and a line every `log_every` steps; on a terminal a bar."""

    def __init__(
        self,
        recipe: Recipe,
        run: RunDirectory,
        logbook: Logbook,
        progress: Progress,
        score: Score,
    ) -> None:
        self.settings, self.run, self.score = recipe.run, run, score
        self.logbook, self.progress = logbook, progress
        self.bar: ProgressBar | None = None
        self.board: Board | None = None
        if self.settings.tensorboard:
            self.board = open_board(run.root / "tensorboard", progress.step)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        if on_terminal():
            self.bar = self._open.enter_context(ProgressBar(self.settings.steps))
        if self.board:
            self._open.callback(self.board.close)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._open.close()

    def step(self, report: StepReport) -> None:
        """Show a step; every `log_every` of them become a line and a record."""
        meter = self.progress.meter
        left = (self.settings.steps - report.step) * meter.seconds / meter.steps
        line = _line(report, meter, clock(left), self.progress.skipped)
        if self.bar:
            self.bar.show(report.step, line)
        if report.step % self.settings.log_every and report.step != self.settings.steps:
            return
        steps_log.info("step %d/%d  %s", report.step, self.settings.steps, line)
        values = meter.values() | {
            "epoch": report.epoch,
            "lr": report.lr,
            "grad_norm": report.grad_norm,
            "skipped": self.progress.skipped,
            "seconds": self.progress.seconds,
            "peak_memory_gb": round(peak_resident(), 3),
        }
        self._record("train", values)
        self.progress.meter = Meter()

    def verdict(self, verdict: Verdict, better: bool) -> None:
        """Show an evaluation and some of its samples; draw the curves anew."""
        mark = ", the best so far" if better else ""
        log.info("step %d: dev %s%s", self.progress.step, self._judged("dev", verdict), mark)
        for sample in verdict.samples:
            log.info(indent(sample, "    "))

    def average(self, verdict: Verdict, count: int, better: bool) -> None:
        """Show how the averaged model does."""
        told = self._judged("average", verdict)
        mark = "kept as best" if better else "not better, best stays"
        log.info("average of the last %d snapshots: dev %s, %s", count, told, mark)

    def done(self) -> None:
        """The last line of a run."""
        p = self.progress
        skipped = f", {p.skipped} steps skipped" if p.skipped else ""
        log.info(
            "done: %d steps in %s%s, best from step %d, peak memory %s",
            p.step,
            clock(p.seconds),
            skipped,
            p.best_step,
            peak_memory(),
        )

    def _judged(self, kind: str, verdict: Verdict) -> str:
        ppl = perplexity(verdict.loss)
        self._record(kind, {"loss": verdict.loss, "ppl": ppl, **verdict.scores})
        draw_curves(self.logbook.records, self.run.curves, self.score)
        value = verdict.scores[self.score.key]
        return f"ppl {ppl:.3f}  {self.score.label} {value:.{self.score.digits}f}"

    def _record(self, kind: str, values: dict[str, float]) -> None:
        self.logbook.record(kind, self.progress.step, values)
        if self.board:
            self.board.write(kind, self.progress.step, values)


def _line(report: StepReport, meter: Meter, left: str, skipped: int) -> str:
    values = meter.values()
    return (
        f"epoch {report.epoch}  loss {values['loss']:.3f}  ppl {values['ppl']:.2f}  "
        f"{values['tokens_per_second']:.0f} tok/s  lr {report.lr:.2e}  "
        f"gnorm {report.grad_norm:.2f}  ETA {left}" + (f"  skipped {skipped}" if skipped else "")
    )
