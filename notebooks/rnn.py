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

"RNNs are slow, they forget, they lose their gradient." Everybody says so. Here it is measured,
on your machine, with recurrent translators that have as many parameters as the Transformer
beside them and learn from the same data. Where an RNN wins, you will see that, too.

The whole study is one command, about ten minutes on two cores:

    clearhead compare rnn -o report

This notebook walks through its parts in small.
"""

# %%
import os

import torch

from clearhead.compare.rnn.bahdanau import BahdanauAttention
from clearhead.compare.rnn.entrants import NAMES, make, sizes
from clearhead.compare.rnn.gradients import gradient_by_distance
from clearhead.compare.rnn.numbers import Gradients
from clearhead.compare.rnn.pictures import gradient_picture, wall_picture, writing_picture
from clearhead.compare.rnn.study import sizes_of
from clearhead.compare.rnn.wall import measure_wall
from clearhead.compare.rnn.writing import measure_writing

FAST = bool(os.environ.get("CLEARHEAD_FAST"))  # when a test runs this notebook
config = sizes_of(d_model=48 if FAST else 128, h=3 if FAST else 4, layers=1, vocabulary=400)

# %% [markdown]
# ## 1. A fair match
#
# An RNN reads word after word and keeps a *state*. How wide? So wide that the number of
# parameters is that of the Transformer, within 2 %. Attention costs parameters: beside it the
# state must be narrower.

# %%
for name, size in sizes(config):
    print(f"{name:18} state {size.hidden:4} wide, {size.parameters:>9,} parameters")

# %% [markdown]
# ## 2. The sequential wall
#
# The same number of tokens in every batch, cut into longer and longer sentences. For the
# Transformer little changes. An RNN needs the state of word 99 before it can read word 100: so
# many steps in a row, with fewer and fewer sentences to share each of them.

# %%
lengths = [8, 16] if FAST else [16, 64, 256]
wall = measure_wall(config, lengths, 64 if FAST else 1024, (1, 30.0), print)
wall_picture(wall)

# %% [markdown]
# ## 3. The gradient on its way back
#
# How strongly does the first word that is written hang on a source word so many places back?
# Without attention the answer passes through every step in between, and every step multiplies.
# With attention there is a short way: look at the lines that do not fall.

# %%
longest = 24 if FAST else 256
norms = {name: gradient_by_distance(make(name, config, 1), longest, 3, seed=1) for name in NAMES}
gradient_picture(Gradients(list(range(1, longest + 1)), norms))

# %% [markdown]
# ## 4. The way out, found in 2014
#
# Bahdanau, Cho and Bengio let the decoder *look back* at the source: a small network compares
# the state with every source word, a softmax makes shares of the answers. Padding gets nothing,
# and the shares sum to 1. What is missing for a Transformer is to throw the RNN away.

# %%
torch.manual_seed(2014)
attention = BahdanauAttention(hidden=6)
query, values = torch.randn(2, 6), torch.randn(2, 5, 6)
mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
_, weights = attention(query, attention.keys(values), values, mask)
print(weights.detach().numpy().round(2), weights.sum(-1).tolist())

# %% [markdown]
# ## 5. What an RNN carries
#
# While it writes, a Transformer keeps a key and a value of every word it has written. An RNN
# keeps one state, however long the text becomes.

# %%
writing = measure_writing(config, lengths, 1, print)
writing_picture(writing)
