"""Plots of training: losses, learning rates, and each block's share of parameters and FLOPs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch.utils.flop_counter import FlopCounterMode

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.errors import UserError
from clearhead.explain.plots.plot import Plot
from clearhead.models import Transformer
from clearhead.plot_style import CATEGORIES, GREY, PALE, in_style, quiet_grid, whole_ticks
from clearhead.training.metrics import read_metrics
from clearhead.training.recipe import Shape, make_schedule

METRICS = "metrics.jsonl"
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_SCHEDULES = {
    "paper": "paper (Noam): equation 3",
    "inverse_sqrt": "inverse square root",
    "cosine": "half a cosine to zero",
    "trapezoid": "trapezoid: constant, then linear to zero",
    "constant": "constant after the warm-up",
}


@in_style()
def loss_curves(runs: Mapping[str, str | Path]) -> Plot:
    """Training loss (lines) and validation loss (dots) of run directories, by their names.

    Raises:
        UserError: a directory holds no losses.
    """
    figure = Figure(figsize=(9, 4.6))
    axes, units = figure.subplots(), set()
    for index, (name, directory) in enumerate(runs.items()):
        colour = CATEGORIES[index % len(CATEGORIES)]
        records = _records(Path(directory))
        classes = any("ppl" in record for record in records)
        units.add("nats per token" if classes else "squared error")
        training, validation = _losses(records, "train"), _losses(records, "dev")
        axes.plot(*training, color=colour, linewidth=1.4, label=f"{name}, training")
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "linestyle": "--"}
        axes.plot(*validation, color=colour, linewidth=1.2, label=f"{name}, validation", **style)
    title = "Loss (of training with label smoothing, if any)"
    axes.set(xlabel="step", ylabel=f"loss, {' or '.join(sorted(units))}", title=title)
    axes.set_xlim(left=0)
    whole_ticks(axes.xaxis)
    axes.legend()
    quiet_grid(axes)
    return Plot(figure)


def _records(directory: Path) -> list[dict[str, Any]]:
    records = read_metrics(directory / METRICS)
    if not any(record.get("loss") is not None for record in records):
        raise UserError(
            f"{directory} has no losses in {METRICS}; give the directory of a training run"
        )
    return records


def _losses(records: list[dict[str, Any]], kind: str) -> tuple[list[int], list[float]]:
    chosen = [r for r in records if r["kind"] == kind and r.get("loss") is not None]
    return [r["step"] for r in chosen], [r["loss"] for r in chosen]


@in_style()
def schedules(
    steps: int = 20000, warmup: int = 4000, peak: float = 1e-3, d_model: int = 512
) -> Plot:
    """Every learning-rate schedule of the recipes; the paper's has its own peak, from d_model."""
    shapes: tuple[Shape, ...] = get_args(Shape)
    sampled = np.unique(np.linspace(1, steps, 600).astype(int))
    figure = Figure(figsize=(9, 4.6))
    axes = figure.subplots()
    for shape, colour, dash in zip(shapes, CATEGORIES, _DASHES, strict=False):
        rate = make_schedule(shape, 1.0 if shape == "paper" else peak, warmup, steps, d_model)
        values = [rate(int(step)) for step in sampled]
        axes.plot(sampled, values, color=colour, linestyle=dash, label=_SCHEDULES[shape])
    axes.axvline(warmup, color=PALE, linewidth=1)
    axes.text(warmup, axes.get_ylim()[1], " warm-up ends", va="top", color=GREY, fontsize=9)
    axes.set(xlabel="step", ylabel="learning rate", title="Learning-rate schedules")
    axes.set_xlim(0, steps)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    quiet_grid(axes)
    return Plot(figure)


# A path belongs to the first part that has one of its components.
PARTS = {
    "embeddings": ("src_embed", "tgt_embed"),
    "projection": ("projection_layer",),
    "self-attention": ("self_attention_block",),
    "cross-attention": ("cross_attention_block",),
    "feed-forward": ("feed_forward_block",),
}
OTHER = "norms"


def parameter_shares(model: Transformer) -> dict[str, int]:
    """The number of parameters of each part; a tied matrix is counted at its first part."""
    shares = dict.fromkeys([*PARTS, OTHER], 0)
    for name, parameter in model.named_parameters():  # yields a tied one once
        shares[_part_of(name)] += parameter.numel()
    return shares


def flop_shares(model: Transformer, src_len: int, tgt_len: int) -> dict[str, int]:
    """The FLOPs of one forward pass in each part, as torch counts those of matrix products."""
    first = max(model.config.pad_id, model.config.bos_id, model.config.eos_id) + 1
    device = next(model.parameters()).device
    src, tgt = (torch.full((1, length), first, device=device) for length in (src_len, tgt_len))
    masks = padding_mask(src, model.config.pad_id), decoder_mask(tgt, model.config.pad_id)
    counter = FlopCounterMode(display=False)
    with torch.inference_mode(), counter:
        model(src, tgt, *masks)
    shares = dict.fromkeys([*PARTS, OTHER], 0)
    for path, operations in counter.get_flop_counts().items():
        part = _part_of(path)
        # A module's count includes its children: count at the module that names the part.
        if path.split(".")[-1] in PARTS.get(part, ()):
            shares[part] += sum(operations.values())
    return shares


@in_style()
def shares(model: Transformer, src_len: int = 20, tgt_len: int = 20) -> Plot:
    """Two stacked bars: the shares in the parameters, and in the FLOPs of one forward pass."""
    rows = {
        "parameters": parameter_shares(model),
        f"FLOPs, {src_len} → {tgt_len} tokens": flop_shares(model, src_len, tgt_len),
    }
    figure = Figure(figsize=(9.5, 2.9))
    axes = figure.subplots()
    for row, counts in enumerate(rows.values()):
        _bar(axes, row, counts)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="share, %")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.02), ncols=6, columnspacing=1.0, fontsize=9)
    return Plot(figure)


def _bar(axes: Axes, row: int, counts: Mapping[str, int]) -> None:
    total, left = sum(counts.values()), 0.0
    for (part, count), colour in zip(counts.items(), CATEGORIES, strict=False):
        share = 100 * count / total
        label = part if row == 0 else None
        axes.barh(row, share, left=left, color=colour, edgecolor="white", label=label, height=0.62)
        if share >= 4:
            ink = "white" if colour in CATEGORIES[:4] else "black"
            axes.text(left + share / 2, row, f"{share:.0f}", color=ink, ha="center", va="center")
        left += share


def _part_of(path: str) -> str:
    components = path.split(".")
    return next((part for part, names in PARTS.items() if {*names} & {*components}), OTHER)
