"""Another layout, the same product."""

import pytest
import torch
import torch.nn.functional as F

from clearhead.decoding.side_by_side import on_cores
from clearhead.fast import row_linear as module
from clearhead.fast.row_linear import RowLinear


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("sizes", [(7, 11), (11, 7), (12, 18), (18, 12)])
@pytest.mark.parametrize("cores", [1, 2, 3])
@pytest.mark.parametrize("tiles", [True, False])
def test_rows_times_a_matrix(
    rows: int,
    has_bias: bool,
    sizes: tuple[int, int],
    cores: int,
    tiles: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the cores cannot share the matrix equally."""
    monkeypatch.setattr(module, "multiplies_tiles", lambda: tiles)
    x, weight = torch.randn(rows, sizes[1]).double(), torch.randn(sizes).double()
    bias = torch.randn(sizes[0]).double() if has_bias else None
    product, before = RowLinear(weight, bias), (weight.clone(), x.clone())
    with on_cores(cores):
        found = product(x)
    torch.testing.assert_close(found, F.linear(x, weight, bias), atol=1e-12, rtol=0)
    assert torch.equal(weight, before[0]) and torch.equal(x, before[1])
