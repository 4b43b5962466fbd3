"""The colours differ for every colour vision, and larger values are darker."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap, to_rgb
from matplotlib.figure import Figure

from clearhead import plot_style
from clearhead.plot_style import (
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    SIGNED,
    SKY,
    WEIGHTS,
    plain_log_ticks,
)

# Machado, Oliveira and Fernandes (2009), table 1, severity 1: linear RGB as perceived.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ @ np.ones(3)


def lab(colour: tuple[float, float, float], seen_with: str) -> np.ndarray:
    rgb = np.array(colour)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(DEFICIENCIES[seen_with] @ linear, 0, 1) / WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_first_categories_are_far_apart_for_every_colour_vision(deficiency: str) -> None:
    """A difference of 2.3 is just noticeable; we ask for four times that."""
    for one, other in combinations((BLUE, ORANGE, GREEN, PINK, SKY), 2):
        distance = np.linalg.norm(lab(to_rgb(one), deficiency) - lab(to_rgb(other), deficiency))
        assert distance > 9, f"{one} and {other} differ by {distance:.1f}"


def lightness(colours: Colormap, places: np.ndarray, deficiency: str) -> np.ndarray:
    return np.array([lab(colours(place)[:3], deficiency)[0] for place in places])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_a_larger_weight_is_darker_for_every_colour_vision(deficiency: str) -> None:
    values = lightness(WEIGHTS, np.linspace(0, 1, 101), deficiency)
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_signed_colours_darken_on_both_sides_and_the_sides_differ(deficiency: str) -> None:
    away = np.linspace(0.5, 1, 51)
    for places in (away, 1 - away):
        assert (np.diff(lightness(SIGNED, places, deficiency)) < 0).all()
    for place in (0.7, 0.8, 0.9):
        sides = [lab(SIGNED(p)[:3], deficiency) for p in (place, 1 - place)]
        assert np.linalg.norm(sides[0] - sides[1]) > 20


@pytest.mark.parametrize(
    ("numbers", "some"),
    [((93, 622), {"100", "200", "500"}), ((13.1, 15.5), {"14", "15"}), ((1, 20_000), {"10,000"})],
)
def test_a_logarithmic_axis_is_labelled_in_plain_numbers(
    numbers: tuple[float, float], some: set[str]
) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set_yscale("log")
    axes.plot([0, 1], numbers)
    plain_log_ticks(axes.yaxis)
    FigureCanvasAgg(figure).draw()
    ticks = [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
    shown = {tick.label1.get_text() for tick in ticks}
    assert some <= shown and not any("10^" in label for label in shown)


def test_plots_and_pages_have_the_same_colours() -> None:
    folder = Path(plot_style.__file__).parent / "explain"
    css = (folder / "design.css").read_text(encoding="utf-8")
    script = (folder / "view" / "js" / "drawing.js").read_text(encoding="utf-8")
    heads = re.findall(r"--h\d: light-dark\((#\w+), (#\w+)\)", css)
    assert [light for light, _ in heads] == list(plot_style.CATEGORIES[:4])
    for theme, colours in zip(("light", "dark"), zip(*heads, strict=True), strict=True):
        block = re.search(rf'{theme}: {{.*?surface: "(#\w+)".*?heads: \[(.*?)\]', script)
        assert block and re.findall(r"#\w+", block[2]) == list(colours)
        assert block[1] in css
