"""A trace as a table for the terminal."""

import io
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clearhead.explain.tracer.mistake import Mistake
from clearhead.explain.tracer.rows import Row
from clearhead.explain.tracer.show.lines import Line, lines, note, short, summary

WIDTH = 190  # where the output is no terminal, nothing is gained by wrapping


def text(root: Row, mistake: Mistake | None = None) -> str:
    """The table as plain text."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, force_jupyter=False)
    draw(console, root, mistake)
    return console.file.getvalue()  # type: ignore[attr-defined]


def show(root: Row, words: str = "") -> None:
    """Print the table on standard output, as wide as the terminal is."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, force_jupyter=False)
    if words:
        console.print(Text(words))
    draw(console, root)


def draw(console: Console, root: Row, mistake: Mistake | None = None) -> None:
    """Print the table; a terminal that can follows file:line as a link."""
    console.print(Text(summary(root), style="bold"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("what")
    table.add_column("input → output", overflow="fold")
    for title in ("params", "FLOPs", "bytes"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("where", no_wrap=True)
    for line in lines(root):
        table.add_row(*_cells(line))
    console.print(table)
    if mistake:
        console.print(Text("\n".join(["", *mistake.lines()]), style="red"))


def _cells(line: Line) -> list[Text]:
    row = line.row
    title = Text("  " * line.depth + line.title, style="bold" if row.children else "")
    if row.failed:
        title.stylize("red")
    shapes = Text(row.arrow())
    shapes.append("\n" + row.arrow("numbers"), style="dim")
    if noted := note(row):
        shapes.append("\n" + noted, style="yellow" if row.doubts else "dim")
    where = Text(row.place.short if row.place else "")
    if row.place and row.place.link:
        where.stylize(f"link {row.place.link}")
    numbers = [Text(short(n)) for n in (row.parameters, row.flops, row.bytes)]
    return [title, shapes, *numbers, where]
