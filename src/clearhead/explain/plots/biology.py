"""Plots of biological models and of their answers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from clearhead.explain.plots.plot import Plot
from clearhead.plot_style import BLUE, GREY, ORANGE, SIGNED, WEIGHTS, in_style, quiet_grid

Floats = NDArray[np.float64]


@in_style()
def draw_reliability(table: Floats, error: float, path: Path) -> None:
    """How often the model is right when it is so and so sure; on the diagonal it is calibrated.

    Shape:
        table: (bins, 3), rows of `clearhead.evaluation.labelled.reliability`
    """
    figure = Figure(figsize=(4.6, 4.2))
    axes = figure.subplots()
    low = min(0.5, float(table[:, :2].min()))
    axes.plot([low, 1], [low, 1], color=GREY, linewidth=1, linestyle="--")
    sizes = 20 + 180 * table[:, 2] / table[:, 2].max()
    axes.scatter(table[:, 0], table[:, 1], s=sizes, color=BLUE)
    axes.plot(table[:, 0], table[:, 1], color=BLUE)
    title = f"Reliability on held-out data (error {error:.3f})"
    axes.set(xlabel="predicted probability", ylabel="share correct", title=title)
    quiet_grid(axes)
    Plot(figure).save(path)


@in_style()
def draw_explanation(
    tokens: Sequence[str], effect: Floats, attention: Floats, title: str, path: Path,
    what: str = "token",
) -> None:  # fmt: skip
    """Bars over a sequence: the effect of hiding each token, and the attention it receives.

    Below single letters, every tenth has its position; longer tokens are written upwards, and
    `what` names them.

    Shape:
        effect, attention: (tokens,)
    """
    count, letters = len(tokens), all(len(token) == 1 for token in tokens)
    height = 4.2 if letters else 4.4 + 0.07 * max(map(len, tokens))
    figure = Figure(figsize=(max(5.0, min(30.0, 0.16 * count + 1.5)), height))
    upper, lower = figure.subplots(2, 1, sharex=True)
    positions = np.arange(count)
    upper.bar(positions, effect, color=BLUE)
    upper.axhline(0, color=GREY, linewidth=0.8)
    upper.set(ylabel="fall of probability\nif hidden", title=title)
    lower.bar(positions, attention, color=ORANGE)
    if letters:
        _label_positions(lower, tokens)
    else:
        step = 1 + count // 200
        lower.set_xticks(positions[::step], tokens[::step], fontsize=7, rotation=90)
    label = "position" if letters else what
    lower.set(xlabel=label, ylabel="attention received", xlim=(-1, count))
    quiet_grid(upper)
    quiet_grid(lower)
    Plot(figure).save(path)


def _label_positions(axes: Axes, letters: Sequence[str]) -> None:
    """Each letter on the x axis, every tenth with its position; of many letters only the tenths.

    All have two lines: the letters of labels with one line would stand higher.
    """
    texts = [f"{c}\n{t if t % 10 == 0 else ''}" for t, c in enumerate(letters, start=1)]
    shown = range(len(texts)) if len(texts) <= 200 else range(9, len(texts), 10)
    axes.set_xticks(shown, [texts[t] for t in shown], fontsize=7)


@in_style()
def draw_mutations(marginals: Floats, sequence: str, residues: str, path: Path) -> None:
    """A heat map, position × amino acid; orange is likelier than the wild type, blue less likely.

    Shape:
        marginals: (positions, residues)
    """
    figure = Figure(figsize=(max(5.0, min(40.0, 0.14 * len(sequence) + 1.8)), 4.0))
    axes = figure.subplots()
    most = float(np.abs(marginals).max()) or 1.0
    image = axes.imshow(marginals.T, cmap=SIGNED, vmin=-most, vmax=most, aspect="auto")
    axes.set_yticks(range(len(residues)), list(residues), fontsize=7)
    _label_positions(axes, sequence)
    axes.set(xlabel="wild type, by position", ylabel="substituted by")
    figure.colorbar(image, ax=axes, label="log-odds against the wild type")
    Plot(figure).save(path)


@in_style()
def draw_contacts(pairs: Floats, truth: Floats | None, path: Path) -> None:
    """Pairs of positions by attention; where contacts are given, they fill the other triangle.

    Shape:
        pairs, truth: (positions, positions)
    """
    figure = Figure(figsize=(5.4, 4.8))
    axes = figure.subplots()
    most = float(np.quantile(pairs, 0.995)) or 1.0
    shown = np.maximum(pairs, 0) / most
    if truth is not None:
        shown = np.where(np.tri(len(shown), k=-1, dtype=bool), shown, truth)
    edges = 0.5, len(shown) + 0.5  # positions are counted from 1
    image = axes.imshow(shown, cmap=WEIGHTS, vmin=0, vmax=1, extent=(*edges, *edges[::-1]))
    title = "attention" if truth is None else "attention (below), contacts (above)"
    axes.set(xlabel="position", ylabel="position", title=title)
    figure.colorbar(image, ax=axes, shrink=0.8)
    Plot(figure).save(path)


@in_style()
def draw_points(points: Floats, labels: Sequence[str], title: str, path: Path) -> None:
    """Points in the plane, coloured by their labels.

    Shape:
        points: (records, 2)
    """
    figure = Figure(figsize=(6.4, 4.8))
    axes = figure.subplots()
    names = sorted(set(labels))
    colours = colormaps["tab20"](np.linspace(0, 1, max(2, len(names))))
    for name, colour in zip(names, colours, strict=False):
        chosen = np.array([label == name for label in labels])
        axes.scatter(points[chosen, 0], points[chosen, 1], s=10, color=colour, label=name)
    axes.set(xlabel="UMAP 1", ylabel="UMAP 2", title=title)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    Plot(figure).save(path)
