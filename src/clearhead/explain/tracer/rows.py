"""The rows of a trace, operations and modules with the rows inside them, and how they are shown."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clearhead.explain.tracer.axes import Shape, dimensions, names
from clearhead.explain.tracer.source import Location


@dataclass(frozen=True)
class Operand:
    """An input tensor: its source text, its axes, and whether it is a parameter or buffer."""

    label: str
    shape: Shape
    learned: bool = False
    moved: str = ""  # of a failed operation: "transpose at a.py:7" if that changed the last axis


@dataclass
class Row:
    """One operation, or one module with the rows inside it.

    `products` counts the FLOPs of matrix products (a multiply-add counts as two, as in
    `torch.utils.flop_counter`), `elementwise` those of all other arithmetic, `flops` both.
    `bytes` is the memory of the result; a view takes none. `parameters` are counted once: where
    a tied matrix is used again, the row has 0 and `tied` names the matrix. The figures of a
    module are the sums over its rows.
    """

    path: str
    kind: str  # the module's class, "" for an operation
    operation: str
    what: str
    location: Location | None
    inputs: list[Operand]
    outputs: list[Shape]
    formula: str = ""
    parameters: int = 0
    tied: str = ""
    products: int = 0
    elementwise: int = 0
    bytes: int = 0
    stretched: list[str] = field(default_factory=list)  # broadcasting, one entry per dimension
    doubts: list[str] = field(default_factory=list)
    children: list["Row"] = field(default_factory=list)
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    failed: bool = False

    @property
    def flops(self) -> int:
        """All floating-point operations."""
        return self.products + self.elementwise

    @property
    def place(self) -> Location | None:
        """The former name of `location`."""
        return self.location

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Row"]]:
        """This row and all rows below it, with their depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def arrow(self, shown: str = "names") -> str:
        """`(batch, h, seq_len, d_k), … → …`, in names, or for any other `shown` in sizes."""
        show = names if shown == "names" else dimensions
        ins = ", ".join(show(operand.shape) for operand in self.shown_inputs)
        outs = ", ".join(show(shape) for shape in self.outputs)
        return f"{ins} → {outs}" if ins else f"→ {outs}"

    @property
    def shown_inputs(self) -> list[Operand]:
        """The inputs without biases: a bias has the shape of the output's last axis."""
        has_bias = self.operation in ("linear", "layer_norm") or bool(self.children)
        return [o for o in self.inputs if not (has_bias and o.learned and len(o.shape) == 1)]

    @property
    def output(self) -> str:
        """The axes of the first output, `(batch, seq_len, d_model)`."""
        return names(self.outputs[0]) if self.outputs else ""

    def signature(self) -> tuple[object, ...]:
        """Everything that two rows must share to be shown as one: all but the path's indices."""
        return (
            self.kind, self.what, self.arrow(), self.arrow("sizes"), self.parameters, self.tied,
            self.products, self.elementwise, self.bytes, tuple(self.doubts),
            tuple(child.signature() for child in self.children),
        )  # fmt: skip


def group_equal(rows: list[Row]) -> list[tuple[Row, int]]:
    """Consecutive equal modules as one row with their number, such as six equal layers."""
    groups: list[tuple[Row, int]] = []
    for row in rows:
        first, times = groups[-1] if groups else (row, 0)
        follows = row.kind and times and row.path == _next_path(first, times)
        if follows and first.signature() == row.signature():
            groups[-1] = (first, times + 1)
        else:
            groups.append((row, 1))
    return groups


def _next_path(first: Row, times: int) -> str:
    """`layers.3` after three from `layers.0`; after a path without an index, the path itself."""
    parent, dot, name = first.path.rpartition(".")
    return f"{parent}{dot}{int(name) + times}" if name.isdigit() else first.path


def prune_unused(row: Row, wanted: set[int]) -> None:
    """Drop scalar operations that do not influence `wanted`, the results of the trace.

    Works from the last row to the first and adds to `wanted` what each kept row reads.
    """
    kept = []
    for child in reversed(row.children):
        if child.kind:
            prune_unused(child, wanted)
            keep = bool(child.children)
        else:
            scalar = all(axis.size == 1 for shape in child.outputs for axis in shape)
            keep = child.failed or bool(child.writes & wanted) or not scalar
            if keep:
                wanted |= child.reads
        if keep:
            kept.append(child)
    row.children = kept[::-1]


def collapse_single(row: Row) -> Row:
    """A module that consists of one operation, such as a Linear, becomes one row."""
    row.children = [collapse_single(child) for child in row.children]
    only = row.children[0] if len(row.children) == 1 else None
    if only and row.kind and not only.kind and only.outputs == row.outputs:
        return replace(only, path=row.path, kind=row.kind, parameters=row.parameters)
    return row


def add_up_costs(row: Row) -> None:
    """Set the FLOPs and bytes of every module to the sums over its rows."""
    for child in row.children:
        add_up_costs(child)
    if row.kind and row.children:
        row.products = sum(child.products for child in row.children)
        row.elementwise = sum(child.elementwise for child in row.children)
        row.bytes = sum(child.bytes for child in row.children)


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
            if name.isdigit():
                name = ".".join(row.path.split(".")[-2:]) + f" … {int(name) + self.times - 1}"
            return f"{name} · {self.times} × {row.kind}, each"
        if name.isdigit():
            name = ".".join(row.path.split(".")[-2:])
        if row.kind and not row.children:
            return f"{name}: {row.what}" if name else row.what
        return f"{name} · {row.kind}" if row.kind and name else row.kind or row.what

    @property
    def parameters(self) -> str:
        """The number of parameters; `tied` for a matrix that another row has counted."""
        parts = short(self.row.parameters), "tied" if self.row.tied else ""
        return " + ".join(filter(None, parts))


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


def summary(row: Row) -> str:
    """`Transformer: 65.1 M parameters; 3.4 G FLOPs, 99.5 % of them in matrix products; …`."""
    size = short(row.bytes) or "0"
    share = f", {_percent(row.products, row.flops)} of them in matrix products"
    return (
        f"{row.kind or row.what or row.operation}: {short(row.parameters) or 'no'} parameters; "
        f"{short(row.flops) or 'no'} FLOPs{share if row.flops else ''}; "
        f"{size}{' ' * size.isdigit()}B of results"
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
