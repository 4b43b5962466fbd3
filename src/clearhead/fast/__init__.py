"""The same computations, faster; each file is proved equal to the readable one it stands beside."""

from clearhead.fast.accelerate import accelerate
from clearhead.fast.dropout import CheapDropout
from clearhead.fast.flat_adam import FlatAdam
from clearhead.fast.loss import projected_cross_entropy
from clearhead.fast.normalization import FusedLayerNormalization

__all__ = [
    "CheapDropout",
    "FlatAdam",
    "FusedLayerNormalization",
    "accelerate",
    "projected_cross_entropy",
]
