"""A model is judged as it is used: without dropout, without gradients."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def in_peace(model: nn.Module) -> Iterator[None]:
    """Within, the model is in eval mode and no gradient is kept; its mode is put back."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)
