r"""One matrix product in 8-bit integers: a quarter of the bytes, four times the speed with VNNI.

.. math:: y_{ij} = s_i t_j \sum_k \hat x_{ik} \hat w_{jk} + b_j, \qquad
          \hat x_{ik} = \text{round}(x_{ik} / s_i), \quad s_i = \max_k |x_{ik}| / 127

and t likewise from the weights (once). The sum is exact, in 32-bit integers. With rounding errors
of at most half a step, the error of y is at most
:math:`\frac{s_i}{2} \|w_j\|_1 + \frac{t_j}{2} \|x_i\|_1 + \frac{K s_i t_j}{4}` over K terms; in
practice some hundred times smaller than y. Every row has its own s: the company in a batch
changes nothing.

To round the input and to scale the sums takes as long as to multiply, or longer, where there are
few outputs. Where there are many, as in a vocabulary, oneDNN scales each sum while it is still in
a register: `ReorderedSums`. Where the processor does not multiply integers natively, `WidenedSums`
give the same numbers at the speed of float32.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from clearhead.fast.packed_linear import float32
from clearhead.fast.processor import multiplies_int8, multiplies_tiles

Sums = Callable[[Tensor], Tensor]  # integers (rows, in) -> (rows, out): t times their sums

# Outputs from which on `ReorderedSums` pays, each call of which costs 20 µs more; a single row
# waits for the weights rather than for anything else.
WIDE = 2048
WIDE_FOR_ONE = 20_000


class Int8Linear:
    """The weights of every output and the input of every row as integers from -127 to 127."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        integers, largest = rounded_to_8_bits(weight)
        steps = largest.squeeze(1) / 127**2  # (out,): t, and what makes s of a row's largest
        self.sums, self.sums_of_one = _sums(integers, steps)
        self.bias = bias

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        integers, largest = rounded_to_8_bits(x)
        sums = self.sums_of_one if x.shape[0] == 1 else self.sums
        y = sums(integers).to(x.dtype)
        # In place: a second large buffer, fresh from the system every time, costs ten times more.
        if self.bias is None:
            return y.mul_(largest)
        return torch.addcmul(self.bias, y, largest, out=y)


def _sums(integers: Tensor, steps: Tensor) -> tuple[Sums, Sums]:
    """The fastest for many rows, and for one."""
    if not multiplies_int8(integers.device):
        widened = WidenedSums(integers, steps)
        return widened, widened
    plain, width = PlainSums(integers, steps), len(integers)
    reordered = ReorderedSums(integers, steps) if width >= WIDE and ReorderedSums.exist() else plain
    return reordered, reordered if width >= WIDE_FOR_ONE else plain


class PlainSums:
    """The integers as they are, (out, in); their sums are scaled afterwards."""

    def __init__(self, integers: Tensor, steps: Tensor) -> None:
        self.integers, self.steps = integers, steps
        self.in_tiles = multiplies_tiles()

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out). Either way round the sums are the same.

        A tile of a matrix unit has 16 rows: a single row fills a tile of weights better than one
        of its own (768 -> 768: 0.046 ms instead of 0.071 on one core).
        """
        if self.in_tiles and x.shape[0] == 1:
            sums = torch._int_mm(self.integers, x.t()).t()
        else:
            # The transposed view, not a transposed copy: one row is read 2 times faster so.
            sums = torch._int_mm(x, self.integers.t())
        return sums.to(self.steps.dtype).mul_(self.steps)


class ReorderedSums:
    """The integers in oneDNN's blocked order; every sum is scaled before it is written.

    On one core with matrix units, 256 -> 8,000, 64 rows: 0.40 ms, `PlainSums` 0.91; on one with
    VNNI alone 0.69 and 0.78, 768 -> 50,257 with 1 row 2.6 and 4.2.
    """

    def __init__(self, integers: Tensor, steps: Tensor) -> None:
        self.blocked = torch.ops.onednn.qlinear_prepack(integers, None)
        self.steps = steps.float()
        self.zeros = torch.zeros_like(steps, dtype=torch.long)  # the integers that stand for 0.0
        self.in_tiles = multiplies_tiles()

    @staticmethod
    def exist() -> bool:
        """Not in every torch; and without VNNI they are wrong: pairs of products fill 16 bits."""
        return multiplies_int8(torch.device("cpu")) and hasattr(
            torch.ops.onednn, "qlinear_pointwise"
        )

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out). Where oneDNN has no kernel it loops, a thousand times slower.

        VNNI multiplies integers without a sign by such with one, so x becomes x + 128.
        """
        if not self.in_tiles:
            return self._scaled(x.view(torch.uint8).bitwise_xor(128), zero=128)
        if x.shape[0] == 1:  # for one row with a sign there may be no kernel
            return self._scaled(x.repeat(2, 1), zero=0)[:1]
        return self._scaled(x, zero=0)

    def _scaled(self, x: Tensor, zero: int) -> Tensor:
        times, nothing, sums = 1.0, 0, torch.float32
        y: Tensor = torch.ops.onednn.qlinear_pointwise(
            x, times, zero, self.blocked, self.steps, self.zeros, None,
            times, nothing, sums, "none", [], "",
        )  # fmt: skip
        return y


class WidenedSums:
    """The integers as float32, which holds their sums exactly up to 2^24: 1,040 terms and more.

    256 -> 1,024, 64 rows, on one core with AVX2 alone: 0.55 ms, as much as without rounding;
    `PlainSums` 14 ms.
    """

    def __init__(self, integers: Tensor, steps: Tensor) -> None:
        self.product, self.steps = float32(integers.float(), None), steps.float()

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        return self.product(x.float()).mul_(self.steps)


def rounded_to_8_bits(x: Tensor) -> tuple[Tensor, Tensor]:
    """(rows, width) -> integers of the same shape, and what 127 of them stand for, (rows, 1).

    A row of zeros becomes any integers, which stand for nothing.
    """
    largest = x.abs().amax(dim=1, keepdim=True)
    return x.div(largest).mul_(127).round_().to(torch.int8), largest
