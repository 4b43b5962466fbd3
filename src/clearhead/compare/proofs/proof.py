"""A claim of equality, how it is checked, and the difference that was found.

A proof is a function without arguments that returns a `Deviation`; `Proof` states which two things
it compares and how far apart they may be. Sizes are asymmetric, so that swapped axes are noticed,
and weights are random, so that none of them is exactly one or zero.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

BOUND = {torch.float64: 1e-10, torch.float32: 1e-5}
TensorPairs = Iterable[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Deviation:
    """The largest absolute differences; `mismatches` counts discrete results that differ."""

    outputs: float
    gradients: float | None = None  # None: the proof is about outputs only
    mismatches: int = 0
    note: str = ""

    def within(self, bound: float) -> bool:
        """Whether no difference exceeds the bound and nothing mismatches; False for NaN."""
        gradients = 0.0 if self.gradients is None else self.gradients
        return self.outputs <= bound and gradients <= bound and not self.mismatches


@dataclass(frozen=True)
class Proof:
    """`ours` computes what `theirs` computes, up to `bound`; `relation` is "=" or "≈"."""

    ours: str
    theirs: str
    precision: str
    bound: float
    find: Callable[[], Deviation]
    relation: str = "="

    @property
    def claim(self) -> str:
        """The equality in one line."""
        return f"{self.ours} {self.relation} {self.theirs}"


def in_both_precisions(
    ours: str, theirs: str, find: Callable[[torch.dtype], Deviation]
) -> Iterator[Proof]:
    """The proof in float64, which shows that the formula is right, and in float32."""
    for dtype, bound in BOUND.items():
        yield Proof(ours, theirs, str(dtype).removeprefix("torch."), bound, partial(find, dtype))


def largest_difference(pairs: TensorPairs) -> float:
    """The largest absolute difference of any two corresponding elements; NaN if one is NaN."""
    found = [0.0]
    for one, other in pairs:
        assert one.shape == other.shape, f"{tuple(one.shape)} is not {tuple(other.shape)}"
        difference = (one.detach().double() - other.detach().double()).abs()
        if difference.numel():
            found.append(float(difference.max()))
    return _maximum(found)


def worst(deviations: Iterable[Deviation]) -> Deviation:
    """The maximum over several cases of one claim; mismatches are added up."""
    every = list(deviations)
    gradients = [one.gradients for one in every if one.gradients is not None]
    return Deviation(
        _maximum([one.outputs for one in every]),
        _maximum(gradients) if gradients else None,
        sum(one.mismatches for one in every),
        every[0].note,
    )


def _maximum(values: list[float]) -> float:
    return max(values, key=lambda x: (math.isnan(x), x))


def compare_functions(
    ours: Callable[..., Tensor],
    theirs: Callable[..., Tensor],
    inputs: Iterable[Tensor],
    weight_gradients: Callable[[], TensorPairs] = tuple,
) -> Deviation:
    """Run both on the same inputs and propagate the same random gradient back through both.

    Gradients of the inputs are always compared; `weight_gradients`, called after the backward
    pass, returns those of the weights in pairs.
    """
    given = list(inputs)
    mine, other = ([x.detach().clone().requires_grad_() for x in given] for _ in range(2))
    x, y = ours(*mine), theirs(*other)
    upstream = torch.randn_like(x) / math.sqrt(x.numel())
    x.backward(upstream)
    y.backward(upstream)
    of_inputs = zip(map(gradient, mine), map(gradient, other), strict=True)
    return Deviation(
        largest_difference([(x, y)]), largest_difference([*of_inputs, *weight_gradients()])
    )


def compare_modules(
    ours: nn.Module,
    theirs: nn.Module,
    calls: tuple[Callable[..., Tensor], Callable[..., Tensor]],
    inputs: Iterable[Tensor] = (),
) -> Deviation:
    """`compare_functions` with the gradients of all parameters, which have the same names."""
    return compare_functions(*calls, inputs, lambda: gradient_pairs(ours, theirs))


def gradient(parameter: Tensor) -> Tensor:
    """The gradient of a tensor; zeros if it has none."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def named_gradients(
    ours: nn.Module, theirs: Mapping[str, Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """The gradient of each of our parameters with their gradient of the same name."""
    own = dict(ours.named_parameters())
    assert own.keys() == theirs.keys(), f"{sorted(own)} are not {sorted(theirs)}"
    for name, parameter in own.items():
        yield gradient(parameter), theirs[name]


def gradient_pairs(one: nn.Module, other: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """The gradients of two modules whose parameters have the same names."""
    yield from named_gradients(one, {n: gradient(p) for n, p in other.named_parameters()})


def randomize(module: nn.Module, dtype: torch.dtype = torch.float32) -> None:
    """Random values for all parameters, none of them exactly one or zero."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.05, std=0.3)
    module.to(dtype)
