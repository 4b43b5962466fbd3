"""A trace as a self-contained HTML page with collapsible blocks; it loads nothing.

The fragment for a notebook contains no script: blocks are `<details>` elements.
"""

from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path

from clearhead.explain.tracer.axes import Axis, Shape
from clearhead.explain.tracer.mistake import Mistake
from clearhead.explain.tracer.rows import Line, Operand, Row, group_equal, short, summary

_HEAD = {
    "what": "operation", "shapes": "input → output", "formula": "formula", "num p": "parameters",
    "num f": "FLOPs", "num b": "bytes", "where": "source",
}  # fmt: skip
_FLOPS = "a multiply-add of a product counts as two, other arithmetic as one per element"
_OPEN_ROWS = 40  # a trace of up to so many rows starts with all blocks open
_AXES = {
    "batch", "src_len", "tgt_len", "seq_len", "max_seq_len", "d_model", "h", "d_k", "d_ff", "vocab",
}  # fmt: skip
_BUTTONS = "".join(
    f"<button type=button onclick=\"document.querySelectorAll('.ch-trace details')"
    f'.forEach(d => d.open = {state})">{words}</button>'
    for words, state in (("Expand all", "true"), ("Collapse all", "false"))
)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{style}
body{{margin:0;background:light-dark(#f7f7f5,#12151a);color-scheme:light dark}}</style></head>
<body><main class="ch-page">{fragment}</main></body></html>
"""


def page(root: Row, mistake: Mistake | None = None, words: str = "") -> str:
    """A complete document; `words` is its subtitle."""
    content = _content(root, mistake, words, _BUTTONS)
    return _PAGE.format(title=escape(f"{root.kind}: shapes"), style=style(), fragment=content)


def fragment(root: Row, mistake: Mistake | None = None) -> str:
    """The same for a notebook's output cell, without buttons."""
    return f"<style>{style()}</style>{_content(root, mistake)}"


@cache
def style() -> str:
    """The style sheet: the colours of the design, then the page's own rules."""
    design = Path(__file__).parents[1] / "design.css"
    own = Path(__file__).with_name("trace.css")
    return design.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


def _content(root: Row, mistake: Mistake | None, words: str = "", buttons: str = "") -> str:
    head = "".join(f'<span class="{name}">{title}</span>' for name, title in _HEAD.items())
    head = head.replace('"num f"', f'"num f" title="{_FLOPS}"')
    subtitle = f'<p class="subtitle">{escape(words)}</p>' if words else ""
    title, _, costs = summary(root).partition(": ")
    return (
        f'<div class="ch-trace"><header><h1>{escape(title)}: shapes</h1>{subtitle}'
        f'<p class="costs">{escape(costs)}</p></header>'
        f'<div class="bar">{_legend(root)}{buttons}</div>{_failure(mistake) if mistake else ""}'
        f'<div class="rows"><div class="row head">{head}</div>'
        f"{_row(Line(0, root, 1), _opens(root))}</div></div>"
    )


def _legend(root: Row) -> str:
    """The axes that occur, with all their sizes."""
    found: dict[str, set[int]] = {}
    for _, row in root.walk():
        for shape in (*row.outputs, *(operand.shape for operand in row.inputs)):
            for axis in shape:
                if axis.resolved.name and not axis.broadcasts:
                    found.setdefault(axis.label, set()).add(axis.size)
    chips = "".join(
        _chip(name, ", ".join(f"{size:,}" for size in sorted(sizes)))
        for name, sizes in found.items()
    )
    return f'<p class="legend">{chips}</p>'


def _opens(root: Row) -> Callable[[Line], bool]:
    """A small trace starts open, a large one with the way to the mistake open."""
    small = sum(1 for _ in root.walk()) <= _OPEN_ROWS

    def opens(line: Line) -> bool:
        failed = any(row.failed for _, row in line.row.walk())
        return line.depth == 0 or failed or (small and bool(line.row.children))

    return opens


def _row(line: Line, opens: Callable[[Line], bool]) -> str:
    """A block expands to its rows, an operation to its code, operands and broadcasting."""
    row = line.row
    inner = "".join(
        _row(Line(line.depth + 1, child, times), opens)
        for child, times in group_equal(row.children)
    )
    inner = inner or _details(row)
    kind = ("block" if row.children else "op") + (" failed" if row.failed else "")
    if not inner:
        return f'<div class="row {kind}">{_cells(line)}</div>'
    state = " open" if opens(line) else ""
    summary_line = f'<summary class="row">{_cells(line)}</summary>'
    return f'<details class="{kind}"{state}>{summary_line}{inner}</details>'


def _cells(line: Line) -> str:
    row = line.row
    doubt = ' <span class="doubt" title="see the details">⚠</span>' if row.doubts else ""
    inputs = '<span class="sep">,</span>'.join(_shape(o.shape) for o in row.shown_inputs)
    outputs = '<span class="sep">,</span>'.join(_shape(shape) for shape in row.outputs)
    tied = f"tied to {row.tied}" if row.tied else f"{row.parameters:,}"
    costs = f"{row.flops:,} = {row.products:,} in products + {row.elementwise:,}"
    location = row.location
    hover = f"line {location.line}, in {location.function}" if location else ""
    return (
        f'<span class="what" style="--depth:{line.depth}" title="{escape(row.path or row.kind)}">'
        f"{escape(line.title)}{doubt}</span>"
        f'<span class="shapes">{inputs}<span class="sep">→</span>{outputs}</span>'
        f'<span class="formula">{escape(row.formula)}</span>'
        f'<span class="num p" title="{escape(tied)}">{line.parameters}</span>'
        f'<span class="num f" title="{costs}">{short(row.flops)}</span>'
        f'<span class="num b" title="{row.bytes:,}">{short(row.bytes)}</span>'
        f'<span class="where" title="{escape(hover)}">'
        f"{escape(location.short) if location else ''}</span>"
    )


def _details(row: Row) -> str:
    """What an operation shows when it is expanded."""
    parts = []
    if row.location and row.location.code:
        parts.append(f"<code>{escape(row.location.code)}</code>")
    named = [operand for operand in row.inputs if operand.label]
    if named:
        cells = "".join(
            f"<tr><td><code>{escape(o.label)}</code></td><td>{_shape(o.shape)}</td></tr>"
            for o in named
        )
        parts.append(f"<table>{cells}</table>")
    if row.stretched:
        parts.append(f"broadcast: {'; '.join(map(escape, row.stretched))}")
    if row.tied:
        parts.append(f"parameters tied to <code>{escape(row.tied)}</code>, counted there")
    parts += [f'<span class="doubt">⚠ {escape(doubt)}</span>' for doubt in row.doubts]
    return f'<div class="more"><div>{"</div><div>".join(parts)}</div></div>' if parts else ""


def _chip(name: str, size: str, mismatch: bool = False) -> str:
    """One axis; without a name it shows its size only."""
    kind = f" {name}" if name in _AXES else ""
    marked = " mismatch" if mismatch else ""
    small = f"<i>{size}</i>" if size and size != name else ""
    return f'<span class="ax{kind}{marked}">{escape(name)}{small}</span>'


def _axis(axis: Axis, mismatch: bool = False) -> str:
    return _chip(axis.label, f"{axis.size:,}", mismatch)


def _shape(shape: Shape) -> str:
    return f'<span class="shape">{"".join(map(_axis, shape)) or "scalar"}</span>'


def _failure(mistake: Mistake) -> str:
    location = mistake.location
    where = ", ".join(filter(None, [mistake.path, location.short if location else ""]))
    code = f": <code>{escape(location.code)}</code>" if location else ""
    facts = [
        ("where", escape(where) + code),
        ("rule", escape(mistake.law)),
        *(("origin", escape(source)) for source in mistake.stories),
        ("likely cause", f"<b>{escape(mistake.slip)}</b>"),
        ("torch", escape(mistake.message)),
    ]
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in facts)
    axes = " does not match ".join(map(_axis, mistake.axes)) or escape(mistake.problem)
    return (
        f'<section class="failure"><h2>{escape(mistake.operation)}: {axes}</h2>'
        f"{_aligned(mistake)}<table>{rows}</table></section>"
    )


def _aligned(mistake: Mistake) -> str:
    """The operands aligned from the right, with the mismatch marked; biases are left out."""
    shown = [o for o in mistake.inputs if not (o.learned and len(o.shape) == 1)]
    width = max((len(operand.shape) for operand in shown), default=0)
    rows = [
        _aligned_row(operand, width, _mismatches(mistake, i, len(shown)))
        for i, operand in enumerate(shown)
    ]
    return f'<table class="aligned">{"".join(rows)}</table>'


def _aligned_row(operand: Operand, width: int, mismatches: set[int]) -> str:
    empty = "<td></td>" * (width - len(operand.shape))
    cells = "".join(
        f"<td>{_axis(axis, index - len(operand.shape) in mismatches)}</td>"
        for index, axis in enumerate(operand.shape)
    )
    return f"<tr><td><code>{escape(operand.label)}</code></td>{empty}{cells}</tr>"


def _mismatches(mistake: Mistake, position: int, operands: int) -> set[int]:
    """The indices, from the end, of the differing axes of the operand at `position`."""
    if operands == 1:
        return set(mistake.indices) - {0}
    return {mistake.indices[position]} - {0} if position < 2 else set()
