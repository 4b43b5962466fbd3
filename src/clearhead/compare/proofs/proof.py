"""A claim of equality, how it is tried, and what was found.

A proof is a function without arguments that returns a `Finding`; `Proof` says what was held
against what, and how far apart they may be. Sizes are asymmetric, so that an axis that is
taken for another one shows, and weights are random, so that none of them is a one or a zero.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

BOUND = {torch.float64: 1e-10, torch.float32: 1e-5}


@dataclass(frozen=True)
class Finding:
    """The largest difference of any number; `unlike` counts whole answers that are not the same."""

    outputs: float
    gradients: float | None = None  # None: the proof is about outputs
    unlike: int = 0
    note: str = ""

    def within(self, bound: float) -> bool:
        """NaN is within no bound."""
        return self.outputs <= bound and not self.unlike and (
            self.gradients is None or self.gradients <= bound
        )  # fmt: skip


@dataclass(frozen=True)
class Proof:
    """`ours` computes what `theirs` computes, up to `bound`; "≈" where it does so only nearly."""

    ours: str
    theirs: str
    precision: str
    bound: float
    find: Callable[[], Finding]
    sign: str = "="

    @property
    def claim(self) -> str:
        """In one line."""
        return f"{self.ours} {self.sign} {self.theirs}"


def in_both_precisions(
    ours: str, theirs: str, find: Callable[[torch.dtype], Finding]
) -> Iterator[Proof]:
    """In float64, where a formula shows, and in float32, where it is used."""
    for dtype, bound in BOUND.items():
        yield Proof(ours, theirs, str(dtype).removeprefix("torch."), bound, partial(find, dtype))


def largest(pairs: Iterable[tuple[Tensor, Tensor]]) -> float:
    """The largest difference of two numbers at the same place; NaN if one of them is."""
    found = 0.0
    for one, other in pairs:
        assert one.shape == other.shape, f"{tuple(one.shape)} is not {tuple(other.shape)}"
        difference = (one.detach().double() - other.detach().double()).abs()
        if difference.numel():
            found = max(found, float(difference.max()), key=lambda x: (math.isnan(x), x))
    return found


def worst(findings: Iterable[Finding]) -> Finding:
    """Of one claim under several circumstances."""
    every = list(findings)
    trained = [f.gradients for f in every if f.gradients is not None]
    return Finding(
        _largest_of([finding.outputs for finding in every]),
        _largest_of(trained) if trained else None,
        sum(finding.unlike for finding in every),
        every[0].note,
    )


def _largest_of(numbers: list[float]) -> float:
    return max(numbers, key=lambda x: (math.isnan(x), x))


def side_by_side(
    ours: Callable[..., Tensor],
    theirs: Callable[..., Tensor],
    inputs: Iterable[Tensor],
    gradients: Callable[[], Iterable[tuple[Tensor, Tensor]]],
) -> Finding:
    """Run both on the same inputs, then one gradient backwards through both.

    `gradients` is asked afterwards for those of the weights, in pairs; those of the inputs are
    always compared. In the loss no two outputs count the same.
    """
    given = list(inputs)
    mine, other = ([x.detach().clone().requires_grad_() for x in given] for _ in range(2))
    x, y = ours(*mine), theirs(*other)
    upstream = torch.randn_like(x) / math.sqrt(x.numel())
    x.backward(upstream)
    y.backward(upstream)
    reached = zip(map(gradient, mine), map(gradient, other), strict=True)
    return Finding(largest([(x, y)]), largest([*reached, *gradients()]))


def gradient(parameter: Tensor) -> Tensor:
    """What reached a tensor; whatever nothing reached has a gradient of 0."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def named_gradients(
    ours: nn.Module, theirs: Mapping[str, Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Each of our parameters' with the one of the same name."""
    own = dict(ours.named_parameters())
    assert own.keys() == theirs.keys(), f"{sorted(own)} are not {sorted(theirs)}"
    for name, parameter in own.items():
        yield gradient(parameter), theirs[name]


def gradient_pairs(one: nn.Module, other: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Of two modules whose parameters have the same names."""
    yield from named_gradients(one, {n: gradient(p) for n, p in other.named_parameters()})


def scramble(module: nn.Module, dtype: torch.dtype = torch.float32) -> None:
    """Weights without any symmetry: no ones, no zeros."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.05, std=0.3)
    module.to(dtype)
