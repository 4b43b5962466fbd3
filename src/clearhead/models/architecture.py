"""A model as a tree of modules: printed, with shapes and parameters, and compared with another."""

import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode

from clearhead.fast.dropout import CheapDropout

logger = logging.getLogger(__name__)
# What a module computes with, beside its weights and the modules in it.
SETTINGS = ("d_model", "h", "eps", "activation", "max_norm")


class Uninitialized(TorchFunctionMode):
    """Within, weights are allocated but not initialized: a shape needs no values."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if getattr(func, "__name__", "") in ("normal_", "uniform_", "kaiming_uniform_"):
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


def difference(model: nn.Module, expected: nn.Module) -> str:
    """The first part of a model that computes something else than in `expected`; empty if none.

    Names, classes, settings and shapes are compared, weights are not. Heads are left out: they
    read hidden states. `CheapDropout` counts as the dropout that it replaces.
    """
    found, wanted = _named_parts(model), _named_parts(expected)
    for name, module in found.items():
        if other := _other(module, wanted.get(name)):
            return f"{name}{other}"
    return next((f"{name} is missing" for name in wanted if name not in found), "")


def warn_of_difference(model: nn.Module, described: nn.Module, advice: str) -> None:
    """Log that config.json does not describe a part of the model, once for each difference."""
    if part := difference(model, described):
        _warn(f"{part}, and config.json does not say so: {advice}")


@cache
def _warn(message: str) -> None:
    """Once, since training saves often."""
    logger.warning(message)


def _named_parts(model: nn.Module) -> dict[str, nn.Module]:
    parts = {name: module for name, module in model.named_modules() if name}
    return {name: module for name, module in parts.items() if name.split(".")[0] != "heads"}


def _other(module: nn.Module, wanted: nn.Module | None) -> str:
    """What is different, to be read after the module's name; empty if nothing is."""
    kind = nn.Dropout if type(module) is CheapDropout else type(module)
    if wanted is None:
        return f", a {kind.__name__}, is not part of the library's model"
    if kind is not type(wanted):
        return f" is a {kind.__name__}, not the {type(wanted).__name__} of the library's model"
    for setting in SETTINGS:
        value, own = getattr(wanted, setting, None), getattr(module, setting, None)
        if own != value:
            shown = [getattr(one, "__name__", one) for one in (own, value)]
            return f" has {setting}={shown[0]}, not {shown[1]}"
    shapes = {name: tuple(weight.shape) for name, weight in wanted.named_parameters(recurse=False)}
    for name, weight in module.named_parameters(recurse=False):
        if tuple(weight.shape) not in (shapes.get(name), (1,)):  # a norm may have one alpha in all
            return f".{name} has shape {tuple(weight.shape)}, not {shapes.get(name)}"
    return ""


def tree(model: nn.Module) -> str:
    """The architecture, one line a module; equal neighbours are folded into one line.

    A matrix that is part of an earlier line is marked as shared; the total counts it once.
    """
    total = count_parameters(model)
    lines = [f"{type(model).__name__} · {total:,} parameters", *_branches(model, "", set())]
    return "\n".join(lines)


def count_parameters(model: nn.Module) -> int:
    """The number of learned parameters; a shared matrix counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _branches(module: nn.Module, indent: str, seen: set[nn.Parameter]) -> Iterator[str]:
    groups = _folded(module)
    for position, (name, child, times) in enumerate(groups):
        last = position == len(groups) - 1
        yield f"{indent}{'└─' if last else '├─'} {_line(name, child, times, seen)}"
        yield from _branches(child, indent + ("   " if last else "│  "), seen)


def _line(name: str, module: nn.Module, times: int, seen: set[nn.Parameter]) -> str:
    kind = f"{times} × {type(module).__name__}" if times > 1 else type(module).__name__
    held = list(module.named_parameters(recurse=False))
    own = [f"{key} {tuple(p.shape)}{' (shared)' if p in seen else ''}" for key, p in held]
    seen.update(p for _, p in held)
    count = sum(parameter.numel() for parameter in module.parameters())
    numbers = f" · {count:,}" + (" each" if times > 1 else "") if count else ""
    return f"{name}: {kind}" + (f" {', '.join(own)}" if own else "") + numbers


def _folded(module: nn.Module) -> list[tuple[str, nn.Module, int]]:
    groups: list[tuple[str, nn.Module, int]] = []
    looks: list[str] = []
    for name, child in module.named_children():
        if isinstance(child, nn.Dropout | nn.Identity):
            continue
        look = _look(child)
        if looks and looks[-1] == look and name.isdigit():
            first, example, times = groups[-1]
            groups[-1] = (f"{first.split(' ')[0]} … {name}", example, times + 1)
        else:
            groups.append((name, child, 1))
            looks.append(look)
    return groups


def _look(module: nn.Module) -> str:
    shapes = [(name, tuple(p.shape)) for name, p in module.named_parameters()]
    return f"{type(module).__name__} {shapes}"
