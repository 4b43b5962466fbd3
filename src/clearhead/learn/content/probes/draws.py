"""How many elements a block draws at random: one for each element to which it applies dropout."""

from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from clearhead.learn.run import Run

ELEMENTS = "elements to which dropout is applied in training"


class _Draws(TorchDispatchMode):
    """Counts what every random operation of PyTorch returns, whoever calls it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.elements = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **kwargs or {})
        if torch.Tag.nondeterministic_seeded in func.tags and isinstance(result, torch.Tensor):
            self.elements += result.numel()
        return result


def see_draws(run: Run, block: nn.Module, *inputs: Any) -> None:
    """Record how many elements one call in training draws; the block's dropout rate is 0.5.

    Rates of 0 and 1 do not show a second dropout behind the first one, or one on other elements
    that have no effect of their own.
    """
    with torch.no_grad(), _Draws() as draws:
        output = block(*inputs)
    run.seen[ELEMENTS] = None if output is None else draws.elements
