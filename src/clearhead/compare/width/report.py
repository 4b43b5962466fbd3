"""One picture and one table for the width, as a page of Markdown."""

from collections.abc import Iterator
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from clearhead.compare.rnn.findings import number
from clearhead.compare.rnn.report import table
from clearhead.compare.width.findings import sentences
from clearhead.compare.width.study import Numbers, record
from clearhead.explain.pictures import Picture
from clearhead.explain.pictures.style import (
    BLUE,
    CATEGORIES,
    GREY,
    RULES,
    in_style,
    plain_log_ticks,
    quiet_grid,
)
from clearhead.files import atomic_write


def write(found: Numbers, directory: Path) -> None:
    """report.md, numbers.json and width.png."""
    picture(found).save(directory / "width.png")
    atomic_write(directory / "numbers.json", record(found))
    atomic_write(directory / "report.md", as_markdown(found))


def as_markdown(found: Numbers) -> str:
    """What follows, the picture, the table."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Numbers) -> Iterator[str]:
    yield "# What d_model costs and gives\n"
    yield f"Machine: {found.machine}.\n"
    yield from (f"- {sentence}" for sentence in sentences(found))
    yield "\n![d_model](width.png)\n"
    tokens, length = found.study.shape
    yield (
        f"Translators with a vocabulary of {found.vocabulary:,}, heads of 64 and a feed-forward "
        f"four times as wide, sentences of {length} tokens, {tokens:,} tokens a training step; "
        f"{found.study.course.pairs:,} pairs of the grammar corpus. Models of genomes have their "
        f"published sizes and read {found.study.text} tokens; their speed is that of reading.\n"
    )
    head = ["", "d_model", "parameters", "MFLOP a token", "MB weights", "MB to train"]
    yield from table([*head, "tokens/s", "BLEU", "loss"], _rows(found))


def _rows(found: Numbers) -> Iterator[list[str]]:
    for rung in found.widths:
        c, last = rung.counts, rung.curve[-1]
        megabytes = [number(c.weights_mb), number(c.training_mb + rung.kept_mb)]
        quality = [number(rung.tokens_per_second), f"{last.bleu:.1f}", f"{last.loss:.2f}"]
        sizes = [str(rung.d_model), f"{c.parameters:,}", number(c.flop / 1e6)]
        yield ["translator", *sizes, *megabytes, *quality]
    for model in found.genomics:
        c = model.counts
        sizes = [str(model.d_model), f"{c.parameters:,}", number(c.flop / 1e6)]
        megabytes = [number(c.weights_mb), number(c.training_mb)]
        yield [model.name, *sizes, *megabytes, number(model.tokens_per_second), "", ""]


@in_style()
def picture(found: Numbers) -> Picture:
    """Costs above, what they buy below."""
    figure = Figure(figsize=(10.2, 7.6))
    (size, speed), (quality, curves) = figure.subplots(2, 2)
    widths = [rung.d_model for rung in found.widths]
    counts = [rung.counts for rung in found.widths]
    to_train = [rung.counts.training_mb + rung.kept_mb for rung in found.widths]
    size.plot(widths, [c.parameters / 1e6 for c in counts], "-o", label="million parameters")
    size.plot(widths, [c.flop / 1e6 for c in counts], "--s", label="MFLOP a token")
    size.plot(widths, to_train, ":^", label="MB to train")
    for model, marker in zip(found.genomics, "Dvp", strict=False):
        millions = model.counts.parameters / 1e6
        size.plot([model.d_model], [millions], marker, color=GREY, label=f"{model.name}, million")
    size.set_yscale("log")
    plain_log_ticks(size.yaxis)
    size.set_ylim(top=20 * max(to_train))  # room above the highest line, for the legend
    size.legend(fontsize=8, ncols=2, loc="upper left")
    _label(size, widths, "Size, arithmetic, memory")
    speed.plot(widths, [rung.tokens_per_second for rung in found.widths], "-o", color=BLUE)
    speed.set_yscale("log")
    plain_log_ticks(speed.yaxis)
    _label(speed, widths, "Tokens a second in training")
    quality.plot(widths, [rung.curve[-1].bleu for rung in found.widths], "-o", color=BLUE)
    quality.set_ylim(bottom=0)
    _label(quality, widths, f"BLEU after {found.study.course.seconds:.0f} s of learning")
    _draw_curves(curves, found)
    return Picture(figure, RULES)


def _label(axes: Axes, widths: list[int], title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(widths)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_xlabel("d_model")
    axes.set_title(title)
    axes.tick_params(axis="x", which="minor", length=0)
    quiet_grid(axes)


def _draw_curves(axes: Axes, found: Numbers) -> None:
    for rung, colour in zip(found.widths, CATEGORIES, strict=False):
        tokens = [point.tokens / 1e3 for point in rung.curve]
        losses = [point.loss for point in rung.curve]
        axes.plot(tokens, losses, "-o", color=colour, markersize=4, label=str(rung.d_model))
    axes.set_xscale("log")
    plain_log_ticks(axes.xaxis)
    axes.set_xlabel("thousand target tokens read")
    axes.set_ylabel("nats a token", color=GREY)
    axes.set_title("Loss on new sentences")
    axes.legend(title="d_model", fontsize=9)
    quiet_grid(axes)
