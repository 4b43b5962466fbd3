"""Predict a normalized vector: the library computes the answers."""

import torch

from clearhead.blocks import LayerNormalization

x = torch.tensor([1.0, 0.0, 0.0, 0.0])
ours = LayerNormalization(4, 0.0)(x).detach()
torchs = torch.nn.functional.layer_norm(x, (4,), eps=0.0)

# 1. The first element with the unbiased deviation (the block of this course):
with_unbiased_deviation = ours[0].item()
# 2. The first element with the biased deviation (torch.nn.LayerNorm):
with_biased_deviation = torchs[0].item()
