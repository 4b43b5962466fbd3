r"""One matrix product, x Wᵀ + b, with the weights laid out once for many calls.

Training changes its weights at every step; translation multiplies by the same
ones thousands of times. So whoever translates may spend time on them first:
lay several side by side (one product instead of three), in the order in which
the processor reads them, or in fewer bits:

* `PlainLinear`: the floats as they are; the very same numbers.
* `BlockedLinear`: float32, reordered for the cache by oneDNN; at 64 rows a third
  less time for the vocabulary's product, from 8 % more to 13 % less for the others.
* `FloatLinear`: that one for many rows, and `RowLinear` (`row_linear`) for a single one, which
  takes 15 to 45 % less time on one core with AVX2.
* `BfloatLinear`: both factors rounded to bfloat16 (2^-9 relative), summed in
  float32: twice the speed where the processor multiplies it natively.
* `Int8Linear` (`int8_linear`): both factors as 8-bit integers.

Where the processor does not multiply the shorter formats natively, the last two still round to
them and let float32 multiply: the same numbers as elsewhere, nothing faster.

All take (rows, in) and give (rows, out) in the dtype of x, and treat every row
by itself: the company in a batch changes nothing.
"""

from collections.abc import Callable
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.fast.processor import onednn_takes
from clearhead.fast.row_linear import RowLinear

# weight (out, in) and bias (out,) or None -> the product
Product = Callable[[Tensor], Tensor]
Pack = Callable[[Tensor, Tensor | None], Product]


class PlainLinear:
    """`torch.nn.functional.linear`, for any device and dtype."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight, self.bias = weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        return F.linear(x, self.weight, self.bias)


class BlockedLinear(PlainLinear):
    """The same sums, with the weights in oneDNN's blocked order."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__(weight, bias)
        self.blocked = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 64)

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        return torch.ops.mkldnn._linear_pointwise(x, self.blocked, self.bias, "none", [], "")


class FloatLinear(BlockedLinear):
    """float32, in the order that suits the number of rows."""

    @cached_property
    def one(self) -> RowLinear:
        """Laid out when a single row first comes: often none does."""
        return RowLinear(self.weight, self.bias)

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        return self.one(x) if x.shape[0] == 1 else super().__call__(x)


class WidenedLinear:
    """Short weights and a short input, multiplied in float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.product = float32(weight.float(), None if bias is None else bias.float())

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        return self.product(x.float()).to(x.dtype)


class BfloatLinear:
    """Weights, bias and input rounded to bfloat16, sums in float32, the result rounded again."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        weight, bias = weight.bfloat16(), None if bias is None else bias.bfloat16()
        self.product = (BlockedLinear if onednn_takes(weight) else WidenedLinear)(weight, bias)

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        return self.product(x.bfloat16()).to(x.dtype)


def float32(weight: Tensor, bias: Tensor | None) -> Product:
    """The best product that keeps every float as it is."""
    suits = weight.dtype == torch.float32 and onednn_takes(weight)
    return (FloatLinear if suits else PlainLinear)(weight, bias)


def as_short(pack: Pack, between: Product) -> Product:
    """What happens `between` two products, and the two: in the format that they round to anyway.

    Two conversions instead of four, and what lies between is half as long. The result is in the
    dtype of the input, so that a sum over layers loses nothing.
    """
    if pack is not BfloatLinear:
        return between
    return lambda x: between(x.bfloat16()).to(x.dtype)


def side_by_side(pack: Pack, *linears: nn.Linear, first_times: float = 1.0) -> Product:
    """Several projections of the same input as one: (rows, in) -> (rows, out_1 + out_2 + …).

    What the first of them gives is multiplied by `first_times`.
    """
    weights = [linear.weight.detach() for linear in linears]
    biases = [
        weight.new_zeros(weight.shape[0]) if linear.bias is None else linear.bias.detach()
        for linear, weight in zip(linears, weights, strict=True)
    ]
    if first_times != 1.0:
        weights[0], biases[0] = weights[0] * first_times, biases[0] * first_times
    has_bias = any(linear.bias is not None for linear in linears)
    return pack(torch.cat(weights), torch.cat(biases) if has_bias else None)
