"""Another layout, the same product."""

import pytest
import torch
import torch.nn.functional as F

from clearhead.fast.row_linear import RowLinear


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("sizes", [(7, 11), (11, 7)])
def test_rows_times_a_matrix(rows: int, has_bias: bool, sizes: tuple[int, int]) -> None:
    x, weight = torch.randn(rows, sizes[1]).double(), torch.randn(sizes).double()
    bias = torch.randn(sizes[0]).double() if has_bias else None
    expected = F.linear(x, weight, bias)
    torch.testing.assert_close(RowLinear(weight, bias)(x), expected, atol=1e-12, rtol=0)
