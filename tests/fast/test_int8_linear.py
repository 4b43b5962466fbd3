import pytest
import torch
import torch.nn.functional as F

from clearhead.fast import int8_linear as module
from clearhead.fast.int8_linear import (
    WIDE,
    WIDE_FOR_ONE,
    Int8Linear,
    PlainSums,
    ReorderedSums,
    WidenedSums,
    rounded_to_8_bits,
)

ROWS = [1, 11, 70]
OUTPUTS = [40, WIDE + 40, WIDE_FOR_ONE + 40]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("has_bias", [True, False])
def test_integers_err_less_than_the_rounding_allows(
    rows: int, outputs: int, has_bias: bool
) -> None:
    """The bound that `Int8Linear` states, and in practice one percent of the spread."""
    x, weight = torch.randn(rows, 24), torch.randn(outputs, 24)
    bias = torch.randn(outputs) if has_bias else None
    expected = F.linear(x, weight, bias)
    error = (Int8Linear(weight, bias)(x) - expected).abs()
    s, t = rounded_to_8_bits(x)[1] / 127, rounded_to_8_bits(weight)[1] / 127
    by_input = s / 2 * weight.abs().sum(1)
    by_weight = t.T / 2 * x.abs().sum(1, keepdim=True)
    assert (error <= by_input + by_weight + 24 / 4 * s * t.T + 1e-4).all()
    assert error.square().mean().sqrt() <= 0.02 * expected.std()


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_however_they_are_laid_out_the_sums_are_the_same(rows: int, outputs: int) -> None:
    x = torch.randint(-127, 128, (rows, 48)).to(torch.int8)
    weight, steps = torch.randint(-127, 128, (outputs, 48)).to(torch.int8), torch.rand(outputs)
    expected = (x.long() @ weight.long().T).float() * steps
    assert torch.equal(WidenedSums(weight, steps)(x), expected)
    plain = PlainSums(weight, steps)
    for plain.in_tiles in (True, False):
        assert torch.equal(plain(x), expected)
    if not ReorderedSums.exist():
        pytest.skip("this processor does not multiply integers natively")
    assert torch.equal(ReorderedSums(weight, steps)(x), expected)


@pytest.mark.parametrize("rows", ROWS)
def test_onednn_has_a_kernel_for_the_reordered_sums(
    rows: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where it has none it falls back to a loop, `ref_int8`, a thousand times slower."""
    if not ReorderedSums.exist():
        pytest.skip("this processor does not multiply integers natively")
    x = torch.randint(-127, 128, (rows, 48)).to(torch.int8)
    weight, steps = torch.randint(-127, 128, (WIDE, 48)).to(torch.int8), torch.rand(WIDE)
    sums = ReorderedSums(weight, steps)
    with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
        sums(x)
    said = capfd.readouterr().out.splitlines()
    (product,) = [line for line in said if ",exec,cpu,matmul," in line]
    assert ",matmul,ref" not in product


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_company_in_a_batch_changes_nothing(outputs: int) -> None:
    x, weight, bias = torch.randn(70, 24), torch.randn(outputs, 24), torch.randn(outputs)
    x[3] *= 1000  # a loud neighbour
    product = Int8Linear(weight, bias)
    for rows in (slice(10, 30), slice(12, 13)):
        assert torch.equal(product(x)[rows], product(x[rows].contiguous()))


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_a_row_of_zeros_stays_zero_in_integers(outputs: int) -> None:
    found = Int8Linear(torch.randn(outputs, 8), None)(torch.zeros(2, 8))
    assert torch.equal(found, torch.zeros(2, outputs))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_every_processor_gives_the_same_numbers(
    rows: int, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weight, bias = torch.randn(rows, 24), torch.randn(outputs, 24), torch.randn(outputs)
    here = Int8Linear(weight, bias)(x)
    monkeypatch.setattr(module, "multiplies_int8", lambda device: False)
    elsewhere = Int8Linear(weight, bias)
    assert isinstance(elsewhere.sums, WidenedSums)
    torch.testing.assert_close(elsewhere(x), here, atol=1e-5, rtol=1e-6)
