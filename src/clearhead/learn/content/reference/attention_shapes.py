"""Predict shapes of attention: the library computes the answers."""

import torch

from clearhead.blocks import SelfAttention, scaled_dot_product_attention

# Queries: 2 sentences, 3 positions, d_k = 8. Keys and values: 5 positions, values of width 6.
queries, keys, values = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 6)
output, weights = scaled_dot_product_attention(queries, keys, values)

# 1. The shape of the weights:
shape_of_weights = tuple(weights.shape)
# 2. The shape of the output:
shape_of_output = tuple(output.shape)

# SelfAttention(16) is given one sentence of 7 tokens.
_, own_weights = SelfAttention(16)(torch.randn(1, 7, 16))

# 3. The shape of its weights:
shape_of_own_weights = tuple(own_weights.shape)
