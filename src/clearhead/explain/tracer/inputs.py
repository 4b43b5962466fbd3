"""Axis names for the inputs of a module, from the names and ranks of its arguments.

Where an argument's name says too little, its sizes are compared with the model's own attributes.
From here on names are propagated with the tensors.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.explain.tracer.axes import BROADCAST, Axis, Shape, canonical
from clearhead.explain.tracer.model_axes import ModelSizes

_SOURCE = re.compile(r"^(src|source|enc|memory|context)", re.IGNORECASE)
_TARGET = re.compile(r"^(tgt|trg|target|dec)", re.IGNORECASE)
_STACKS = (
    nn.TransformerEncoder, nn.TransformerDecoder,
    nn.TransformerEncoderLayer, nn.TransformerDecoderLayer,
)  # fmt: skip
_KEYS = re.compile(r"^(k|v|keys?|values?)$", re.IGNORECASE)


def name_inputs(
    module: Callable[..., Any], inputs: Sequence[Any], axes: Mapping[str, str], sizes: ModelSizes
) -> list[tuple[Tensor, Shape]]:
    """Every tensor input with its axes; `axes` sets names: `{"x": "batch seq_len d_model"}`.

    Raises:
        UserError: `axes` names an unknown argument, or the wrong number of axes.
    """
    given = _arguments(module, inputs)
    tensors = {word: value for word, value in given.items() if isinstance(value, Tensor)}
    if unknown := sorted(set(axes) - set(tensors)):
        raise UserError(
            f"axes names {unknown[0]!r}, which is not a tensor argument; "
            f"choose from {', '.join(tensors) or 'none'}"
        )
    namer = _Namer(module, tensors, sizes)
    return [
        (value, _as_given(word, value, axes[word]) if word in axes else namer.name(word, value))
        for word, value in tensors.items()
    ]


def _batch_first(module: Callable[..., Any]) -> bool:
    """Whether the batch is axis 0; in torch's stacks and layers their attention says so."""
    if not isinstance(module, _STACKS):
        return bool(getattr(module, "batch_first", True))
    inner = (part for part in module.modules() if isinstance(part, nn.MultiheadAttention))
    return all(part.batch_first for part in inner)


def _arguments(module: Callable[..., Any], inputs: Sequence[Any]) -> dict[str, Any]:
    function = module.forward if isinstance(module, nn.Module) else module
    try:
        return dict(inspect.signature(function).bind_partial(*inputs).arguments)
    except (TypeError, ValueError):
        return {f"input {i + 1}": value for i, value in enumerate(inputs)}


def _as_given(word: str, tensor: Tensor, text: str) -> Shape:
    words = text.replace(",", " ").strip("( )").split()
    if len(words) != tensor.dim():
        raise UserError(
            f"axes gives {word} {len(words)} names ({text}), but it has {tensor.dim()} axes "
            f"{tuple(tensor.shape)}; give one name for each axis"
        )
    return tuple(
        Axis(size, canonical(name) or name, f"axis {i} of {word}", certain=True)
        for i, (name, size) in enumerate(zip(words, tensor.shape, strict=True))
    )


class _Namer:
    def __init__(
        self, module: Callable[..., Any], tensors: dict[str, Tensor], sizes: ModelSizes
    ) -> None:
        self.tensors, self.sizes = tensors, sizes
        self.batch_first = _batch_first(module)
        words = list(tensors)
        self.two_sequences = any(map(_TARGET.match, words)) or (
            any(map(_SOURCE.match, words)) and not all("mask" in w for w in words[1:])
        )
        self.has_source = any(map(_SOURCE.match, words))
        axis = -2 if self.batch_first else 0
        lengths = {t.shape[axis] for w, t in tensors.items() if t.dim() > 2 and "mask" not in w}
        self.lengths_differ = len(lengths) > 1

    def name(self, word: str, tensor: Tensor) -> Shape:
        """The axes of one argument."""
        if "mask" in word.lower() or word.lower() in ("allowed", "attn_bias"):
            wanted = self._mask(word, tensor)
        elif tensor.is_floating_point():
            wanted = self._vectors(word, tensor)
        else:
            wanted = [self.length(word)] if tensor.dim() == 1 else ["batch", self.length(word)]
        wanted += [""] * (tensor.dim() - len(wanted))
        return tuple(
            Axis(size, name, f"axis {i} of {word}", certain=bool(name))
            for i, (size, name) in enumerate(zip(tensor.shape, wanted, strict=False))
        )

    def length(self, word: str) -> str:
        """The name of the length of an argument with this name."""
        if _SOURCE.match(word) or (self.lengths_differ and _KEYS.match(word)):
            return "src_len"
        if _TARGET.match(word) or self.two_sequences or self.lengths_differ:
            return "tgt_len"
        return "src_len" if self.has_source else "seq_len"

    def _vectors(self, word: str, tensor: Tensor) -> list[str]:
        """(batch, length, d_model), unless the model's d_model is another axis."""
        shape, length = tensor.shape, self.length(word)
        width = self._width(shape[-1]) if shape else ""
        if word.startswith(("logit", "log_prob")):
            width = "vocab"
        if len(shape) == 4:
            image = ["batch", "in_channels", "height", "width"]
            return image if self._has_channels(shape[1]) else ["batch", "h", length, "d_k"]
        if len(shape) == 3 and not self.sizes.name("", shape[2])[0]:
            middle, _ = self.sizes.name("", shape[1])
            if middle in ("d_model", "in_channels"):
                return ["batch", middle, length]
        if len(shape) == 3:
            return ["batch", length, width] if self.batch_first else [length, "batch", width]
        sentence = len(shape) == 2 and width == "d_model" and not self._is_a_batch(shape[0])
        return ([length, width] if sentence else ["batch", width])[: len(shape)]

    def _has_channels(self, size: int) -> bool:
        """True if the model reads images with so many channels."""
        modules = self.sizes.modules.values()
        return any(isinstance(m, nn.Conv2d) and m.in_channels == size for m in modules)

    def _is_a_batch(self, size: int) -> bool:
        """True if an argument with sequences has this batch size: a vector for each sequence."""
        return any(t.dim() > 2 and t.shape[0] == size for t in self.tensors.values())

    def _width(self, size: int) -> str:
        """The name of an axis of features: by the model's attributes, else d_model."""
        name, _ = self.sizes.name("", size)
        known = self.sizes.value("d_model")
        if name and (name == "d_model" or known is None or known != size):
            return name
        return "d_model" if known in (None, size) else "features"

    def _mask(self, word: str, tensor: Tensor) -> list[str]:
        """(batch, 1, query, key), aligned from the right; (batch, key) for a padding mask."""
        shape = tensor.shape
        key = self._key(word, shape[-1])
        batch = next(iter(self.tensors.values())).shape[0]
        if len(shape) == 2 and shape[0] == batch != shape[1]:
            return ["batch", key]
        query = self._query(key, shape) if len(shape) > 1 else ""
        front = {3: ["batch"], 4: ["batch", "h"]}.get(len(shape), [])
        wanted = [*front, query, key][-len(shape) :]
        # One sentence is a batch of one; any other 1 is there to be broadcast.
        kept = {"batch"} if batch == 1 else set()
        pairs = zip(shape, wanted, strict=False)
        return [BROADCAST if size == 1 and name not in kept else name for size, name in pairs]

    def _key(self, word: str, size: int) -> str:
        """The key axis of a mask called `mask`: the source's if its length is the same."""
        if _SOURCE.match(word) or _TARGET.match(word):
            return self.length(word)
        lengths = {
            (
                self.length(other),
                tensor.shape[-2] if tensor.is_floating_point() else tensor.shape[-1],
            )
            for other, tensor in self.tensors.items()
            if "mask" not in other.lower() and tensor.dim() > 1
        }
        found = (name for name in ("src_len", "seq_len", "tgt_len") if (name, size) in lengths)
        return next(found, self.length(word))

    def _query(self, key: str, shape: Sequence[int]) -> str:
        """The query axis: the key axis in self-attention, else the target's."""
        if key == "tgt_len" or shape[-1] == shape[-2]:
            return key
        return "tgt_len" if self.two_sequences or self.lengths_differ else ""
