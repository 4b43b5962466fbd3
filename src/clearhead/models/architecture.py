"""A model as a tree: its modules, the shape of each weight, and the number of parameters."""

from collections.abc import Iterator

from torch import nn


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
