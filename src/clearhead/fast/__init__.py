"""Faster leaf operations and optimizers for training, each tested against its formula."""

from clearhead.fast.accelerate import accelerate, fused_normalize, kernel_attention
from clearhead.fast.dropout import CheapDropout
from clearhead.fast.flat_muon import FlatMuon
from clearhead.fast.flat_optimizer import FlatAdam
from clearhead.fast.loss import projected_cross_entropy

__all__ = [
    "CheapDropout", "FlatAdam", "FlatMuon", "accelerate", "fused_normalize", "kernel_attention",
    "projected_cross_entropy",
]  # fmt: skip
