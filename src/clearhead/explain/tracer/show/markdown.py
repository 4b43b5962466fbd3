"""A trace as a markdown table."""

from clearhead.explain.tracer.mistake import Mistake
from clearhead.explain.tracer.rows import Row
from clearhead.explain.tracer.show.lines import Line, lines, note, short, summary

_HEAD = """| what | input → output | in numbers | parameters | FLOPs | bytes | where |
| :--- | :--- | :--- | ---: | ---: | ---: | :--- |"""


def markdown(root: Row, mistake: Mistake | None = None) -> str:
    """One table, nested rows indented by dots."""
    rows = [_line(line) for line in lines(root)]
    broken = ["", "```text", *mistake.lines(), "```"] if mistake else []
    return "\n".join([f"**{summary(root)}**", "", _HEAD, *rows, *broken]) + "\n"


def _line(line: Line) -> str:
    row = line.row
    title = f"**{_safe(line.title)}**" if row.children else _safe(line.title)
    noted = f"<br>{_safe(note(row))}" if note(row) else ""
    where = row.place.short if row.place else ""
    if row.place and row.place.link:
        where = f"[{where}]({row.place.link})"
    cells = [
        "· " * line.depth + title,
        f"`{row.arrow()}`{noted}",
        row.arrow("numbers"),
        *(short(n) for n in (row.parameters, row.flops, row.bytes)),
        where,
    ]
    return f"| {' | '.join(cells)} |"


def _safe(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
