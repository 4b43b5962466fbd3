"""Predict the size of a model and of its cache: PyTorch computes the answers."""

import torch

LAYERS, HEADS, D_K, LENGTH = 6, 8, 64, 100
one_key = torch.empty(HEADS, D_K)
one_layer = torch.empty(2, LENGTH, HEADS, D_K)  # keys and values
matrix = torch.empty(512, 2048)


def size_in_bytes(tensor: torch.Tensor) -> int:
    """How much memory the elements take."""
    return tensor.numel() * tensor.element_size()


# 1. Bytes of a (512, 2048) matrix in float32:
bytes_in_float32 = size_in_bytes(matrix)
# 2. The same in int8:
bytes_in_int8 = size_in_bytes(matrix.to(torch.int8))
# 3. Bytes of the self-attention's cache (keys and values, float32) for one sentence of 100
#    tokens, 6 decoder layers, 8 heads, d_k = 64:
bytes_of_the_cache = LAYERS * size_in_bytes(one_layer)
