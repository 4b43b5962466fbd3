# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
"""
# Before the Transformer: RNNs, measured

"RNNs are slow, they forget, their gradients vanish." This notebook measures it on your machine,
with recurrent translators that have as many parameters as the Transformer and train on the same
data. It also shows where an RNN is better.

The whole study is one command, about ten minutes on two cores:

    clearhead compare rnn -o report

This notebook runs its parts at a small scale.
"""

# %%
import os

import torch

from clearhead.compare.rnn.costs import measure_decoding_cost, measure_step_cost
from clearhead.compare.rnn.findings import Gradients
from clearhead.compare.rnn.layers import BahdanauAttention
from clearhead.compare.rnn.long_range import gradient_by_distance
from clearhead.compare.rnn.plots import decoding_plot, gradient_plot, step_plot
from clearhead.compare.rnn.study import study_config
from clearhead.compare.rnn.translator import NAMES, make_model, model_sizes

FAST = bool(os.environ.get("CLEARHEAD_FAST"))  # when a test runs this notebook
config = study_config(d_model=48 if FAST else 128, h=3 if FAST else 4, layers=1, vocabulary=400)

# %% [markdown]
# ## 1. Equal numbers of parameters
#
# An RNN reads one token after the other and keeps a *state*. Its width is chosen so that the
# number of parameters equals the Transformer's within 2 %. Attention has parameters of its own, so
# a model with attention has a narrower state.

# %%
for name, size in model_sizes(config):
    print(f"{name:18} state of width {size.hidden:4}, {size.parameters:>9,} parameters")

# %% [markdown]
# ## 2. Sequential computation
#
# Every batch has the same number of tokens, divided into longer and longer sentences. The
# Transformer processes all tokens in parallel; only its attention grows with the length. An RNN
# needs the state of token 99 before it can read token 100, so longer sentences mean more sequential
# steps, each shared by fewer sentences. Which of the lines rise on your machine? Torch computes a
# whole sequence of a plain LSTM or GRU in one operation; a decoder with attention takes one step at
# a time.

# %%
lengths = [8, 16] if FAST else [16, 64, 256]
step_cost = measure_step_cost(config, lengths, 64 if FAST else 1024, (1, 30.0), print)
step_plot(step_cost)

# %% [markdown]
# ## 3. Vanishing gradients
#
# How strongly does the first output depend on a source token at a given distance? Without
# attention the gradient passes through every step in between, and each step multiplies it by a
# matrix, the derivative of the new state with respect to the old one. If these matrices shrink
# vectors, the gradient falls exponentially with the distance. Attention provides a direct path: the
# lines of the RNNs with attention fall at first, then level off; the Transformer's line stays
# level.

# %%
longest = 24 if FAST else 256
models = {name: make_model(name, config, seed=1) for name in NAMES}
norms = {name: gradient_by_distance(models[name], longest, 3, seed=1) for name in NAMES}
gradient_plot(Gradients(list(range(1, longest + 1)), norms))

# %% [markdown]
# ## 4. Attention, 2014
#
# Bahdanau, Cho and Bengio let the decoder *attend* to the source: a small network scores every
# source token against the state, and a softmax turns the scores into weights. Padding gets weight
# 0, and the weights sum to 1. The Transformer keeps attention and removes the RNN.

# %%
torch.manual_seed(2014)
attention = BahdanauAttention(hidden=6)
query, values = torch.randn(2, 6), torch.randn(2, 5, 6)
mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
_, weights = attention(query, attention.keys(values), values, mask)
print(weights.detach().numpy().round(2), weights.sum(-1).tolist())

# %% [markdown]
# ## 5. Memory in decoding
#
# While decoding, a Transformer keeps a key and a value of every token so far in every layer. An RNN
# keeps one state of constant size; with attention it also keeps the keys and values of the source,
# whose number stays the same during decoding.

# %%
decoding_cost = measure_decoding_cost(config, lengths, 1, print)
decoding_plot(decoding_cost)
