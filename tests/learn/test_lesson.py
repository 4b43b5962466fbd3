"""What lessons show: the library's source as it stands, every exercise, figures in both themes."""

import inspect
import re

import pytest
from matplotlib.colors import ListedColormap, to_hex
from matplotlib.figure import Figure

from clearhead.blocks import MultiHeadAttentionBlock, masks
from clearhead.errors import UserError
from clearhead.explain.plots.plot import in_both_themes
from clearhead.learn import lesson
from clearhead.learn.manifest import course
from clearhead.learn.source import source_lines
from clearhead.plot_style import BLUE, WEIGHTS

Shown = list[tuple[str, str]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Everything that is displayed, as HTML and as text."""
    found: Shown = []
    monkeypatch.setattr(lesson, "_display", lambda html, text: found.append((html, text)))
    return found


def test_the_source_shown_is_the_source_that_runs(shown: Shown) -> None:
    lesson.show_source("clearhead.blocks.attention:MultiHeadAttentionBlock.attention")
    lines, first = inspect.getsourcelines(MultiHeadAttentionBlock.attention)
    title, *rest = shown[0][1].splitlines()
    last = first + len(lines) - 1
    assert title == f"clearhead/blocks/attention.py, lines {first} to {last}"
    assert [line[6:] for line in rest] == [line.rstrip("\n") for line in lines]
    numbers = re.findall(r"data-n='(\d+)'", shown[0][0])
    assert numbers == [str(n) for n in range(first, last + 1)]


def test_a_function_is_found_as_well_as_a_method() -> None:
    lines, first = inspect.getsourcelines(masks.padding_mask)
    found = source_lines("clearhead.blocks.masks:padding_mask")
    assert found == ("clearhead/blocks/masks.py", first, [line.rstrip("\n") for line in lines])


def test_an_address_that_names_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="padding_masks"):
        lesson.show_source("clearhead.blocks.masks:padding_masks")


@pytest.mark.parametrize("chapter", course().chapters)
def test_every_exercise_of_a_chapter_is_listed_once(chapter: int, shown: Shown) -> None:
    lesson.show_exercises(chapter)
    names = [e.name for e in course().exercises if e.chapter == chapter]
    html, text = shown[0]
    assert re.findall(r"<code>clearhead learn check ([\w-]+)</code>", html) == names
    assert re.findall(r"clearhead learn check ([\w-]+)$", text, re.M) == names


def test_a_chapter_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UserError, match="no chapter 19; expected a number from 1 to 18"):
        lesson.show_exercises(19)


def draw() -> Figure:
    """A line and a map."""
    figure = Figure(figsize=(5, 2))
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [3, 2], color=BLUE)
    right.pcolormesh([[0.0, 1.0]], cmap=WEIGHTS)
    return figure


def test_a_figure_is_shown_in_both_themes_with_alternative_text(shown: Shown) -> None:
    lesson.show_figure(draw)
    html = shown[0][0]
    assert html.count("<img class='ch-light'") == html.count("<img class='ch-dark'") == 1
    assert html.count("alt='A line and a map.'") == 2 and "http" not in html


def test_the_dark_figure_holds_no_light_surface_and_no_dark_line() -> None:
    themed = in_both_themes(draw())
    assert BLUE in themed.light and "#ffffff" in themed.light
    assert BLUE not in themed.dark and "#ffffff" not in themed.dark
    assert "#8db0ff" in themed.dark and "#eef3ff" in themed.dark  # the line; the largest weight


def test_a_listed_colour_is_replaced_once_in_cells_and_in_images() -> None:
    figure = Figure(figsize=(3, 2))
    cells, image = figure.subplots(1, 2)
    two = ListedColormap(["#ffffff", BLUE])
    cells.pcolormesh([[0.0, 1.0]], cmap=two)
    image.imshow([[0.0, 1.0]], cmap=two)
    themed = in_both_themes(figure)
    assert "#8db0ff" in themed.dark and "#4d7ae0" not in themed.dark
    assert to_hex(image.images[0].get_cmap()(1)) == "#8db0ff"


def test_outside_a_notebook_text_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    lesson.show_exercises(1)
    assert "1.1   What recurrence costs" in capsys.readouterr().out
