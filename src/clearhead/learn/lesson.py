"""What the cells of a lesson show: source of the library, exercises, figures in both themes.

In a notebook each function displays HTML without scripts; elsewhere it prints text.
"""

import base64
import inspect
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

from matplotlib.figure import Figure

from clearhead.errors import UserError
from clearhead.explain.plots.plot import in_both_themes
from clearhead.learn.manifest import CONTENT, Exercise, course
from clearhead.learn.source import source_lines
from clearhead.plot_style import in_style


def show_source(address: str) -> None:
    """Show the source at `module:qualified.name`, highlighted, with its file and line numbers.

    Raises:
        UserError: the address names no function or class of the library.
    """
    file, first, lines = source_lines(address)
    last = first + len(lines) - 1
    title = f"{file}, lines {first} to {last}"
    numbered = [f"{n:4d}  {line}".rstrip() for n, line in enumerate(lines, first)]
    html = (
        f"<div class='ch-source'><div class='ch-title'>{escape(title)}</div>"
        f"<pre>{_highlighted(lines, first)}</pre></div>"
    )
    _display(html, "\n".join([title, *numbered]))


def _highlighted(lines: list[str], first: int) -> str:
    """Spans with the classes of Pygments; the numbers are not part of what one copies."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    plain: Any = HtmlFormatter(nowrap=True)
    colored = highlight(textwrap.dedent("\n".join(lines)), PythonLexer(), plain).splitlines()
    return "\n".join(
        f"<span class='ch-n' data-n='{n}'></span>{line}" for n, line in enumerate(colored, first)
    )


def show_exercises(chapter: int) -> None:
    """Show the exercises of a chapter: title, kind, minutes, difficulty, and the command.

    Raises:
        UserError: the course has no such chapter.
    """
    if chapter not in course().chapters:
        most = max(course().chapters)
        raise UserError(f"no chapter {chapter}; expected a number from 1 to {most}")
    found = course().inside(chapter)
    rows = "".join(map(_exercise_row, found))
    head = "<tr><th></th><th>exercise</th><th>time</th><th>difficulty</th><th>command</th></tr>"
    html = f"<div class='ch-exercises'><table>{head}{rows}</table></div>"
    _display(html, "\n".join(map(_exercise_line, found)))


def _exercise_row(exercise: Exercise) -> str:
    stars = "●" * exercise.difficulty + "○" * (3 - exercise.difficulty)
    return (
        f"<tr><td>{course().number(exercise)}</td>"
        f"<td>{escape(exercise.title)}<br><small>{exercise.kind_name}</small></td>"
        f"<td>{exercise.minutes} min</td>"
        f"<td><span aria-label='{exercise.difficulty} of 3'>{stars}</span></td>"
        f"<td><code>clearhead learn check {exercise.name}</code></td></tr>"
    )


def _exercise_line(exercise: Exercise) -> str:
    number, kind = course().number(exercise), exercise.kind_name
    return (
        f"{number:5s} {exercise.title} ({kind}, {exercise.minutes} min, "
        f"difficulty {exercise.difficulty} of 3): clearhead learn check {exercise.name}"
    )


def show_figure(draw: Callable[[], Figure]) -> None:
    """Draw a figure in the design's style and show it in the reader's theme, light or dark.

    The docstring of `draw` is the alternative text for readers who cannot see the figure.
    """
    with in_style():
        figure = draw()
    themed = in_both_themes(figure)
    alt = " ".join((inspect.getdoc(draw) or "").split()) or "figure"
    images = "".join(
        f"<img class='ch-{theme}' alt='{escape(alt, quote=True)}' src='{_data_url(svg)}' "
        f"style='width:{themed.width}px;min-width:{themed.width * 4 // 5}px'>"
        for theme, svg in (("light", themed.light), ("dark", themed.dark))
    )
    _display(f"<div class='ch-figure'>{images}</div>", f"[figure: {alt}]")


def _data_url(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


@cache
def style() -> str:
    """The style sheet of everything that lessons show, for both themes."""
    return (CONTENT / "lesson.css").read_text(encoding="utf-8")


def _display(html: str, text: str) -> None:
    """Show HTML in a notebook; print the text where there is none."""
    if not _in_notebook():
        print(text)
        return
    from IPython.display import display

    data = {"text/html": f"<style>{style()}</style>{html}", "text/plain": text}
    display(data, raw=True)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None
