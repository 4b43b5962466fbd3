"""Predict parameter counts of multi-head attention: the library computes the answers."""

from torch import nn

from clearhead.blocks import MultiHeadAttentionBlock


def count(block: nn.Module) -> int:
    """The number of parameters of a block."""
    return sum(parameter.numel() for parameter in block.parameters())


eight_heads = MultiHeadAttentionBlock(64, 8, 0.1)
one_head = MultiHeadAttentionBlock(64, 1, 0.1)
without_bias = MultiHeadAttentionBlock(64, 8, 0.1, bias=False)

# 1. d_model = 64, 8 heads:
parameters_of_eight_heads = count(eight_heads)
# 2. d_model = 64, 1 head:
parameters_of_one_head = count(one_head)
# 3. d_model = 64, 8 heads, no biases:
parameters_without_bias = count(without_bias)
