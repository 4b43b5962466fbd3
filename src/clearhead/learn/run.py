"""What a probe works with: the answer's names, seeded inputs, and a record of what is seen."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from clearhead.learn import adopt

Names = Mapping[str, Any]
LAW = "law: "
UNCHANGED = LAW + "the inputs are left unchanged"
TRAINED = "the gradient reaches every parameter"
EPSILON_ALONE, FEATURES_FIRST = "epsilon alone", "features first"
DETERMINISTIC = LAW + "in evaluation mode the same input gives the same output"
DRAWN = LAW + "two calls with the same input give the same result"
EITHER_WEIGHTS = "weights before or after dropout"
# Blocks that need no width, and that the tutorials give `features` as a first argument.
HAS_FEATURES = (
    "ResidualConnection", "PostNormResidualConnection", "EncoderBlock", "DecoderBlock", "Encoder",
    "Decoder",
)  # fmt: skip


def may_adapt(name: str) -> bool:
    """Whether the reference may do without it: a bias, a vector that is a single number, a form."""
    forms = (EPSILON_ALONE, FEATURES_FIRST, EITHER_WEIGHTS)
    return name.endswith(("bias", adopt.FIRST)) or name in forms


class Missing(LookupError):
    """The answer does not define what the exercise needs; the message says what it has."""


@dataclass(frozen=True)
class Probe:
    """A function that records what it sees of an answer, and the sizes that it is run on."""

    run: Callable[["Run"], None]
    cases: tuple[Mapping[str, int], ...]


PROBES: dict[str, Probe] = {}


Observer: TypeAlias = Callable[["Run"], None]
Adapted: TypeAlias = frozenset[str]  # what the reference does as the answer does it


def probe(*cases: Mapping[str, int]) -> Callable[[Observer], Observer]:
    """Register a probe under its function's name."""

    def register(function: Observer) -> Observer:
        PROBES[function.__name__] = Probe(function, cases or ({},))
        return function

    return register


class Run:
    """One run of one answer on the sizes of one case.

    `seen` collects what the probe observes. A learner's block is filled with seeded
    weights: `order` selects one of the possible assignments, and `ways` is how many
    there are. `adapted` collects what the reference has to do alike: biases that the block
    does not have, vectors that are a single number, other arguments of the constructor.
    `given`: the exercise gives the code around what it asks for, and other forms of it will do.
    """

    def __init__(
        self, answer: Names, reference: Names, sizes: Mapping[str, int],
        dtype: torch.dtype = torch.float32, order: int = 0, adapted: Adapted = frozenset(),
        given: bool = False,
    ) -> None:  # fmt: skip
        self.answer, self.reference, self.sizes, self.given = answer, reference, sizes, given
        self.dtype, self.order, self.adapted = dtype, order, set(adapted)
        self.seen: dict[str, Any] = {}
        self.ways = 1
        self.last_call: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
        self._draws = 0
        # The block that was filled last, and the parameters that were given weights.
        self._assigned: tuple[nn.Module | None, list[nn.Parameter]] = (None, [])

    def __getattr__(self, name: str) -> int:
        """The sizes of the case: `run.batch`, `run.h`."""
        try:
            return self.sizes[name]
        except KeyError:
            raise AttributeError(name) from None

    def get(self, name: str) -> Any:
        """What the answer calls `name`.

        Raises:
            Missing: it defines no such thing.
        """
        if name in self.answer:
            return self.answer[name]
        found = [n for n, v in self.answer.items() if _is_own(n, v)]
        raise Missing(f"expected a definition of {name}; found {', '.join(found) or 'none'}")

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Seeded normal numbers, the same for every answer."""
        draw = torch.randn(shape, generator=self._generator(), dtype=torch.float64)
        return (draw * scale).to(torch.float32).to(self.dtype)

    def ids(self, *shape: int, high: int, low: int = 0) -> Tensor:
        """Seeded integers from `low` to `high` - 1."""
        return torch.randint(low, high, shape, generator=self._generator())

    def _generator(self) -> torch.Generator:
        self._draws += 1
        return torch.Generator().manual_seed(1000 * self._draws + sum(self.sizes.values()))

    def block(self, name: str, *args: Any, training: bool = False) -> nn.Module:
        """The answer's block, built with these arguments and filled with seeded weights."""
        given = {id(p) for a in args if isinstance(a, nn.Module) for p in a.parameters()}
        args = self.call_form(name, args)
        state = self._state(name, args, given)
        block: nn.Module = self.get(name)(*args)
        if state:
            own = {n: p for n, p in block.named_parameters() if id(p) not in given}
            ways = adopt.ways(own, state)
            self.ways = max(self.ways, len(ways))
            way = ways[self.order % len(ways)]
            self.adapted |= way.adapted(own, state)
            adopt.fill(own, state, way)
            self._assigned = block, [own[n] for slot in way.parts for n in way.slots[slot]]
        return block.to(self.dtype).train(training)

    def call_form(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as the answer's constructor takes them; the sources write three forms.

        `LayerNormalization(eps)` has no features, and the tutorials' `EncoderBlock(features, …)`
        has them first. The reference takes both forms.
        """
        found = list(inspect.signature(self.get(name).__init__).parameters)[1:]
        if name == "LayerNormalization" and len(found) == 1 and "eps" in found[0]:
            self.adapted.add(EPSILON_ALONE)
        elif name in HAS_FEATURES and found[:1] == ["features"]:
            self.adapted.add(FEATURES_FIRST)
        if EPSILON_ALONE in self.adapted:
            return args[1:]
        return (self.d_model, *args) if FEATURES_FIRST in self.adapted else args

    def filled(self, module: nn.Module) -> nn.Module:
        """A module of the library with seeded weights, to be given to the answer's block."""
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(self._weights(parameter.shape))
        return module.to(self.dtype).eval()

    def _state(self, name: str, args: tuple[Any, ...], given: set[int]) -> dict[str, Tensor]:
        """Seeded weights for the reference's own parameters, without those of its arguments."""
        block: nn.Module = self.reference[name](*args)
        shapes = {n: p.shape for n, p in block.named_parameters() if id(p) not in given}
        return {n: self._simplified(n, self._weights(shape)) for n, shape in shapes.items()}

    def _simplified(self, name: str, weights: Tensor) -> Tensor:
        if name in self.adapted:
            return torch.zeros_like(weights)
        return weights[:1].expand_as(weights) if name + adopt.FIRST in self.adapted else weights

    def _weights(self, shape: torch.Size) -> Tensor:
        """Around 0; a single number, as the alpha of a norm, around 1."""
        return self.normal(*shape, scale=0.4) + float(shape == (1,))

    def see(self, name: str, function: Callable[..., Any], *inputs: Any) -> Any:
        """Call the answer, and record its output, its gradients, and what it did to its inputs."""
        self.last_call = (function, inputs)
        leaves = [_leaf(value) for value in inputs]
        given = [leaf * 1 if _has_gradient(leaf) else leaf for leaf in leaves]
        torch.default_generator.manual_seed(0)  # torch.manual_seed also visits every device
        output = function(*given)
        self.last_call = None
        result = detached(output)
        self.seen[name] = result
        same = all(_equal(a, b) for a, b in zip(given, inputs, strict=True))
        self.seen[UNCHANGED] = self.seen.get(UNCHANGED, True) and same
        outputs = [o for o in flat(output) if _has_gradient(o)]
        if function is self._assigned[0]:
            self._trained(outputs)
        self._gradients(name, outputs, [leaf for leaf in leaves if _has_gradient(leaf)])
        if isinstance(function, nn.Module) and not function.training:
            with torch.no_grad():
                again = detached(function(*[_leaf(value) for value in inputs]))
            repeats = self.seen.get(DETERMINISTIC, True) and _equal(again, result)
            self.seen[DETERMINISTIC] = repeats
        return result

    def _gradients(self, name: str, outputs: list[Any], wanted: list[Any]) -> None:
        if not wanted:
            return
        if not outputs:
            self.seen[f"gradient of {name}"] = "none: the output does not depend on the inputs"
            return
        generator = torch.Generator().manual_seed(7)
        weights = [torch.randn(o.shape, generator=generator, dtype=torch.float64) for o in outputs]
        total = sum((o * w.to(o.dtype)).sum() for o, w in zip(outputs, weights, strict=True))
        assert isinstance(total, Tensor)
        gradients = torch.autograd.grad(total, wanted, allow_unused=True)
        found = zip(gradients, wanted, strict=True)
        parts = [(torch.zeros_like(leaf) if g is None else g) for g, leaf in found]
        self.seen[f"gradient of {name}"] = tuple(detached(part) for part in parts)

    def _trained(self, outputs: list[Any]) -> None:
        """The law that every parameter that was given a weight receives a gradient."""
        parameters = self._assigned[1]
        found: tuple[Tensor | None, ...] = (None,) * len(parameters)
        if outputs:
            ones = [torch.ones_like(o) for o in outputs]
            found = torch.autograd.grad(outputs, parameters, ones, True, allow_unused=True)
        missing = sum(gradient is None for gradient in found)
        self.law(TRAINED, not missing, f"{missing} of {len(found)} receive none")

    def law(self, name: str, holds: bool, detail: str = "") -> None:
        """Record whether a law holds; `detail` says what was found instead."""
        if self.seen.get(LAW + name, True) is True:
            self.seen[LAW + name] = True if holds else detail or False


def detached(value: Any) -> Any:
    """A copy without gradients."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return tuple(detached(v) for v in value)
    return value


def flat(value: Any) -> list[Any]:
    """The leaves of nested tuples."""
    return [x for v in value for x in flat(v)] if isinstance(value, list | tuple) else [value]


def _leaf(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.is_floating_point())
    return value


def _has_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.shape == b.shape and torch.allclose(a.detach(), b.detach(), equal_nan=True)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return True if callable(a) or isinstance(a, Tensor) else bool(a == b)


def _is_own(name: str, value: Any) -> bool:
    """Defined by the answer itself, not imported."""
    return not name.startswith("_") and getattr(value, "__module__", "") in ("answer", "__main__")
