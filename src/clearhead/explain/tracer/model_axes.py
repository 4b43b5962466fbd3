"""Axis names from a model's own attributes, parameters and buffers.

`self.h = 8` names an axis of size 8. A name is looked up in the module that creates the axis,
then in the modules around it: the nearest one that has an attribute of that size gives the name.
Two attributes of the same size in one module give none: the axis then shows its size.
"""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from clearhead.explain.tracer import axes
from clearhead.explain.tracer.axes import LENGTHS, SYNONYMS, Axis, Shape

_FEED_FORWARD = re.compile(r"feed_?forward|ffn|positionwise", re.IGNORECASE)
_VOCABULARY = re.compile(r"proj|head|generator|vocab|logits|(^|_)out|decoder$", re.IGNORECASE)
_POSITIONS = re.compile(r"pos|wpe", re.IGNORECASE)
_POSITION_TABLE = re.compile(r"pos|wpe|(^|\.)pe$", re.IGNORECASE)  # a parameter or a buffer
_FIRST_LINEAR = re.compile(r"(linear|fc|w|lin|dense)_?1|up|c_fc", re.IGNORECASE)
_SECOND_LINEAR = re.compile(r"(linear|fc|w|lin|dense)_?2|down|c_proj", re.IGNORECASE)
_NOT_SIZES = {
    "in_features", "out_features", "num_embeddings", "embedding_dim", "padding_idx", "num_layers",
    "n_layers", "N", "stride", "groups", "kernel_size", "pad_id", "bos_id", "eos_id",
    "encoder_layers", "decoder_layers", "format_version", "n_layer", "num_hidden_layers", "nf",
    "nx", "layer_idx", "chunk_size_feed_forward", "seq_len_dim",
}  # fmt: skip


class ModelSizes:
    """The sizes that a module and its submodules hold as named attributes."""

    def __init__(self, root: nn.Module | None) -> None:
        self.modules = dict(root.named_modules()) if root is not None else {}
        self.paths = {id(module): path for path, module in self.modules.items()}
        self.own = {path: dict(_attributes(module)) for path, module in self.modules.items()}
        self.arrived = set[str]()  # names that modules took from their inputs
        self._linear_axes: dict[str, Shape] = {}
        self._read_embeddings()
        self._read_feed_forward()

    def _read_embeddings(self) -> None:
        for path, module in self.modules.items():
            if isinstance(module, nn.Embedding):
                rows = "max_seq_len" if _POSITIONS.search(path) else "vocab"
                self.own[path] |= {rows: module.num_embeddings, "d_model": module.embedding_dim}

    def _read_feed_forward(self) -> None:
        """Two linear maps, d_model -> d_ff and d_ff -> d_model, give both names."""
        for path, module in self.modules.items():
            linears = [child for child in module.children() if isinstance(child, nn.Linear)]
            for first, second in pairwise(linears):
                narrow, wide = first.in_features, first.out_features
                if (wide, narrow) == (second.in_features, second.out_features) and narrow != wide:
                    self.own[path].setdefault("d_ff", wide)
                    self.own[path].setdefault("d_model", narrow)

    def name(self, path: str, size: int, lengths: bool = False) -> tuple[str, bool]:
        """The name of an axis of `size` created in the module `path`, and whether it is certain."""
        for scope in _enclosing(path):
            found = self._named(self.own.get(scope, {}), size, lengths)
            if found:
                preferred = found & SYNONYMS.keys() or found
                return (preferred.pop(), True) if len(preferred) == 1 else ("", False)
        if isinstance(self.modules.get(path), nn.RNNBase):
            return "", False  # the 2 of two directions is no other module's number of heads
        everywhere = {n for own in self.own.values() for n in self._named(own, size, lengths)}
        return (everywhere.pop(), False) if len(everywhere) == 1 else ("", False)

    @staticmethod
    def _named(own: dict[str, int], size: int, lengths: bool) -> set[str]:
        return {
            name for name, value in own.items() if value == size and (name in LENGTHS) == lengths
        }

    def value(self, name: str) -> int | None:
        """The size with this name if it is the same in the whole model, else None."""
        found = {own[name] for own in self.own.values() if name in own}
        return found.pop() if len(found) == 1 else None

    def parameter(self, path: str, module: nn.Module, name: str, tensor: Tensor) -> Shape:
        """The axes of a parameter or buffer of the module at `path`."""
        where = f"{path}.{name}" if path else name
        if isinstance(module, nn.Linear):
            ends = self._linear_axes.setdefault(path, self._linear(path, module))
            return ends if name == "weight" else ends[:1]
        # The last axis of ids and of square masks is a length, that of vectors holds features.
        square = tensor.dim() > 1 and tensor.shape[-1] == tensor.shape[-2]
        is_table = isinstance(tensor, nn.Parameter) or _POSITION_TABLE.search(where)
        only_lengths = (square and not is_table) or not tensor.is_floating_point()
        last = -1 if only_lengths else tensor.dim() - 1
        return tuple(
            axes.broadcast_axis(where)
            if size == 1
            else self._axis(path, size, f"{where}, axis {i}", i != last)
            for i, size in enumerate(tensor.shape)
        )

    def _axis(self, path: str, size: int, origin: str, maybe_length: bool) -> Axis:
        """The rows of a table are a length if its module has one of that size; columns never."""
        name, certain = self.name(path, size)
        if maybe_length:
            length, length_certain = self.name(path, size, lengths=True)
            if length_certain or not certain:
                name, certain = length, length_certain
            if not name and _POSITION_TABLE.search(origin.partition(",")[0]):
                name = "max_seq_len"
        return Axis(size, name, origin, certain)

    def _linear(self, path: str, module: nn.Linear) -> Shape:
        """(out, in); a square map without known names leads from a space into itself."""
        size, origin = module.in_features, f"in_features of {path or 'this Linear'}"
        name, certain = self.name(path, size)
        into, out_of = self._linear_out(path, module), Axis(size, name, origin, certain)
        square = size == module.out_features
        return (out_of, out_of) if square and not into.name else (into, out_of)

    def _linear_out(self, path: str, module: nn.Linear) -> Axis:
        """d_ff, vocab, a name of the scope, or the input space."""
        parent, _, leaf = path.rpartition(".")
        size, origin = module.out_features, f"out_features of {path or 'this Linear'}"
        holder = type(self.modules[parent]).__name__ if parent in self.modules else ""
        in_feed_forward = _FEED_FORWARD.search(holder + parent.rpartition(".")[2])
        name, certain = self.name(path, size)
        if in_feed_forward and _FIRST_LINEAR.fullmatch(leaf):
            name, certain = "d_ff", True
        elif in_feed_forward and _SECOND_LINEAR.fullmatch(leaf) and size == module.in_features:
            name, certain = "d_model", True  # where d_ff = d_model
        elif size == self.value("vocab") and _VOCABULARY.search(leaf):
            name, certain = "vocab", True
        elif not name and size != module.in_features:
            name, certain = f"{leaf or 'Linear'}.out", True
        return Axis(size, name, origin, certain)


def _attributes(module: nn.Module) -> Iterator[tuple[str, int]]:
    """The integer attributes above 1 of a module, under the project's axis names."""
    held = dict(vars(module))
    config = held.get("config") or held.get("_config")  # a Transformer's is a property
    if is_dataclass(config):
        held |= {field.name: getattr(config, field.name) for field in fields(config)}
    for word, value in held.items():
        if type(value) is int and value > 1 and not word.startswith("_") and word not in _NOT_SIZES:
            name = axes.canonical(word) or word
            if isinstance(module, nn.RNNBase) and word == "hidden_size":
                name = "hidden"  # the width of a state, not of an embedding
            # A length that a module was built with is the maximum length.
            yield ("max_seq_len" if name in LENGTHS else name), value


def _enclosing(path: str) -> Iterator[str]:
    """`a.b.c`, `a.b`, `a`, and the root ""."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""


class AxisRegistry:
    """Axes of all recorded tensors, names of the model's own; weak keys keep no tensor alive."""

    def __init__(self, sizes: ModelSizes) -> None:
        self.shapes = WeakIdKeyDictionary()
        self.serials = WeakIdKeyDictionary()
        self.names: dict[int, str] = {}  # of parameters and buffers
        self.count = 0
        for path, module in sizes.modules.items():
            held = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
            for name, tensor in held:
                if tensor not in self.shapes:  # a tied matrix keeps its first name
                    self.names[id(tensor)] = f"{path}.{name}".lstrip(".")
                    self.register(tensor, sizes.parameter(path, module, name, tensor))

    def register(self, tensor: Tensor, shape: Shape) -> None:
        """Record the axes of a tensor."""
        self.shapes[tensor] = shape
        if tensor not in self.serials:
            self.count += 1
            self.serials[tensor] = self.count

    def shape_of(self, tensor: Tensor) -> Shape:
        """The axes of a tensor; unnamed ones if it was not recorded."""
        known: Shape | None = self.shapes.get(tensor)
        if known is None or tuple(axis.size for axis in known) != tuple(tensor.shape):
            known = axes.unnamed_axes(tensor.shape, "a tensor that existed before the trace")
            self.register(tensor, known)
        return known

    def serials_of(self, tensors: list[Tensor]) -> frozenset[int]:
        """Numbers that identify these tensors even after they are freed."""
        for tensor in tensors:
            self.shape_of(tensor)
        return frozenset(self.serials[tensor] for tensor in tensors)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of a result, which may be nested tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []
