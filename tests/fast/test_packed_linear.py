import pytest
import torch
import torch.nn.functional as F
from torch import nn

from clearhead.fast import packed_linear as module
from clearhead.fast.int8_linear import Int8Linear
from clearhead.fast.packed_linear import (
    BfloatLinear,
    BlockedLinear,
    FloatLinear,
    Pack,
    PlainLinear,
    as_short,
    float32,
    side_by_side,
)

ROWS = [1, 11, 70]
PACKS = [PlainLinear, BlockedLinear, FloatLinear, BfloatLinear, Int8Linear]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("pack", [PlainLinear, BlockedLinear, float32])
@pytest.mark.parametrize("has_bias", [True, False])
def test_floats_are_left_as_they_are(rows: int, pack: Pack, has_bias: bool) -> None:
    x, weight = torch.randn(rows, 24), torch.randn(40, 24)
    bias = torch.randn(40) if has_bias else None
    torch.testing.assert_close(pack(weight, bias)(x), F.linear(x, weight, bias))


@pytest.mark.parametrize("rows", ROWS)
def test_bfloat16_errs_by_its_rounding(rows: int) -> None:
    x, weight, bias = torch.randn(rows, 24), torch.randn(40, 24), torch.randn(40)
    error = BfloatLinear(weight, bias)(x) - F.linear(x, weight, bias)
    assert (error.abs() <= 2**-7 * (F.linear(x.abs(), weight.abs()) + bias.abs())).all()


@pytest.mark.parametrize("pack", PACKS)
def test_the_company_in_a_batch_changes_nothing(pack: Pack) -> None:
    x, weight, bias = torch.randn(70, 24), torch.randn(40, 24), torch.randn(40)
    x[3] *= 1000  # a loud neighbour
    product = pack(weight, bias)
    whole, alone = product(x), product(x[10:30].contiguous())
    torch.testing.assert_close(whole[10:30], alone, atol=1e-5, rtol=1e-5)
    last_bit = 2**-7 if pack is BfloatLinear else 1e-5  # one row may be summed in another order
    torch.testing.assert_close(whole[12:13], product(x[12:13]), atol=1e-5, rtol=last_bit)


@pytest.mark.parametrize("biased", [(True, True), (True, False), (False, False)])
def test_side_by_side_is_one_after_the_other(biased: tuple[bool, bool]) -> None:
    first, second = nn.Linear(6, 4, bias=biased[0]), nn.Linear(6, 7, bias=biased[1])
    x = torch.randn(3, 6)
    with torch.no_grad():
        found = side_by_side(float32, first, second, first_times=0.5)(x)
        expected = torch.cat([0.5 * first(x), second(x)], dim=1)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("pack", "inside"),
    [(float32, torch.float32), (Int8Linear, torch.float32), (BfloatLinear, torch.bfloat16)],
)
def test_between_two_products_numbers_are_as_short_as_both_round_them(
    pack: Pack, inside: torch.dtype
) -> None:
    first, second = (pack(torch.randn(24, 24), torch.randn(24)) for _ in range(2))
    formats, x = [], torch.randn(11, 24)

    def between(y: torch.Tensor) -> torch.Tensor:
        formats.extend([y.dtype, (middle := first(y)).dtype])
        return second(middle)

    found, expected = as_short(pack, between)(x), second(first(x))
    assert (found.dtype, formats) == (torch.float32, [inside] * 2)
    torch.testing.assert_close(found, expected, atol=2**-7 * float(expected.abs().max()), rtol=0)


@pytest.mark.parametrize("rows", ROWS)
def test_a_processor_without_bfloat16_gives_the_same_numbers(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To half a step of the result's last bit: the order of the sums differs."""
    x, weight, bias = torch.randn(rows, 24), torch.randn(40, 24), torch.randn(40)
    here = BfloatLinear(weight, bias)(x)
    monkeypatch.setattr(module, "onednn_takes", lambda x: x.dtype == torch.float32)
    widened = BfloatLinear(weight, bias)(x)
    assert (widened == widened.bfloat16()).all()
    exact = F.linear(*(t.bfloat16().double() for t in (x, weight, bias)))
    for found in (here, widened):
        assert ((found - exact).abs() <= 2**-8 * exact.abs() + 1e-5).all()


def test_the_layout_for_one_row_takes_memory_only_when_one_comes() -> None:
    product = FloatLinear(torch.randn(40, 24), torch.randn(40))
    product(torch.randn(2, 24))
    assert "one" not in vars(product)
    product(torch.randn(1, 24))
    assert "one" in vars(product)
