"""Parameters that are not learned: in bfloat16 they are rounded copies, too, of what is kept."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


class Frozen:
    """A model's parameters that need no gradient; the optimiser does not know of them."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self.parameters = [p for p in model.parameters() if not p.requires_grad]
        self.exact = [p.data for p in self.parameters]
        self.working = [values.to(dtype) for values in self.exact]
        self._point_at(self.working)

    @contextmanager
    def masters(self) -> Iterator[None]:
        """Within, the model holds them as they were given."""
        self._point_at(self.exact)
        try:
            yield
        finally:
            self._point_at(self.working)

    def _point_at(self, values: list[torch.Tensor]) -> None:
        for parameter, value in zip(self.parameters, values, strict=True):
            parameter.data = value
