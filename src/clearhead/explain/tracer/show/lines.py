"""What every way of showing a trace shares: which rows, under which titles, in which units."""

from collections.abc import Iterator
from dataclasses import dataclass

from clearhead.explain.tracer.rows import Row, folded


@dataclass(frozen=True)
class Line:
    """One row to be drawn, `times` equal neighbours in one."""

    depth: int
    row: Row
    times: int

    @property
    def title(self) -> str:
        """`layers.0 … 5 · 6 × EncoderBlock` for a module, `softmax over seq_len` for a step."""
        row = self.row
        name = row.path.rpartition(".")[2]
        if self.times > 1:
            first = int(name) if name.isdigit() else 0
            parent = row.path.rpartition(".")[0].rpartition(".")[2]
            return f"{parent}.{first} … {first + self.times - 1} · {self.times} × {row.kind}, each"
        if name.isdigit():
            name = ".".join(row.path.split(".")[-2:])
        if row.kind and not row.children:
            return f"{name}: {row.what}" if name else row.what
        return f"{name} · {row.kind}" if row.kind and name else row.kind or row.what


def lines(row: Row, depth: int = 0, times: int = 1) -> Iterator[Line]:
    """Every row to be drawn, outermost first; of equal layers only the first is opened."""
    yield Line(depth, row, times)
    for child, count in folded(row.children):
        yield from lines(child, depth + 1, count)


def short(number: int) -> str:
    """`0` as nothing, then 950, 7.2 k, 65.1 M, 3.4 G."""
    if not number:
        return ""
    value = float(number)
    for unit in ("", "k", "M", "G", "T"):
        if value < 999.5:
            return f"{value:.0f}" if not unit else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} P"


def summary(row: Row) -> str:
    """`Transformer: 65.1 M parameters; 3.4 G FLOPs, 99.5 % of them in matrix products; …`."""
    share = f", {_percent(row.products, row.flops)} of them in matrix products"
    return (
        f"{row.kind}: {short(row.parameters) or 'no'} parameters; "
        f"{short(row.flops) or 'no'} FLOPs{share if row.flops else ''}; "
        f"results of {short(row.bytes) or 0}B"
    )


def _percent(part: int, whole: int) -> str:
    """`99.6 %`; what is not all of it is never rounded up to all of it."""
    if part in (0, whole):
        return "all" if part else "none"
    return f"{min(99.9, max(0.1, 100 * part / whole)):.1f} %"


def note(row: Row) -> str:
    """Broadcasting and doubts in one line."""
    stretched = ["broadcast: " + ", ".join(row.stretched)] if row.stretched else []
    return "; ".join([*stretched, *(f"⚠ {doubt}" for doubt in row.doubts)])
