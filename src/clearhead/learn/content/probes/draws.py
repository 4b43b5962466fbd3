"""What dropout does in a learner's block, which need not use `nn.Dropout`."""

from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from clearhead.learn.run import Run

ELEMENTS = "elements to which dropout is applied in training"
UNBIASED = "on average over dropout the output in training is the output in evaluation"
# Drops everything, as a rate of 1 does. With 1 itself `x * kept / (1 - p)` is 0 / 0.
EVERYTHING = 1.0 - 2.0**-30
COPIES = 400


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


def see_mean(run: Run, block: nn.Module, *inputs: Any) -> None:
    """The law that dropout is unbiased, for a block whose output is linear in what is kept.

    One call with many copies of the batch is many draws. Their mean is compared with the output
    in evaluation, in units of the mean's standard error.
    """
    many = [v.repeat_interleave(COPIES, 0) if isinstance(v, torch.Tensor) else v for v in inputs]
    with torch.no_grad():
        draws, expected = block.train()(*many), block.eval()(*inputs)
    if not isinstance(expected, torch.Tensor) or draws.shape != (len(many[0]), *expected.shape[1:]):
        return
    draws = draws.unflatten(0, (-1, COPIES))
    errors = (draws.mean(1) - expected) / (draws.std(1) / COPIES**0.5 + 1e-4 * expected.std())
    run.law(UNBIASED, bool((errors.abs() < 6).all()), "it is not; divide what is kept by 1 - p")
