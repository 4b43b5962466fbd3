"""The report of `clearhead compare d-model`: conclusions, a plot and a table."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from clearhead import plot_style as style
from clearhead.compare.results import as_json, format_number, markdown_table
from clearhead.compare.rnn.findings import BLEU_MARGIN
from clearhead.compare.width_study import FORMAT_VERSION, Counts, Width, WidthResults
from clearhead.explain.plots import Plot
from clearhead.files import atomic_write


def write(found: WidthResults, directory: Path) -> None:
    """Write report.md, numbers.json and width.png."""
    plot(found).save(directory / "width.png")
    atomic_write(directory / "numbers.json", as_json(FORMAT_VERSION, asdict(found)))
    atomic_write(directory / "report.md", "\n".join(_lines(found)) + "\n")


def conclusions(found: WidthResults) -> Iterator[str]:
    """Sentences derived from the measurements."""
    yield _costs(found.widths[0], found.widths[-1])
    yield _after_equal_time(found)
    yield from _after_equal_tokens(found)


def _costs(narrow: Width, wide: Width) -> str:
    few, many = narrow.counts, wide.counts
    ratios = {
        "width": wide.d_model / narrow.d_model,
        "parameters": many.parameters / few.parameters,
        "FLOP per token": many.flop / few.flop,
        "training memory (weights, gradients, moments)": many.training_mb / few.training_mb,
        "time of a training step": narrow.tokens_per_second / wide.tokens_per_second,
    }
    parts = ", ".join(f"{what} × {format_number(ratio)}" for what, ratio in ratios.items())
    return f"From d_model {narrow.d_model} to {wide.d_model}: {parts}."


def _after_equal_time(found: WidthResults) -> str:
    best = max(found.widths, key=lambda width: width.curve[-1].bleu)
    bleu = best.curve[-1].bleu
    close = [width for width in found.widths if bleu - width.curve[-1].bleu <= BLEU_MARGIN]
    narrowest, widest = close[0], found.widths[-1]
    seconds = f"After {found.study.task.seconds:.0f} s of training each"
    text = f"{seconds}, d_model {best.d_model} has the highest BLEU ({bleu:.1f})"
    if narrowest is not best:
        text += f"; d_model {narrowest.d_model} is within {BLEU_MARGIN:g} of it"
    if narrowest.d_model < widest.d_model:
        text += (
            f". The widest, {widest.d_model}, has {widest.curve[-1].bleu:.1f}: it has seen "
            f"{widest.curve[-1].tokens:,} tokens, d_model {narrowest.d_model} "
            f"{narrowest.curve[-1].tokens:,}"
        )
    return text + "."


def _after_equal_tokens(found: WidthResults) -> Iterator[str]:
    tokens, losses = losses_at_equal_tokens(found.widths)
    if len(losses) < len(found.widths):
        return
    best = min(losses, key=losses.__getitem__)
    listed = ", ".join(f"{width}: {loss:.2f}" for width, loss in losses.items())
    yield (
        f"After the same {tokens:,} tokens, d_model {best} has the lowest development loss "
        f"(nats per token, interpolated between evaluations: {listed})."
    )


def losses_at_equal_tokens(widths: list[Width]) -> tuple[int, dict[int, float]]:
    """The largest number of tokens that all widths have seen, and the interpolated losses there.

    A width that was first evaluated later than that is left out.
    """
    tokens = min(width.curve[-1].tokens for width in widths)
    known = [width for width in widths if width.curve[0].tokens <= tokens]
    return tokens, {width.d_model: _loss_at(width, tokens) for width in known}


def _loss_at(width: Width, tokens: int) -> float:
    seen = [point.tokens for point in width.curve]
    return float(np.interp(tokens, seen, [point.loss for point in width.curve]))


def _lines(found: WidthResults) -> Iterator[str]:
    yield "# What d_model costs and gains\n"
    yield f"Machine: {found.machine}.\n"
    yield from (f"- {sentence}" for sentence in conclusions(found))
    yield "\n![d_model](width.png)\n"
    tokens, length = found.study.shape
    yield (
        f"Translators with a vocabulary of {found.vocabulary:,}, heads of 64, d_ff = 4 · d_model, "
        f"sentences of {length} tokens, {tokens:,} tokens per training step; "
        f"{found.study.task.pairs:,} pairs of the grammar corpus. Models of genomes have their "
        f"published sizes and read {found.study.text} tokens; their speed is that of inference.\n"
    )
    head = ["", "d_model", "parameters", "MFLOP per token", "MB weights", "MB in training"]
    yield from markdown_table([*head, "tokens/s", "BLEU", "loss"], _rows(found))


def _rows(found: WidthResults) -> Iterator[list[str]]:
    for width in found.widths:
        last = width.curve[-1]
        costs = _cost_cells(width.d_model, width.counts, width.activations_mb)
        speed = format_number(width.tokens_per_second)
        yield ["translator", *costs, speed, f"{last.bleu:.1f}", f"{last.loss:.2f}"]
    for model in found.genomics:
        speed = format_number(model.tokens_per_second)
        yield [model.name, *_cost_cells(model.d_model, model.counts, 0.0), speed, "", ""]


def _cost_cells(d_model: int, counts: Counts, activations_mb: float) -> list[str]:
    values = counts.flop / 1e6, counts.weights_mb, counts.training_mb + activations_mb
    return [str(d_model), f"{counts.parameters:,}", *map(format_number, values)]


@style.in_style()
def plot(found: WidthResults) -> Plot:
    """Costs in the upper row, training speed and results in the others."""
    figure = Figure(figsize=(10.2, 7.6))
    (size, speed), (quality, curves) = figure.subplots(2, 2)
    widths = [width.d_model for width in found.widths]
    _plot_size(size, found)
    _label(size, widths, "Parameters, FLOP, memory")
    speed.plot(widths, [width.tokens_per_second for width in found.widths], "-o", color=style.BLUE)
    speed.set_yscale("log")
    style.plain_log_ticks(speed.yaxis)
    _label(speed, widths, "Training speed (tokens/s)")
    quality.plot(widths, [width.curve[-1].bleu for width in found.widths], "-o", color=style.BLUE)
    quality.set_ylim(bottom=0)
    _label(quality, widths, f"BLEU after {found.study.task.seconds:.0f} s of training")
    _plot_curves(curves, found)
    return Plot(figure)


def _plot_size(axes: Axes, found: WidthResults) -> None:
    widths = [width.d_model for width in found.widths]
    counts = [width.counts for width in found.widths]
    memory = [width.counts.training_mb + width.activations_mb for width in found.widths]
    axes.plot(widths, [c.parameters / 1e6 for c in counts], "-o", label="million parameters")
    axes.plot(widths, [c.flop / 1e6 for c in counts], "--s", label="MFLOP per token")
    axes.plot(widths, memory, ":^", label="MB in training")
    for model, marker in zip(found.genomics, "Dvp", strict=False):
        millions = model.counts.parameters / 1e6
        axes.plot(
            [model.d_model], [millions], marker, color=style.GREY, label=f"{model.name}, million"
        )
    axes.set_yscale("log")
    style.plain_log_ticks(axes.yaxis)
    axes.set_ylim(top=20 * max(memory))  # room for the legend above the highest line
    axes.legend(fontsize=8, ncols=2, loc="upper left")


def _label(axes: Axes, widths: list[int], title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(widths)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_xlabel("d_model")
    axes.set_title(title)
    axes.tick_params(axis="x", which="minor", length=0)
    style.quiet_grid(axes)


def _plot_curves(axes: Axes, found: WidthResults) -> None:
    for width, colour in zip(found.widths, style.CATEGORIES, strict=False):
        tokens = [point.tokens / 1e3 for point in width.curve]
        losses = [point.loss for point in width.curve]
        axes.plot(tokens, losses, "-o", color=colour, markersize=4, label=str(width.d_model))
    axes.set_xscale("log")
    style.plain_log_ticks(axes.xaxis)
    axes.set_xlabel("training tokens (thousands)")
    axes.set_ylabel("nats per token", color=style.GREY)
    axes.set_title("Development loss")
    axes.legend(title="d_model", fontsize=9)
    style.quiet_grid(axes)
