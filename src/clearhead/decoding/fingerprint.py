"""Has a model changed since its weights were prepared for writing?"""

import torch
from torch import Tensor, nn

Fingerprint = tuple[tuple[type, ...], tuple[tuple[int, int], ...], tuple[float, ...]]


@torch.no_grad()
def fingerprint(model: nn.Module) -> Fingerprint:
    """Different whenever a module was exchanged or weights were written to.

    Torch counts what is written in place, but its fused optimisers do not tell it. So one
    number of every parameter is looked at as well: an optimiser's step changes some of them.
    """
    parameters = list(model.parameters())
    kinds = tuple(type(module) for module in model.modules())
    written = tuple((p.data_ptr(), p._version) for p in parameters)
    samples = torch.stack([_last(p) for p in parameters]).tolist() if parameters else []
    return kinds, written, tuple(samples)


def _last(parameter: Tensor) -> Tensor:
    """Its last number; the first row of a table is often the padding's, which never learns."""
    return parameter[(-1,) * parameter.dim()].float()
