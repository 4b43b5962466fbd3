"""A trace as a table for the terminal, as Markdown, and as JSON."""

import io
import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clearhead.explain.tracer.axes import Shape, sizes
from clearhead.explain.tracer.mistake import Mistake
from clearhead.explain.tracer.rows import Line, Operand, Row, lines, note, short, summary

WIDTH = 190  # where the output is not a terminal, wrapping would gain nothing
FORMAT_VERSION = 1
_GAP = 2
_SHAPES = 44  # columns in which shapes can be wrapped between axes
_HEAD = """| operation | input → output | sizes | parameters | FLOPs | bytes | source |
| :--- | :--- | :--- | ---: | ---: | ---: | :--- |"""


def table_text(root: Row, mistake: Mistake | None = None) -> str:
    """The table as plain text."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, force_jupyter=False)
    draw(console, root, mistake)
    return console.file.getvalue()  # type: ignore[attr-defined]


def show(root: Row, words: str = "") -> None:
    """Print the table on standard output, at the width of the terminal."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH, force_jupyter=False)
    if words:
        console.print(Text(words))
    draw(console, root)


def draw(console: Console, root: Row, mistake: Mistake | None = None) -> None:
    """Print the table with the columns for which the console is wide enough."""
    console.print(Text(summary(root), style="bold"))
    shown = list(lines(root))
    cells = {name: [cell(line) for line in shown] for name, cell in _CELLS.items()}
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    chosen = _columns_that_fit(cells, console.width)
    for name in chosen:
        numeric = name in ("params", "FLOPs", "bytes")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for row in zip(*(cells[name] for name in chosen), strict=True):
        table.add_row(*row)
    console.print(table)
    if left_out := [name for name in _CELLS if name not in (*chosen, "output")]:
        names = ", ".join(left_out).replace("input → output", "inputs")
        hint = "To see them: a wider terminal, or -o trace.html."
        console.print(Text(f"Left out: {names}. {hint}", style="dim"))
    if mistake:
        console.print(Text("\n".join(["", *mistake.lines()]), style="red"))


def _columns_that_fit(cells: dict[str, list[Text]], width: int) -> list[str]:
    """The least important columns are dropped until the others fit without breaking words."""
    needed = {name: max(map(_longest_line, column)) for name, column in cells.items()}
    needed["input → output"] = min(needed["input → output"], _SHAPES)
    chosen = ["operation", "input → output", "params", "FLOPs", "bytes", "source"]
    for dropped in ("source", "bytes", "FLOPs", "params"):
        if sum(max(needed[name], len(name)) + _GAP for name in chosen) <= width + _GAP:
            return chosen
        chosen.remove(dropped)
    fits = sum(needed[name] + _GAP for name in chosen) <= width + _GAP
    return chosen if fits else ["operation", "output"]


def _longest_line(cell: Text) -> int:
    return max(map(len, cell.plain.split("\n")))


def _title(line: Line) -> Text:
    title = Text("  " * line.depth + line.title, style="bold" if line.row.children else "")
    if line.row.failed:
        title.stylize("red")
    return title


def _arrow(line: Line) -> Text:
    row = line.row
    return _with_note(Text(row.arrow()).append("\n" + row.arrow("sizes"), style="dim"), row)


def _output(line: Line) -> Text:
    outputs = line.row.arrow().rpartition("→ ")[2], line.row.arrow("sizes").rpartition("→ ")[2]
    return _with_note(Text(outputs[0]).append("\n" + outputs[1], style="dim"), line.row)


def _with_note(shapes: Text, row: Row) -> Text:
    if noted := note(row):
        shapes.append("\n" + noted, style="yellow" if row.doubts else "dim")
    return shapes


def _source(line: Line) -> Text:
    location = line.row.location
    text = Text(location.short if location else "")
    if location and location.link:
        text.stylize(f"link {location.link}")
    return text


_CELLS = {
    "operation": _title, "input → output": _arrow, "output": _output,
    "params": lambda line: Text(line.parameters),
    "FLOPs": lambda line: Text(short(line.row.flops)),
    "bytes": lambda line: Text(short(line.row.bytes)), "source": _source,
}  # fmt: skip


def markdown(root: Row, mistake: Mistake | None = None) -> str:
    """One Markdown table; nested rows are indented by dots."""
    rows = [_markdown_row(line) for line in lines(root)]
    failure = ["", "```text", *mistake.lines(), "```"] if mistake else []
    return "\n".join([f"**{summary(root)}**", "", _HEAD, *rows, *failure]) + "\n"


def _markdown_row(line: Line) -> str:
    row = line.row
    title = f"**{_escaped(line.title)}**" if row.children else _escaped(line.title)
    noted = f"<br>{_escaped(note(row))}" if note(row) else ""
    cells = [
        "· " * line.depth + title,
        f"`{row.arrow()}`{noted}",
        row.arrow("sizes"),
        line.parameters,
        short(row.flops),
        short(row.bytes),
        row.location.short if row.location else "",
    ]
    return f"| {' | '.join(cells)} |"


def _escaped(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def as_json(root: Row, mistake: Mistake | None = None) -> str:
    """`{"format_version": 1, "root": {…, "children": […]}, "mistake": null}`."""
    content = {
        "format_version": FORMAT_VERSION,
        "root": _row(root),
        "mistake": _mistake(mistake) if mistake else None,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "path": row.path,
        "module": row.kind,
        "operation": row.operation,
        "what": row.what,
        "formula": row.formula,
        "file": row.location.file if row.location else None,
        "line": row.location.line if row.location else None,
        "code": row.location.code if row.location else None,
        "inputs": [_operand(operand) for operand in row.inputs],
        "outputs": [_shape(shape) for shape in row.outputs],
        "parameters": row.parameters,
        "tied": row.tied,
        "flops": row.flops,
        "flops_of_products": row.products,
        "flops_elementwise": row.elementwise,
        "bytes": row.bytes,
        "broadcast": row.stretched,
        "doubts": row.doubts,
        "children": [_row(child) for child in row.children],
    }


def _operand(operand: Operand) -> dict[str, Any]:
    return {"label": operand.label, "learned": operand.learned, **_shape(operand.shape)}


def _shape(shape: Shape) -> dict[str, Any]:
    return {"axes": [axis.resolved.name or None for axis in shape], "shape": list(sizes(shape))}


def _mistake(mistake: Mistake) -> dict[str, Any]:
    return {
        "operation": mistake.operation,
        "path": mistake.path,
        "file": mistake.location.file if mistake.location else None,
        "line": mistake.location.line if mistake.location else None,
        "axes": list(mistake.names),
        "sizes": [axis.size for axis in mistake.axes],
        "origins": mistake.stories,
        "problem": mistake.problem,
        "law": mistake.law,
        "slip": mistake.slip,
        "message": mistake.message,
    }
