"""One flat Muon is `torch.optim.Muon` on the layers' matrices and AdamW on all else."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.optim._muon import _zeropower_via_newtonschulz as zeropower

from clearhead.blocks import shift_right
from clearhead.fast import FlatAdam, FlatMuon, flat_muon
from clearhead.fast.flat_muon import COEFFICIENTS, layer_matrices, orthogonalize
from clearhead.models import Transformer
from tests.decoding.tiny import VARIANTS, make_model

BETAS, EPS, LR = (0.9, 0.98), 1e-6, 3e-3


def backward(model: Transformer, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(4, 23, (3, 6), generator=generator)
    labels = torch.randint(4, 23, (3, 5), generator=generator)
    hidden = model.decode(model.encode(source, None), None, shift_right(labels, 1), None)
    log_probabilities = model.project(hidden).flatten(0, 1).float()
    nn.functional.nll_loss(log_probabilities, labels.flatten()).backward()


def reference(model: Transformer, weight_decay: float) -> list[torch.optim.Optimizer]:
    """torch's own optimizers, sorted by hand: what stands in an encoder or decoder layer."""
    named = dict(model.named_parameters())
    matrices = [p for name, p in named.items() if ".layers." in name and p.ndim == 2]
    rest = [p for name, p in named.items() if ".layers." not in name or p.ndim < 2]
    muon = torch.optim.Muon(
        matrices, lr=LR, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"
    )
    adam = torch.optim.AdamW(rest, lr=LR, betas=BETAS, eps=EPS, weight_decay=weight_decay)
    return [muon, adam]


def exactly(stack: Tensor) -> Tensor:
    """Newton and Schulz in float64."""
    x = stack.double() / torch.linalg.matrix_norm(stack.double(), keepdim=True).clamp(min=1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(5):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.to(stack.dtype)


def path(model: Transformer, start: list[Tensor]) -> Tensor:
    """How far every number is from where it began."""
    ends = zip(model.parameters(), start, strict=True)
    return torch.cat([(end - begin).detach().flatten() for end, begin in ends])


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize(("norm", "tie"), VARIANTS)
def test_equal_to_torch_on_separate_parameters(
    norm: str, tie: bool, weight_decay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In bfloat16 the rounding decides about directions that hardly have a gradient.
    monkeypatch.setattr(flat_muon, "orthogonalize", exactly)
    monkeypatch.setattr(
        "torch.optim._muon._zeropower_via_newtonschulz", lambda g, *_: exactly(g[None])[0]
    )
    ours = make_model(norm, tie)
    theirs = copy.deepcopy(ours)
    flat = FlatMuon(ours, BETAS, EPS, weight_decay)
    optimizers = reference(theirs, weight_decay)
    before = [p.detach().clone() for p in ours.parameters()]
    for step in range(4):
        backward(ours, step)
        flat.accumulate()
        assert flat.step(LR, 1.0, 1.0)
        backward(theirs, step)
        norm_of_all = nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        assert flat.grad_norm == pytest.approx(float(norm_of_all), rel=1e-4)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    distance, length = path(ours, list(theirs.parameters())), path(theirs, before)
    assert float(distance.norm() / length.norm()) < 1e-3


def test_a_matrix_steps_by_direction_not_by_size() -> None:
    """Without clipping a gradient a thousand times as large moves a matrix as far."""
    ends = []
    for factor in (1.0, 1000.0):
        model = make_model()
        flat = FlatMuon(model, BETAS, EPS)
        backward(model, 1)
        flat.gradient.mul_(factor)
        flat.step(LR, 1.0, 0.0)
        ends.append(model.encoder.layers[0].feed_forward_block.linear_1.weight.detach().clone())
    torch.testing.assert_close(ends[0], ends[1], rtol=1e-3, atol=1e-5)


def test_embeddings_output_gains_and_biases_are_left_to_adam() -> None:
    model = make_model()
    chosen = {id(p) for p in layer_matrices(model)}
    names = {name for name, p in model.named_parameters() if id(p) in chosen}
    # 2 encoder layers of 4 + 2 matrices, 3 decoder layers of 8 + 2
    assert len(names) == 2 * 6 + 3 * 10
    assert not [name for name in names if "embed" in name or "proj." in name or "bias" in name]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_restoring_a_state_goes_on_bit_by_bit(dtype: torch.dtype) -> None:
    model = make_model()
    flat = FlatMuon(model, dtype=dtype)
    run(model, flat, range(3))
    saved = {name: tensor.clone() for name, tensor in flat.state().items()}
    run(model, flat, range(3, 6))
    other = make_model(seed=2)
    again = FlatMuon(other, dtype=dtype)
    again.restore(saved)
    run(other, again, range(3, 6))
    for name, tensor in flat.state().items():
        assert torch.equal(tensor, again.state()[name]), name
    for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_changes_nothing(poison: float) -> None:
    model = make_model()
    flat = FlatMuon(model, dtype=torch.bfloat16)
    run(model, flat, range(2))
    before = {name: tensor.clone() for name, tensor in flat.state().items()}
    backward(model, 9)
    flat.gradient[3] = poison
    flat.accumulate()
    assert not flat.step(LR, 1.0, 1.0)
    for name, tensor in flat.state().items():
        assert torch.equal(tensor, before[name]), name


@pytest.mark.parametrize("pair", [(FlatAdam, FlatMuon), (FlatMuon, FlatAdam)])
def test_a_state_of_the_other_optimizer_is_refused(
    pair: tuple[type[FlatAdam], type[FlatAdam]],
) -> None:
    one, other = pair
    state: dict[str, Tensor] = one(make_model()).state()
    with pytest.raises(ValueError, match=r"another optimizer \(velocity .*optimizer\.name"):
        other(make_model()).restore(state)


def run(model: Transformer, flat: FlatMuon, steps: range) -> None:
    for step in steps:
        backward(model, step)
        flat.accumulate()
        flat.step(LR, 1.0, 1.0)


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
    monkeypatch.setattr(flat_muon, "multiplies_bfloat16", lambda device: False)
    exact = orthogonalize(stack.double())
    monkeypatch.setattr(flat_muon, "multiplies_bfloat16", lambda device: native)
    difference = (orthogonalize(stack) - exact).abs().max()
    assert rounding / 100 < difference < rounding
