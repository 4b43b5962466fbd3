"""Another layout, the same product."""

import pytest
import torch
import torch.nn.functional as F

from clearhead.fast.row_linear import RowLinear


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("has_bias", [True, False])
def test_rows_times_a_matrix(rows: int, has_bias: bool) -> None:
    x, weight = torch.randn(rows, 7, dtype=torch.double), torch.randn(11, 7, dtype=torch.double)
    bias = torch.randn(11, dtype=torch.double) if has_bias else None
    expected = F.linear(x, weight, bias)
    torch.testing.assert_close(RowLinear(weight, bias)(x), expected, atol=1e-12, rtol=0)
