"""One row times a matrix, at the speed of memory.

With one row there is one multiplication for each weight, and the processor waits for the
weights, whatever it does with them. Then the order in which they lie is all that counts: they
should be read in long runs. With (in, out) each input scales a run of as many weights as there
are outputs; with torch's (out, in) each output is a sum along a run of as many as there are
inputs, of which the last few additions are done one by one. So the longer axis comes last: on
one core with AVX-512 the 113 MB of twelve matrices 768 -> 2,304 take 6.5 ms as (in, out) and 8.6
as (out, in), of 3,072 -> 768 it is 8.6 and 6.5; GPT-2's vocabulary, 154 MB, 7.2 and 12.2.

One core cannot ask for as much as memory can give, and a matrix-vector product is not always
shared out between several. So on more cores each takes an equal run of the matrix: of the inputs,
and the sums are added, or of the outputs. On two cores with AVX2 768 -> 768 takes 0.145 ms so
instead of 0.215. On processors with matrix units the library shares it out by itself.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.fast.processor import multiplies_tiles


class RowLinear:
    """float32, or what the weights are in, the longer axis last; a `Pack` for single rows."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.widens = weight.shape[0] >= weight.shape[1]
        # (out, in), whichever way it lies
        self.weight = weight.t().contiguous().t() if self.widens else weight.contiguous()
        self.bias = bias
        self.library_shares = multiplies_tiles()

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, in) -> (rows, out)."""
        if x.shape[0] != 1:  # a prompt
            return F.linear(x, self.weight, self.bias)
        threads = 1 if self.library_shares else torch.get_num_threads()
        if (cores := math.gcd(min(self.weight.shape), threads)) > 1:
            y = self._shared(x, cores)
            return y if self.bias is None else y.add_(self.bias)
        y = self.weight.mv(x[0]) if self.bias is None else self.bias.addmv(self.weight, x[0])
        return y.unsqueeze(0)

    def _shared(self, x: Tensor, cores: int) -> Tensor:
        lying = self.weight.t() if self.widens else self.weight  # the longer axis last
        shares = lying.view(cores, -1, lying.shape[1])
        if self.widens:  # (cores, 1, in / cores) @ (cores, in / cores, out), added up
            return torch.bmm(x.view(cores, 1, -1), shares).sum(0)
        # (cores, out / cores, in) @ (cores, in, 1) -> (1, out)
        return torch.bmm(shares, x.t().expand(cores, -1, 1)).view(1, -1)
