"""Every singular value goes near one; the singular vectors stay."""

import pytest
import torch
from torch import Tensor
from torch.optim._muon import _zeropower_via_newtonschulz as zeropower

from clearhead.fast import orthogonalize as module
from clearhead.fast.orthogonalize import COEFFICIENTS, orthogonalize

SHAPES = [(3, 24, 24), (2, 12, 40), (5, 40, 12)]


def with_values(shape: tuple[int, int, int], values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Random matrices U diag(values) V^T, with their U and V^T."""
    generator = torch.Generator().manual_seed(3)
    u, _, vt = torch.linalg.svd(torch.randn(shape, generator=generator), full_matrices=False)
    return u @ torch.diag(values) @ vt, u, vt


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_all_directions_become_equally_long(shape: tuple[int, int, int], scale: float) -> None:
    values = torch.logspace(-2, 0, min(shape[1:])) * scale
    matrices, u, vt = with_values(shape, values)
    seen = u.mT @ orthogonalize(matrices) @ vt.mT  # in the basis of the singular vectors
    diagonal = seen.diagonal(dim1=1, dim2=2)
    assert (diagonal > 0.6).all() and (diagonal < 1.3).all()
    assert (seen - torch.diag_embed(diagonal)).abs().max() < 0.06  # bfloat16 in between


@pytest.mark.parametrize("shape", SHAPES)
def test_equal_to_torch_matrix_by_matrix(shape: tuple[int, int, int]) -> None:
    stack = torch.randn(shape, generator=torch.Generator().manual_seed(5))
    theirs = [zeropower(matrix, COEFFICIENTS, 5, 1e-7).float() for matrix in stack]
    difference = orthogonalize(stack) - torch.stack(theirs)
    assert difference.norm() / torch.stack(theirs).norm() < 0.03  # both in bfloat16


def test_a_stack_is_its_matrices_one_by_one() -> None:
    stack = torch.randn(4, 7, 19, generator=torch.Generator().manual_seed(1))
    single = torch.cat([orthogonalize(matrix[None]) for matrix in stack])
    torch.testing.assert_close(orthogonalize(stack), single, rtol=0.02, atol=0.02)


def test_a_transposed_matrix_has_the_transposed_answer() -> None:
    stack = torch.randn(4, 7, 19, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(
        orthogonalize(stack.mT), orthogonalize(stack).mT, rtol=0.02, atol=0.02
    )


def test_no_gradient_is_no_direction() -> None:
    assert not orthogonalize(torch.zeros(2, 5, 3)).any()


@pytest.mark.parametrize(("native", "rounding"), [(True, 5e-2), (False, 1e-5)])
def test_only_a_processor_with_bfloat16_rounds_to_it(
    monkeypatch: pytest.MonkeyPatch, native: bool, rounding: float
) -> None:
    """Others would take ten times as long for it, so they stay with the numbers they got."""
    stack = torch.randn(2, 5, 9, generator=torch.Generator().manual_seed(4))
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda device: False)
    exact = orthogonalize(stack.double())
    monkeypatch.setattr(module, "multiplies_bfloat16", lambda device: native)
    difference = (orthogonalize(stack) - exact).abs().max()
    assert rounding / 100 < difference < rounding
