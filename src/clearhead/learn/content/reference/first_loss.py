"""Predict the loss of an untrained model: PyTorch computes the answers."""

import torch

VOCABULARY = 8000
uniform = torch.full((1, VOCABULARY), 1 / VOCABULARY)
loss = torch.nn.functional.nll_loss(uniform.log(), torch.tensor([5]))

# A model that has learned nothing gives every one of 8,000 tokens the same probability.
# 1. Its loss, the negative natural logarithm of the right token's probability:
loss_of_uniform = loss.item()
# 2. Its perplexity, exp(loss):
perplexity_of_uniform = loss.exp().item()
