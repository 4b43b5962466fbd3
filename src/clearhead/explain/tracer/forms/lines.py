"""What all forms of a trace share: the rows that are shown, their titles, and units."""

from collections.abc import Iterator
from dataclasses import dataclass

from clearhead.explain.tracer.rows import Row, group_equal


@dataclass(frozen=True)
class Line:
    """One row to be shown; it stands for `times` equal consecutive rows."""

    depth: int
    row: Row
    times: int

    @property
    def title(self) -> str:
        """`layers.0 … 5 · 6 × EncoderBlock` for modules, `softmax over seq_len` for a step."""
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
    """Every row to be shown, outermost first; of equal layers only the first has its rows."""
    yield Line(depth, row, times)
    for child, count in group_equal(row.children):
        yield from lines(child, depth + 1, count)


def short(number: int) -> str:
    """`` for 0, then 950, 7.2 k, 65.1 M, 3.4 G."""
    if not number:
        return ""
    value = float(number)
    for unit in ("", "k", "M", "G", "T"):
        if value < 999.5:
            return f"{value:.0f}" if not unit else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} P"


def parameters(row: Row) -> str:
    """The number of parameters; `tied` for a matrix that another row has counted."""
    return " + ".join(filter(None, [short(row.parameters), "tied" if row.tied else ""]))


def summary(row: Row) -> str:
    """`Transformer: 65.1 M parameters; 3.4 G FLOPs, 99.5 % of them in matrix products; …`."""
    share = f", {_percent(row.products, row.flops)} of them in matrix products"
    return (
        f"{row.kind or row.what or row.operation}: {short(row.parameters) or 'no'} parameters; "
        f"{short(row.flops) or 'no'} FLOPs{share if row.flops else ''}; "
        f"{short(row.bytes) or 0}B of results"
    )


def _percent(part: int, whole: int) -> str:
    """`99.6 %`; never rounded to 0 or 100."""
    if part in (0, whole):
        return "all" if part else "none"
    return f"{min(99.9, max(0.1, 100 * part / whole)):.1f} %"


def note(row: Row) -> str:
    """Broadcasting, tied parameters and doubts in one line."""
    broadcast = ["broadcast: " + ", ".join(row.stretched)] if row.stretched else []
    tied = [f"tied to {row.tied}"] if row.tied else []
    return "; ".join([*broadcast, *tied, *(f"⚠ {doubt}" for doubt in row.doubts)])
