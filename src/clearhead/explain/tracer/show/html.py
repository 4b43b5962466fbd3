"""A trace as a page that folds: self-contained, readable without a network or a script."""

from collections.abc import Callable
from html import escape

from clearhead.explain.tracer.axis import Axis
from clearhead.explain.tracer.mistake import Mistake
from clearhead.explain.tracer.rows import Row, folded
from clearhead.explain.tracer.show.alignment import alignment
from clearhead.explain.tracer.show.chips import chip, shape_chips
from clearhead.explain.tracer.show.lines import Line, short, summary
from clearhead.explain.tracer.show.style import STYLE

_HEAD = ("what", "input → output", "params", "FLOPs", "bytes", "where")
_COUNTED = "a multiply-add of a product counts two, any other arithmetic one for each number"
_FITS_A_SCREEN = 40  # rows
_BUTTONS = "".join(
    f"<button type=button onclick=\"document.querySelectorAll('.ch-trace details')"
    f'.forEach(d => d.open = {state})">{words}</button>'
    for words, state in (("unfold all", "true"), ("fold all", "false"))
)


def page(root: Row, mistake: Mistake | None = None, words: str = "") -> str:
    """A whole document, to be saved and opened; `words` stands under its title."""
    title = escape(f"{root.kind}: shapes")
    told = f"<p>{escape(words)}</p>" if words else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"></head>'
        f'<body style="font:16px system-ui,sans-serif;margin:16px"><main>{told}'
        f"<p>{_BUTTONS}</p>{fragment(root, mistake)}</main></body></html>\n"
    )


def fragment(root: Row, mistake: Mistake | None = None) -> str:
    """The same for a notebook's output cell."""
    head = "".join(f"<span{_heading(i)}>{words}</span>" for i, words in enumerate(_HEAD))
    broken = _broken(mistake) if mistake else ""
    return (
        f'<style>{STYLE}</style><div class="ch-trace"><h3>{escape(summary(root))}</h3>'
        f"{_legend(root)}{broken}"
        f'<div class="grid"><div class="row head">{head}</div>'
        f"{_row(Line(0, root, 1), _opens(root))}</div></div>"
    )


def _heading(column: int) -> str:
    told = f' title="{_COUNTED}"' if _HEAD[column] == "FLOPs" else ""
    return f' class="num"{told}' if 2 <= column <= 4 else ""


def _legend(root: Row) -> str:
    """The axes that occur, with all their sizes."""
    found: dict[str, set[int]] = {}
    for _, row in root.walk():
        for shape in (*row.outputs, *(operand.shape for operand in row.inputs)):
            for axis in shape:
                if axis.known.name and not axis.stretches:
                    found.setdefault(axis.label, set()).add(axis.size)
    chips = "".join(
        chip(name, ", ".join(f"{size:,}" for size in sorted(sizes)))
        for name, sizes in found.items()
    )
    return f'<p class="legend">axes: {chips}</p>'


def _opens(root: Row) -> Callable[[Line], bool]:
    """What is unfolded at first: all of a small trace, of a large one the way to the mistake."""
    small = sum(1 for _ in root.walk()) <= _FITS_A_SCREEN

    def opens(line: Line) -> bool:
        failed = any(row.failed for _, row in line.row.walk())
        return line.depth == 0 or failed or (small and bool(line.row.children))

    return opens


def _row(line: Line, opens: Callable[[Line], bool]) -> str:
    """A block folds its rows, an operation folds its code and its broadcasting."""
    row, inner = line.row, ""
    if row.children:
        inner = "".join(
            _row(Line(line.depth + 1, child, times), opens) for child, times in folded(row.children)
        )
    else:
        inner = _more(row)
    kind = ("block" if row.children else "op") + (" failed" if row.failed else "")
    if not inner:
        return f'<div class="row {kind}">{_cells(line)}</div>'
    state = " open" if opens(line) else ""
    return (
        f'<details class="{kind}"{state}><summary class="row">{_cells(line)}</summary>'
        f"{inner}</details>"
    )


def _cells(line: Line) -> str:
    row = line.row
    doubt = ' <span class="doubt" title="look closer">⚠</span>' if row.doubts else ""
    ins = '<span class="sep">,</span>'.join(shape_chips(o.shape) for o in row.shown_inputs)
    outs = '<span class="sep">,</span>'.join(shape_chips(shape) for shape in row.outputs)
    both = f" = {row.products:,} in products + {row.elementwise:,}"
    told = both if row.products and row.elementwise else ""
    numbers = "".join(
        f'<span class="num" title="{n:,}{more}">{short(n)}</span>'
        for n, more in ((row.parameters, ""), (row.flops, told), (row.bytes, ""))
    )
    return (
        f'<span class="what" style="padding-left:{16 * line.depth}px" '
        f'title="{escape(row.path or row.kind)}">{escape(line.title)}{doubt}</span>'
        f'<span>{ins}<span class="sep">→</span>{outs}</span>{numbers}'
        f'<span class="where">{_where(row)}</span>'
    )


def _where(row: Row) -> str:
    if row.place is None:
        return ""
    words = escape(row.place.short)
    hover = escape(f"{row.place.file}, line {row.place.line}", quote=True)
    if not row.place.link:
        return f'<span title="{hover}">{words}</span>'
    return f'<a href="{escape(row.place.link, quote=True)}" title="{hover}">{words}</a>'


def _more(row: Row) -> str:
    """What an operation shows when it is unfolded."""
    parts = []
    if row.place and row.place.code:
        parts.append(f"<code>{escape(row.place.code)}</code>")
    named = [operand for operand in row.inputs if operand.label]
    if named:
        cells = "".join(
            f"<tr><td><code>{escape(o.label)}</code></td><td>{shape_chips(o.shape)}</td></tr>"
            for o in named
        )
        parts.append(f"<table>{cells}</table>")
    if row.stretched:
        parts.append(f"broadcast: {'; '.join(map(escape, row.stretched))}")
    parts += [f'<span class="doubt">⚠ {escape(doubt)}</span>' for doubt in row.doubts]
    return f'<div class="more"><div>{"</div><div>".join(parts)}</div></div>' if parts else ""


def _broken(mistake: Mistake) -> str:
    a, b = mistake.axes
    where = ", ".join(filter(None, [mistake.path, mistake.place.short if mistake.place else ""]))
    code = f": <code>{escape(mistake.place.code)}</code>" if mistake.place else ""
    facts = [
        ("where", escape(where) + code),
        ("the rule", escape(mistake.law)),
        *(("from", escape(story)) for story in mistake.stories),
        ("likely slip", f"<b>{escape(mistake.slip)}</b>"),
        ("torch says", escape(mistake.message)),
    ]
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in facts)
    return (
        f'<section class="broken"><h4>{escape(mistake.operation)}: {_axis(a)} meets {_axis(b)}</h4>'
        f"{alignment(mistake)}<table>{rows}</table></section>"
    )


def _axis(axis: Axis) -> str:
    return shape_chips((axis,), brackets=False)
