"""What a run reports: steps, validations, samples, TensorBoard's files, and curves.png.

The curves are drawn every `DRAW_EVERY` seconds at most, and at the end.
"""

import io
import logging
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Self

from clearhead.errors import UserError, counted
from clearhead.files import atomic_write
from clearhead.training.console import STEPS, ProgressBar, on_terminal
from clearhead.training.metrics import (
    Meter,
    MetricsFile,
    Progress,
    StepReport,
    clock,
    peak_memory,
    peak_resident,
    perplexity,
)
from clearhead.training.recipe import Recipe
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Metric, ValidationResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


log = logging.getLogger("clearhead.train")
steps_log = logging.getLogger(STEPS)

DRAW_EVERY = 10.0  # seconds: drawing takes a third of one, longer than some validations


class Reporter:
    """Every `log_every` steps a record in metrics.jsonl and a log line; a bar on a terminal."""

    def __init__(
        self,
        recipe: Recipe,
        run: RunDirectory,
        metrics: MetricsFile,
        progress: Progress,
        metric: Metric,
    ) -> None:
        self.settings, self.run, self.metric = recipe.run, run, metric
        self.metrics, self.progress = metrics, progress
        self.bar: ProgressBar | None = None
        self.tensorboard: Any = None
        if self.settings.tensorboard:
            self.tensorboard = open_tensorboard(run.root / "tensorboard", progress.step)
        self._open = ExitStack()
        self._next_drawing = time.monotonic() + DRAW_EVERY
        self._drawn = True  # whether curves.png shows the last record

    def __enter__(self) -> Self:
        if on_terminal():
            self.bar = self._open.enter_context(ProgressBar(self.settings.steps))
        if self.tensorboard:
            self._open.callback(self.tensorboard.close)
        return self

    def __exit__(self, error: object, *details: object) -> None:
        with self._open:
            if not self._drawn and error in (None, KeyboardInterrupt):
                self._draw()

    def step(self, report: StepReport) -> None:
        """Report a step: on the bar, and every `log_every` steps as a line and a record."""
        meter = self.progress.meter
        left = (self.settings.steps - report.step) * meter.seconds / meter.steps
        means = meter.values()
        if self.metric.numbers:
            del means["ppl"]
        line = _line(report, means, clock(left), self.progress.skipped)
        if self.bar:
            self.bar.show(report.step, line)
        if report.step % self.settings.log_every and report.step != self.settings.steps:
            return
        steps_log.info("step %d/%d  %s", report.step, self.settings.steps, line)
        values = means | {
            "epoch": report.epoch,
            "lr": report.lr,
            "grad_norm": report.grad_norm,
            "skipped": self.progress.skipped,
            "seconds": self.progress.seconds,
            "peak_memory_gb": round(peak_resident(), 3),
        }
        self._record("train", values)
        self.progress.meter = Meter()

    def validation(self, result: ValidationResult, better: bool) -> None:
        """Report a validation and its samples."""
        mark = ", the best so far" if better else ""
        log.info("step %d: dev %s%s", self.progress.step, self._scores("dev", result), mark)
        for sample in result.samples:
            log.info(indent(sample, "    "))

    def average(self, result: ValidationResult, count: int, better: bool) -> None:
        """Report the validation of the averaged model."""
        scores = self._scores("average", result)
        mark = "saved as best" if better else "not better, best is kept"
        log.info("average of the last %d snapshots: dev %s, %s", count, scores, mark)

    def done(self) -> None:
        """Write the last line of a run.

        Raises:
            UserError: the run directory was removed.
        """
        self.run.check_present()
        p = self.progress
        skipped = f", {p.skipped} steps skipped" if p.skipped else ""
        log.info(
            "done: %s in %s%s, best from step %d, peak memory %s",
            counted(p.step, "step"),
            clock(p.seconds),
            skipped,
            p.best_step,
            peak_memory(),
        )

    def _scores(self, kind: str, result: ValidationResult) -> str:
        ppl = {} if self.metric.numbers else {"ppl": perplexity(result.loss)}
        self._record(kind, {"loss": result.loss, **ppl, **result.scores})
        self._drawn = False
        if time.monotonic() >= self._next_drawing:
            self._draw()
        value = result.scores[self.metric.key]
        name, shown = next(iter(ppl.items()), ("loss", result.loss))
        return f"{name} {shown:.3f}  {self.metric.label} {value:.{self.metric.digits}f}"

    def _draw(self) -> None:
        try:
            draw_curves(self.metrics.records, self.run.curves, self.metric)
        except UserError as error:  # on Windows a program that shows the picture locks it
            log.warning("%s; training continues without the picture", error)
        self._next_drawing, self._drawn = time.monotonic() + DRAW_EVERY, True

    def _record(self, kind: str, values: dict[str, float]) -> None:
        self.metrics.append(kind, self.progress.step, values)
        if self.tensorboard:
            for name, value in values.items():
                self.tensorboard.add_scalar(f"{kind}/{name}", value, self.progress.step)
            self.tensorboard.flush()


def _line(report: StepReport, values: dict[str, float], left: str, skipped: int) -> str:
    ppl = f"ppl {values['ppl']:.2f}  " if "ppl" in values else ""
    return (
        f"epoch {report.epoch}  loss {values['loss']:.3f}  {ppl}"
        f"{values['tokens_per_second']:.0f} tok/s  lr {report.lr:.2e}  "
        f"gnorm {report.grad_norm:.2f}  ETA {left}" + (f"  skipped {skipped}" if skipped else "")
    )


def open_tensorboard(directory: Path, step: int) -> Any:
    """A `SummaryWriter`; TensorBoard ignores events after `step` that were written before."""
    return summary_writer()(str(directory), purge_step=step + 1)


def summary_writer() -> Any:
    """The class that writes TensorBoard's files.

    Raises:
        UserError: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UserError(
            "run.tensorboard=true needs TensorBoard, which is not installed; "
            "pip install 'clearhead[tensorboard]', or leave it out: metrics.jsonl is always written"
        ) from error
    return SummaryWriter


Records = Iterable[dict[str, Any]]
TRAIN, DEV, AVERAGE = "train", "dev", "average"
SMOOTHED = "Loss (of training with label smoothing, if any)"
LABELS = {TRAIN: "training", DEV: "validation", AVERAGE: "average of snapshots"}


def draw_curves(records: Records, path: Path, metric: Metric) -> None:
    """Draw the records of metrics.jsonl into a PNG file.

    Raises:
        UserError: the file cannot be written.
    """
    # Here, because most imports of this package draw nothing.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from clearhead.plot_style import in_style, whole_ticks

    rows, numbers = list(records), metric.numbers
    with in_style():
        figure = Figure(figsize=(12, 3.6) if numbers else (10, 6.4))
        loss, *ppl, score, lr = figure.subplots(*((1, 3) if numbers else (2, 2)), sharex=True).flat
        title = "Squared error of standardized numbers" if numbers else SMOOTHED
        _panel(loss, rows, "loss", title, (TRAIN, DEV))
        _panel(score, rows, metric.key, metric.title, (DEV, AVERAGE))
        _panel(lr, rows, "lr", "Learning rate", (TRAIN,))
        for axes in ppl:
            loss.set_ylabel(f"nats per {metric.per}")
            _perplexities(axes, rows)
        for axes in (loss, score, lr) if numbers else (score, lr):
            axes.set_xlabel("step")
            whole_ticks(axes.xaxis)
        for axes in (score, lr):
            if axes.lines and axes.dataLim.y0 >= 0:
                axes.set_ylim(0, 1.05 * axes.dataLim.y1 or 1)
        lr.yaxis.set_major_formatter("{x:g}")
        loss.set_xlim(left=0)
        FigureCanvasAgg(figure)
        # Drawn in memory: a kill while drawing must not leave an incomplete file.
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=120)
    atomic_write(path, content.getvalue())


def _perplexities(axes: "Axes", rows: list[dict[str, Any]]) -> None:
    from clearhead.plot_style import plain_log_ticks

    _panel(axes, rows, "ppl", "Perplexity", (TRAIN, DEV, AVERAGE))
    if axes.lines:
        axes.set_yscale("log")
        plain_log_ticks(axes.yaxis)


def _panel(
    axes: "Axes", records: list[dict[str, Any]], key: str, title: str, kinds: tuple[str, ...]
) -> None:
    from clearhead.plot_style import BLUE, GREEN, ORANGE, quiet_grid

    styles: dict[str, dict[str, Any]] = {
        TRAIN: {"color": BLUE},
        DEV: {"color": ORANGE, "marker": "o", "markersize": 4.5},
        # One point at the end of the run.
        AVERAGE: {"color": GREEN, "marker": "*", "markersize": 13, "linestyle": "", "zorder": 5},
    }
    for kind in kinds:
        chosen = [r for r in records if r["kind"] == kind and r.get(key) is not None]
        if chosen:
            steps, values = [r["step"] for r in chosen], [r[key] for r in chosen]
            style = ({"marker": "o"} if len(steps) == 1 else {}) | styles[kind]  # no line has one
            axes.plot(steps, values, label=f"{LABELS[kind]}: {values[-1]:.4g}", **style)
    axes.set_title(title)
    quiet_grid(axes)
    if axes.lines:
        axes.legend(fontsize=9)
