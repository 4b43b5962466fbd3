"""Which axes every tensor has, for as long as it lives; models hold their tensors themselves."""

from typing import Any

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from clearhead.explain.tracer.axis import Shape, anonymous
from clearhead.explain.tracer.sizes import Sizes


class Ledger:
    """Axes, serial numbers and, for what the model itself holds, names of tensors."""

    def __init__(self, sizes: Sizes) -> None:
        self.shapes = WeakIdKeyDictionary()
        self.serials = WeakIdKeyDictionary()
        self.words: dict[int, str] = {}  # of parameters and buffers
        self.count = 0
        for path, module in sizes.modules.items():
            held = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
            for name, tensor in held:
                if tensor not in self.shapes:  # a tied matrix keeps its first names
                    self.words[id(tensor)] = f"{path}.{name}".lstrip(".")
                    self.know(tensor, sizes.parameter(path, module, name, tensor))

    def know(self, tensor: Tensor, shape: Shape) -> None:
        """Remember the axes of a tensor."""
        self.shapes[tensor] = shape
        if tensor not in self.serials:
            self.count += 1
            self.serials[tensor] = self.count

    def shape_of(self, tensor: Tensor) -> Shape:
        """The axes of a tensor; one that was never seen gets unnamed ones."""
        known: Shape | None = self.shapes.get(tensor)
        if known is None or tuple(axis.size for axis in known) != tuple(tensor.shape):
            known = anonymous(tensor.shape, "a tensor that was there before")
            self.know(tensor, known)
        return known

    def numbers(self, tensors: list[Tensor]) -> frozenset[int]:
        """Which tensors these are, also when they live no longer."""
        for tensor in tensors:
            self.shape_of(tensor)
        return frozenset(self.serials[tensor] for tensor in tensors)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of a result, which may be a tuple, a list or a dictionary of them."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []
