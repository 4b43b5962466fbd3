"""`trace(module, *inputs)`: run a module once and tell every shape on the way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from clearhead.explain.tracer.inputs import name_inputs
from clearhead.explain.tracer.ledger import tensors_in
from clearhead.explain.tracer.mistake import Mistake, explain
from clearhead.explain.tracer.rows import Operand, Row, merged, sum_up, without_asides
from clearhead.explain.tracer.sizes import Sizes
from clearhead.explain.tracer.source import defined
from clearhead.explain.tracer.watch import Watch

# What torch raises for shapes; its own modules assert them.
_OF_SHAPES = (RuntimeError, ValueError, IndexError, TypeError, AssertionError)


@dataclass
class Trace:
    """What `trace` found: `root` is the outermost row, `output` what the module returned.

    `mistake` explains the shape error at which the forward pass broke off, or is None.
    `print(trace)` draws a table, a notebook shows it as a page that folds.
    """

    root: Row
    output: Any
    mistake: Mistake | None = None

    def rows(self) -> list[Row]:
        """Every operation in the order in which it ran, without the modules around them."""
        return [row for _, row in self.root.walk() if not row.children]

    def find(self, path: str) -> Row:
        """The row of the module at a path, such as `encoder.layers.0`."""
        return next(row for _, row in self.root.walk() if row.path == path and row.kind)

    def to_html(self, words: str = "") -> str:
        """A page of its own, for no network, whose blocks fold; `words` stand above it."""
        from clearhead.explain.tracer.show.html import page

        return page(self.root, self.mistake, words)

    def to_markdown(self) -> str:
        """A table for a README or an issue."""
        from clearhead.explain.tracer.show.markdown import markdown

        return markdown(self.root, self.mistake)

    def to_json(self) -> str:
        """Everything, nested, for other programs."""
        from clearhead.explain.tracer.show.as_json import as_json

        return as_json(self.root, self.mistake)

    def _repr_html_(self) -> str:
        from clearhead.explain.tracer.show.html import fragment

        return fragment(self.root, self.mistake)

    def __str__(self) -> str:
        from clearhead.explain.tracer.show.text import text

        return text(self.root, self.mistake)

    __repr__ = __str__


def trace(module: Callable[..., Any], *inputs: Any, axes: Mapping[str, str] | None = None) -> Trace:
    """Run ``module(*inputs)`` once and tell what happens to every axis.

        trace(MultiHeadAttentionBlock(512, 8, 0.1), x, x, x)

    Any `nn.Module` will do, and any function of tensors. Names of axes come from the
    arguments' names, the module's own attributes (`self.h`) and the code's own
    expressions (`x.view(batch, -1, self.h, self.d_k)`), and travel with the tensors;
    `axes={"x": "batch seq_len d_model"}` says them outright. The result is that of the
    unwatched module, bit for bit.

    A shape error does not raise: the trace ends there and its `mistake` explains it.
    Any other error is the module's own and is raised as it is. (`nn.TransformerEncoder`
    without gradients leaves its fused kernel while it is watched, and rounds differently.)

    Raises:
        UserError: `axes` does not fit the arguments.
    """
    model = module if isinstance(module, nn.Module) else None
    sizes = Sizes(model)
    named = name_inputs(module, inputs, axes or {}, sizes)
    name = type(model).__name__ if model else getattr(module, "__name__", "function")
    root = Row("", name, "", "", None, [Operand("", shape) for _, shape in named], [])
    watch = Watch(root, sizes, building=isinstance(module, type))
    for tensor, shape in reversed(named):  # of a tensor given twice the first name counts
        watch.ledger.know(tensor, shape)
    output, error = None, None
    try:
        with watch.watching():
            output = module(*inputs)
    except _OF_SHAPES as caught:
        error = caught
    mistake = _explained(watch, error)
    top = root.children[0] if model and root.children else root
    return _finished(watch, top, output, mistake, module)


def _explained(watch: Watch, error: Exception | None) -> Mistake | None:
    """The mistake behind an error; an error that has nothing to do with shapes goes on."""
    if error is None:
        return None
    mistake = explain(watch, error)
    if mistake is None:
        raise error
    return mistake


def _finished(
    watch: Watch, root: Row, output: Any, mistake: Mistake | None, module: Callable[..., Any]
) -> Trace:
    """The tree as it is shown: named, pruned, added up."""
    results = watch.ledger.numbers(tensors_in(output))
    if not root.outputs:
        root.outputs = [watch.ledger.shape_of(tensor) for tensor in tensors_in(output)]
    if mistake is None:
        without_asides(root, set(results))
    watch.describe()
    root = merged(root) if root.children else root
    sum_up(root)
    root.place = defined(module)
    _name_the_inputs(root)
    return Trace(root, output, mistake)


def _name_the_inputs(root: Row) -> None:
    """The outermost inputs are called as the module's arguments are."""
    for i, operand in enumerate(root.inputs):
        story = operand.shape[0].origin if operand.shape else ""
        word = story.rpartition(" of ")[2]
        root.inputs[i] = Operand(operand.label or word, operand.shape)
