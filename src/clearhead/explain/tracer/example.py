"""Something to trace: a model of given sizes, and one batch for it."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from clearhead.blocks import look_ahead_mask
from clearhead.explain.tracer.tracing import Trace, trace
from clearhead.models import Transformer, TransformerConfig

# Up to here a pass over weights that were never written takes a moment.
_FEW_TOKENS = 2048


class _NotDrawn(TorchFunctionMode):
    """Weights are made but not drawn: a shape needs no numbers."""

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


def trace_sizes(config: TransformerConfig, batch: int, src_len: int, tgt_len: int) -> Trace:
    """One pass of training in these sizes, without weights that mean anything.

    A large batch goes through torch's meta device, which computes shapes and no numbers;
    a small one does not, for loading what that device stands on takes longer than the rest.
    """
    few = batch * (src_len + tgt_len) <= _FEW_TOKENS
    # A device that is named is asked about at every operation, which takes a fifth of the time.
    with nullcontext() if few else torch.device("meta"), torch.inference_mode():
        with _NotDrawn():
            model = Transformer.from_config(config).eval()
        src, tgt, masks = _inputs(batch, src_len, tgt_len)
        return trace(model, src, tgt, *masks)


def _inputs(batch: int, src_len: int, tgt_len: int) -> tuple[Tensor, Tensor, list[Tensor]]:
    src = torch.zeros(batch, src_len, dtype=torch.long)
    tgt = torch.zeros(batch, tgt_len, dtype=torch.long)
    src_mask = torch.ones(batch, 1, 1, src_len, dtype=torch.bool)
    tgt_mask = look_ahead_mask(tgt_len).expand(batch, 1, tgt_len, tgt_len)
    return src, tgt, [src_mask, tgt_mask]
