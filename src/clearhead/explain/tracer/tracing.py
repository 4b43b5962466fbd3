"""`trace(module, *inputs)`: run a module once and record the shape of every tensor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from clearhead.errors import UserError
from clearhead.explain.tracer import html, text
from clearhead.explain.tracer.inputs import name_inputs
from clearhead.explain.tracer.mistake import Mistake, explain
from clearhead.explain.tracer.model_axes import ModelSizes, tensors_in
from clearhead.explain.tracer.recorder import Recorder
from clearhead.explain.tracer.rows import Operand, Row, add_up_costs, collapse_single, prune_unused
from clearhead.explain.tracer.source import definition

# What torch, its modules' assertions, and the checks of clearhead's blocks raise for bad inputs.
_INPUT_ERRORS = (RuntimeError, ValueError, IndexError, TypeError, AssertionError, UserError)


@dataclass
class Trace:
    """The result of `trace`: `root` is the outermost row, `output` the module's return value.

    `mistake` explains the error at which the forward pass failed, or is None. `print(trace)`
    prints a table; a notebook shows it as a page with collapsible blocks.
    """

    root: Row
    output: Any
    mistake: Mistake | None = None

    def rows(self) -> list[Row]:
        """Every operation in order of execution, without the modules around them."""
        return [row for _, row in self.root.walk() if not row.children]

    def find(self, path: str) -> Row:
        """The row of the module at a path, such as `encoder.layers.0`.

        Raises:
            UserError: no module ran at this path.
        """
        for _, row in self.root.walk():
            if row.path == path and row.kind:
                return row
        raise UserError(
            f"the trace has no module at {path!r}; give a path as print(model) shows it"
        )

    def to_html(self, words: str = "") -> str:
        """A self-contained page with collapsible blocks; `words` are shown as its subtitle."""
        return html.page(self.root, self.mistake, words)

    def to_markdown(self) -> str:
        """A table for a README or an issue."""
        return text.markdown(self.root, self.mistake)

    def to_json(self) -> str:
        """Everything, nested, for other programs."""
        return text.as_json(self.root, self.mistake)

    def _repr_html_(self) -> str:
        return html.fragment(self.root, self.mistake)

    def __str__(self) -> str:
        return text.table_text(self.root, self.mistake)

    __repr__ = __str__


def trace(module: Callable[..., Any], *inputs: Any, axes: Mapping[str, str] | None = None) -> Trace:
    """Run ``module(*inputs)`` once and record what happens to every axis.

        trace(MultiHeadAttentionBlock(512, 8, 0.1), x, x, x)

    Any `nn.Module` works, and any function of tensors. Axis names come from the names of the
    arguments, the module's own attributes (`self.h`) and the code's own expressions
    (`x.view(batch, -1, self.h, self.d_k)`), and are propagated with the tensors;
    `axes={"x": "batch seq_len d_model"}` sets them. The output is bit-identical to that of the
    untraced module. (Exception: `nn.TransformerEncoder` without gradients leaves its fused
    kernel while it is traced, and rounds differently.)

    A shape error, or ids that are not integers, raise nothing: the trace ends there and its
    `mistake` explains the error. Any other error of the module is raised unchanged.

    Raises:
        UserError: `axes` does not fit the arguments.
    """
    module = getattr(module, "_orig_mod", module)  # of torch.compile, whose graph hides the code
    model = module if isinstance(module, nn.Module) else None
    sizes = ModelSizes(model)
    named = name_inputs(module, inputs, axes or {}, sizes)
    name = type(model).__name__ if model is not None else getattr(module, "__name__", "function")
    root = Row("", name, "", "", None, [Operand("", shape) for _, shape in named], [])
    recorder = Recorder(root, sizes, in_constructor=isinstance(module, type))
    for tensor, shape in reversed(named):  # of a tensor given twice the first name counts
        recorder.axes.register(tensor, shape)
    output, mistake = None, None
    try:
        with recorder.recording():
            output = module(*inputs)
    except _INPUT_ERRORS as error:
        mistake = explain(recorder, error)
        if mistake is None:
            raise
    top = root.children[0] if model is not None and root.children else root
    return _finished(recorder, top, output, mistake, module)


def _finished(
    recorder: Recorder, root: Row, output: Any, mistake: Mistake | None, module: Callable[..., Any]
) -> Trace:
    """The tree of rows: described, pruned, and with its costs added up."""
    if not isinstance(module, nn.Module):  # a function has the parameters of what it runs
        root.parameters = sum(recorder.learned.values())
    results = recorder.axes.serials_of(tensors_in(output))
    if not root.outputs:
        root.outputs = [recorder.axes.shape_of(tensor) for tensor in tensors_in(output)]
    if mistake is None:
        prune_unused(root, set(results))
    recorder.describe()
    root = collapse_single(root) if root.children else root
    add_up_costs(root)
    root.location = definition(module)
    _label_inputs(root)
    return Trace(root, output, mistake)


def _label_inputs(root: Row) -> None:
    """Label the outermost inputs with the names of the module's arguments."""
    for i, operand in enumerate(root.inputs):
        source = operand.shape[0].origin if operand.shape else ""
        root.inputs[i] = Operand(operand.label or source.rpartition(" of ")[2], operand.shape)
