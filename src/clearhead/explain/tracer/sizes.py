"""What a model's own attributes say about its sizes: `self.h = 8` names an axis of 8.

A name is looked up where the axis is made, then outwards, module by module: the
nearest module that has an attribute of that size gives the name. Two attributes of
one size in one module give none: an honest number is better than a guess.
"""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise

from torch import Tensor, nn

from clearhead.explain.tracer.axis import LENGTHS, SYNONYMS, Axis, Shape, canonical, one

_FEED_FORWARD = re.compile(r"feed_?forward|ffn|positionwise", re.IGNORECASE)
_VOCABULARY = re.compile(r"proj|head|generator|vocab|logits|(^|_)out|decoder$", re.IGNORECASE)
_POSITIONS = re.compile(r"pos|wpe", re.IGNORECASE)
_TABLE = re.compile(r"pos|wpe|(^|\.)pe$", re.IGNORECASE)  # of positions, a parameter or a buffer
_WIDENS = re.compile(r"(linear|fc|w|lin|dense)_?1|up|c_fc", re.IGNORECASE)
_NOT_SIZES = {
    "in_features", "out_features", "num_embeddings", "embedding_dim", "padding_idx", "num_layers",
    "n_layers", "N", "stride", "groups", "kernel_size", "pad_id", "bos_id", "eos_id",
    "encoder_layers", "decoder_layers", "format_version", "n_layer", "num_hidden_layers", "nf",
    "nx", "layer_idx", "chunk_size_feed_forward", "seq_len_dim",
}  # fmt: skip


class Sizes:
    """The sizes that a module and its parts know by name."""

    def __init__(self, root: nn.Module | None) -> None:
        modules = dict(root.named_modules()) if root is not None else {}
        self.paths = {id(module): path for path, module in modules.items()}
        self.own = {path: dict(_attributes(module)) for path, module in modules.items()}
        self.modules = modules
        self._ends: dict[str, Shape] = {}
        self._read_embeddings()
        self._read_feed_forward()

    def _read_embeddings(self) -> None:
        for path, module in self.modules.items():
            if isinstance(module, nn.Embedding):
                rows = "max_seq_len" if _POSITIONS.search(path) else "vocab"
                self.own[path] |= {rows: module.num_embeddings, "d_model": module.embedding_dim}

    def _read_feed_forward(self) -> None:
        """Two linear maps, there and back again, with a wider space between them: d_ff."""
        for path, module in self.modules.items():
            linears = [child for child in module.children() if isinstance(child, nn.Linear)]
            for first, second in pairwise(linears):
                there, back = first.in_features, first.out_features
                if (back, there) == (second.in_features, second.out_features) and there != back:
                    self.own[path].setdefault("d_ff", back)
                    self.own[path].setdefault("d_model", there)

    def name(self, path: str, size: int, lengths: bool = False) -> tuple[str, bool]:
        """The name of an axis of `size` made in the module `path`, and whether it is sure."""
        for scope in _outwards(path):
            found = self._named(self.own.get(scope, {}), size, lengths)
            if found:
                alphabet = found & SYNONYMS.keys() or found
                return (alphabet.pop(), True) if len(alphabet) == 1 else ("", False)
        everywhere = set[str]()
        for own in self.own.values():
            everywhere |= self._named(own, size, lengths)
        return (everywhere.pop(), False) if len(everywhere) == 1 else ("", False)

    @staticmethod
    def _named(own: dict[str, int], size: int, lengths: bool) -> set[str]:
        return {
            name for name, value in own.items() if value == size and (name in LENGTHS) == lengths
        }

    def value(self, name: str) -> int | None:
        """The one size that carries this name in the whole model."""
        found = {own[name] for own in self.own.values() if name in own}
        return found.pop() if len(found) == 1 else None

    def parameter(self, path: str, module: nn.Module, name: str, tensor: Tensor) -> Shape:
        """The axes of a parameter or buffer of the module at `path`."""
        where = f"{path}.{name}" if path else name
        if isinstance(module, nn.Linear):
            ends = self._ends.setdefault(path, self._linear(path, module))
            return ends if name == "weight" else ends[:1]
        # Ids and triangles lie along lengths to the end, vectors have features there.
        square = tensor.dim() > 1 and tensor.shape[-1] == tensor.shape[-2]
        triangle = square and not isinstance(tensor, nn.Parameter) and not _TABLE.search(where)
        last = -1 if triangle or not tensor.is_floating_point() else tensor.dim() - 1
        return tuple(
            one(where) if size == 1 else self._axis(path, size, f"{where}, axis {i}", i != last)
            for i, size in enumerate(tensor.shape)
        )

    def _axis(self, path: str, size: int, origin: str, maybe_length: bool) -> Axis:
        """A table's rows are a length, if its module has one of that size; its columns never."""
        name, sure = self.name(path, size)
        if maybe_length:
            length, length_sure = self.name(path, size, lengths=True)
            name, sure = (length, length_sure) if length_sure or not sure else (name, sure)
            if not name and _TABLE.search(origin.partition(",")[0]):
                name = "max_seq_len"
        return Axis(size, name, origin, sure)

    def _linear(self, path: str, module: nn.Linear) -> Shape:
        """Both ends; a square map of which nothing is known leads from a space into itself."""
        into, out_of = self._linear_out(path, module), self._linear_in(path, module)
        square = module.in_features == module.out_features
        return (out_of, out_of) if square and not into.name else (into, out_of)

    def _linear_in(self, path: str, module: nn.Linear) -> Axis:
        name, sure = self.name(path, module.in_features)
        return Axis(module.in_features, name, f"in_features of {path or 'this Linear'}", sure)

    def _linear_out(self, path: str, module: nn.Linear) -> Axis:
        """What a linear map makes: d_ff, vocab, what the scope knows, or the space it came from."""
        parent, _, leaf = path.rpartition(".")
        size, origin = module.out_features, f"out_features of {path or 'this Linear'}"
        holder = type(self.modules[parent]).__name__ if parent in self.modules else ""
        if _FEED_FORWARD.search(holder + parent.rpartition(".")[2]) and _WIDENS.fullmatch(leaf):
            return Axis(size, "d_ff", origin, sure=True)
        if size == self.value("vocab") and _VOCABULARY.search(leaf):
            return Axis(size, "vocab", origin, sure=True)
        name, sure = self.name(path, size)
        if name or size == module.in_features:
            return Axis(size, name, origin, sure)
        return Axis(size, f"{leaf or 'Linear'}.out", origin, sure=True)


def _attributes(module: nn.Module) -> Iterator[tuple[str, int]]:
    """Whole numbers above 1 that the module carries, under the alphabet's names."""
    config = getattr(module, "config", None)
    held = dict(vars(module))
    if is_dataclass(config):
        held |= {field.name: getattr(config, field.name) for field in fields(config)}
    for word, value in held.items():
        if type(value) is int and value > 1 and not word.startswith("_") and word not in _NOT_SIZES:
            name = canonical(word) or word
            if isinstance(module, nn.RNNBase) and word == "hidden_size":
                name = "hidden"  # the width of a state, and not of a word
            # A length that a module was built with is the longest that it can take.
            yield ("max_seq_len" if name in LENGTHS else name), value


def _outwards(path: str) -> Iterator[str]:
    """`a.b.c`, `a.b`, `a`, and the root."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""
