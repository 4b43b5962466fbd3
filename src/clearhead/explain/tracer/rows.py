"""What a trace consists of: rows, and rows inside rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clearhead.explain.tracer.axis import Shape, names, numbers
from clearhead.explain.tracer.source import Place


@dataclass(frozen=True)
class Operand:
    """A tensor that goes in: how the code calls it, its axes, whether the model holds it."""

    label: str
    shape: Shape
    learned: bool = False


@dataclass
class Row:
    """One operation, or one module with the rows inside it.

    `products` counts the arithmetic of matrix products, a multiply-add as two, as
    `torch.utils.flop_counter` does, `elementwise` all other arithmetic (the file of that
    name says how), and `flops` both. `bytes` is what the result takes in memory: a view
    takes none. A module's numbers are the sums over its rows, its parameters those that
    it owns, each once.
    """

    path: str
    kind: str  # class of the module, or "" for an operation
    operation: str
    what: str
    place: Place | None
    inputs: list[Operand]
    outputs: list[Shape]
    parameters: int = 0
    products: int = 0
    elementwise: int = 0
    bytes: int = 0
    stretched: list[str] = field(default_factory=list)  # broadcasting, an entry a dimension
    doubts: list[str] = field(default_factory=list)
    children: list["Row"] = field(default_factory=list)
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    failed: bool = False

    @property
    def flops(self) -> int:
        """All floating-point operations."""
        return self.products + self.elementwise

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Row"]]:
        """This row and all below it, with their depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def arrow(self, shown: str = "names") -> str:
        """`(batch, h, seq_len, d_k) @ … -> …`, in names or in numbers."""
        show = names if shown == "names" else numbers
        ins = ", ".join(show(operand.shape) for operand in self.shown_inputs)
        outs = ", ".join(show(shape) for shape in self.outputs)
        return f"{ins} → {outs}" if ins else f"→ {outs}"

    @property
    def shown_inputs(self) -> list[Operand]:
        """The inputs without biases: a bias has the shape of the output's last axis."""
        bias = self.operation in ("linear", "layer_norm") or bool(self.children)
        return [o for o in self.inputs if not (bias and o.learned and len(o.shape) == 1)]

    @property
    def output(self) -> str:
        """The axes of what comes out first, `(batch, seq_len, d_model)`."""
        return names(self.outputs[0]) if self.outputs else ""

    def look(self) -> tuple[object, ...]:
        """What two rows must share to be drawn as one: everything but the path's numbers."""
        return (
            self.kind, self.what, self.arrow(), self.arrow("numbers"), self.parameters,
            self.products, self.elementwise, self.bytes, tuple(self.doubts),
            tuple(child.look() for child in self.children),
        )  # fmt: skip


def folded(rows: list[Row]) -> list[tuple[Row, int]]:
    """Neighbours that look alike become one, with their number: six equal layers."""
    groups: list[tuple[Row, int]] = []
    for row in rows:
        if groups and row.kind and groups[-1][0].look() == row.look():
            groups[-1] = (groups[-1][0], groups[-1][1] + 1)
        else:
            groups.append((row, 1))
    return groups


def without_asides(row: Row, wanted: set[int]) -> None:
    """Drop what decides nothing that is looked at: single numbers of which nothing becomes.

    Goes from the end to the beginning and keeps what leads to `wanted`, the results.
    """
    kept = []
    for child in reversed(row.children):
        if child.kind:
            without_asides(child, wanted)
            keep = bool(child.children)
        else:
            aside = all(numel_is_one(shape) for shape in child.outputs)
            keep = child.failed or bool(child.writes & wanted) or not aside
            if keep:
                wanted |= child.reads
        if keep:
            kept.append(child)
    row.children = kept[::-1]


def numel_is_one(shape: Shape) -> bool:
    """True for a single number."""
    return all(axis.size == 1 for axis in shape)


def merged(row: Row) -> Row:
    """A module that is one operation, such as a Linear, becomes one row."""
    row.children = [merged(child) for child in row.children]
    only = row.children[0] if len(row.children) == 1 else None
    if only and row.kind and not only.kind and only.outputs == row.outputs:
        return replace(row.children[0], path=row.path, kind=row.kind, parameters=row.parameters)
    return row


def sum_up(row: Row) -> None:
    """A module's FLOPs and bytes are those of its rows."""
    for child in row.children:
        sum_up(child)
    if row.kind and row.children:
        row.products = sum(child.products for child in row.children)
        row.elementwise = sum(child.elementwise for child in row.children)
        row.bytes = sum(child.bytes for child in row.children)
