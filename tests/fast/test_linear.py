"""The vocabulary's product is `F.linear`, whichever kernel does the work."""

import pytest
import torch
import torch.nn.functional as F

from clearhead.fast import linear as module
from clearhead.fast.linear import linear


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kernel", [True, False])
def test_equal_to_f_linear(
    rows: int, dtype: torch.dtype, kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a torch that has no such kernel."""
    if not kernel:
        monkeypatch.setattr(module, "_KERNEL", None)
    x, weight, bias = (torch.randn(s).to(dtype) for s in ((rows, 6), (9, 6), (9,)))
    ours = linear(x, weight, bias)
    assert ours.dtype == dtype
    exact = F.linear(x.double(), weight.double(), bias.double())
    tolerance = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(ours.double(), exact, rtol=tolerance, atol=tolerance)


def test_bfloat16_needs_no_kernel_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """oneDNN refuses bfloat16 on a processor before AVX-512."""
    monkeypatch.setattr(module, "onednn_takes", lambda x: False)
    x, weight, bias = (torch.randn(s).bfloat16() for s in ((5, 6), (9, 6), (9,)))
    assert torch.equal(linear(x, weight, bias), F.linear(x, weight, bias))
