"""Plots of biology show the numbers that they are given."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from clearhead.explain.plots import biology
from clearhead.explain.plots.plot import Plot


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    figures: list[Figure] = []
    monkeypatch.setattr(Plot, "save", lambda plot, path: figures.append(plot.figure))
    return figures


def test_a_reliability_plot_has_a_point_for_each_bin(drawn: list[Figure]) -> None:
    table = np.array([[0.55, 0.5, 20.0], [0.75, 0.9, 60.0], [0.95, 0.97, 11.0]])
    biology.draw_reliability(table, 0.07, Path("unused.svg"))
    points = drawn[0].axes[0].collections[0]
    assert np.allclose(points.get_offsets(), table[:, :2])
    assert points.get_sizes().tolist().index(200) == 1  # the bin with the most records
    assert "0.070" in drawn[0].axes[0].get_title("left")


def test_an_explanation_has_two_bars_for_each_token(drawn: list[Figure]) -> None:
    effect, attention = np.array([0.1, -0.2, 0.3]), np.array([0.2, 0.5, 0.3])
    biology.draw_explanation(["A", "T", "G"], effect, attention, "x: promoter", Path("unused.svg"))
    upper, lower = drawn[0].axes
    assert [bar.get_height() for bar in upper.patches] == effect.tolist()
    assert [bar.get_height() for bar in lower.patches] == attention.tolist()
    assert [label.get_text().strip() for label in lower.get_xticklabels()] == ["A", "T", "G"]
    assert lower.get_xlabel() == "position"


def test_every_tenth_letter_has_its_position(drawn: list[Figure]) -> None:
    for count, shown in (
        (21, {9: "A\n10", 10: "A\n", 19: "A\n20"}),  # all of two lines, at the same height
        (230, {0: "A\n10", 22: "A\n230"}),
    ):
        zeros = np.zeros(count)
        biology.draw_explanation(["A"] * count, zeros, zeros, "x", Path("unused.svg"))
        labels = [label.get_text() for label in drawn.pop().axes[1].get_xticklabels()]
        assert {number: labels[number] for number in shown} == shown


def test_names_of_genes_are_written_upwards(drawn: list[Figure]) -> None:
    zeros = np.zeros(2)
    biology.draw_explanation(["CD3E", "LYZ"], zeros, zeros, "x", Path("unused.svg"), "gene")
    assert drawn[0].axes[1].get_xlabel() == "gene"
    labels = drawn[0].axes[1].get_xticklabels()
    assert [(label.get_text(), label.get_rotation()) for label in labels] == [
        ("CD3E", 90),
        ("LYZ", 90),
    ]


def test_long_names_leave_the_bars_their_height(drawn: list[Figure]) -> None:
    zeros, heights = np.zeros(3), []
    for tokens in (["AC", "CG", "GT"], [f"ENSG0000000000{n}" for n in range(3)]):
        biology.draw_explanation(tokens, zeros, zeros, "x", Path("unused.svg"))
        figure = drawn.pop()
        figure.draw_without_rendering()
        heights.append(figure.axes[0].get_window_extent().height)
    assert heights[1] > 0.9 * heights[0]


def test_mutations_are_a_map_of_position_by_residue(drawn: list[Figure]) -> None:
    marginals = np.random.default_rng(1).normal(size=(7, 20))
    biology.draw_mutations(marginals, "MKTAYIA", "ACDEFGHIKLMNPQRSTVWY", Path("unused.svg"))
    axes = drawn[0].axes[0]
    assert np.allclose(axes.images[0].get_array(), marginals.T)
    low, high = axes.images[0].get_clim()
    assert low == -high
    assert [label.get_text().strip() for label in axes.get_xticklabels()] == list("MKTAYIA")


def test_contacts_fill_the_triangle_above_attention(drawn: list[Figure]) -> None:
    pairs = np.random.default_rng(1).normal(size=(9, 9))
    pairs = pairs + pairs.T
    truth = np.eye(9, k=3) + np.eye(9, k=-3)
    biology.draw_contacts(pairs, truth, Path("unused.svg"))
    shown = np.asarray(drawn[0].axes[0].images[0].get_array())
    assert (np.triu(shown) == np.triu(truth)).all()
    below = np.tril_indices(9, -1)
    assert np.allclose(shown[below], np.maximum(pairs, 0)[below] / np.quantile(pairs, 0.995))
    assert drawn[0].axes[0].images[0].get_extent() == [0.5, 9.5, 9.5, 0.5]  # positions from 1


def test_points_have_a_colour_for_each_label(drawn: list[Figure]) -> None:
    points = np.random.default_rng(1).normal(size=(11, 2))
    labels = ["B", "T", "T", "NK", "B", "T", "B", "NK", "T", "T", "B"]
    biology.draw_points(points, labels, "Cells by label", Path("unused.svg"))
    assert drawn[0].axes[0].get_title("left") == "Cells by label"
    groups = drawn[0].axes[0].collections
    assert [group.get_label() for group in groups] == ["B", "NK", "T"]
    assert [len(group.get_offsets()) for group in groups] == [4, 2, 5]


def test_a_plot_is_written_as_a_file(tmp_path: Path) -> None:
    biology.draw_reliability(np.array([[0.8, 0.7, 5.0]]), 0.1, tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_bytes().startswith(b"<?xml")
