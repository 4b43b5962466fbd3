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
# The shape walkthrough

A Transformer is a chain of tensors. To understand it, know for every tensor *which axes it has and
what each of them counts*. `trace` runs any module once and shows this for every operation, with the
names and sizes of the axes, and its formula.

The names are always the same:

| axis | counts |
| :--- | :--- |
| `batch` | sentences that are processed together |
| `src_len`, `tgt_len` | tokens of the source, of the target (`seq_len` where there is only one) |
| `d_model` | features of one token |
| `h`, `d_k` | heads, and the features of each of them: `d_model = h · d_k` |
| `d_ff` | features inside the feed-forward block |
| `vocab` | tokens of the vocabulary |
"""

# %%
import torch
from torch import Tensor, nn

from clearhead import build_transformer
from clearhead.blocks import (
    FeedForwardBlock,
    InputEmbeddings,
    LayerNormalization,
    MultiHeadAttentionBlock,
    PositionalEncoding,
    decoder_mask,
    padding_mask,
)
from clearhead.explain import trace

_ = torch.manual_seed(2017)

# %% [markdown]
# ## 1. From ids to vectors
#
# A batch of 32 sentences of 100 tokens each is a matrix of integers: `(batch, seq_len)`.
# The embedding looks up a vector for every id, which creates the axis `d_model`. The positional
# encoding then *adds* a table of sines and cosines. The table is made for the maximum length
# and a batch of 1, `(1, max_seq_len, d_model)`, so it is cut to the length of the sentences and
# broadcast over the batch.
#
# Expand the last row to see *broadcasting*, dimension by dimension. The 1 is expanded to 32,
# without a copy; the other two axes must be equal, and are.

# %%
ids = torch.randint(3, 1000, (32, 100))
front = nn.Sequential(InputEmbeddings(512, 1000), PositionalEncoding(512, 5000, 0.1)).eval()
trace(front, ids)

# %% [markdown]
# ## 2. Inside attention
#
# Follow `d_model` (green): three projections keep it, then a **view** splits it into `h` heads of
# `d_k` features, and a **transpose** moves the heads next to the batch, because the following
# operations run in every head separately:
#
# - `QKᵀ`: the sum runs over `d_k`, which disappears; the result is one score for every pair of
#   tokens, `(batch, h, seq_len, seq_len)`. This is why the cost of attention grows with the
#   *square* of the length.
# - The softmax runs over the last axis: for every query the weights of all keys sum to 1.
# - weights × V: the sum runs over the keys, and `d_k` is back.
#
# Then the same steps in reverse: transpose, concatenate the heads, project.
#
# Look at the column *bytes*: a view and a transpose take none. They only change how the same
# elements are indexed. (Concatenating the heads makes a copy: after a transpose the elements are
# not contiguous.)

# %%
x = torch.randn(2, 10, 512)
attention = MultiHeadAttentionBlock(512, 8, 0.1).eval()
trace(attention, x, x, x)

# %% [markdown]
# ### Two sequences
#
# In cross-attention the queries come from the target and the keys and values from the source.
# The scores are not square now: `(batch, h, tgt_len, src_len)`, a row for every target token, a
# column for every source token. The mask hides the padding of the source; it is the same for
# every head and every query, so two of its axes are 1.

# %%
target, memory = torch.randn(2, 7, 512), torch.randn(2, 10, 512)
source_ids = torch.randint(3, 1000, (2, 10))
source_ids[1, 6:] = 0  # the second sentence is shorter
trace(attention, target, memory, memory, padding_mask(source_ids, 0))

# %% [markdown]
# ## 3. Blocks that keep the shape
#
# The norm and the feed-forward block process every token separately: `batch` and `seq_len` stay
# unchanged. The mean in the norm has `keepdim=True`, so that its axis remains as a 1 and can be
# broadcast. With d_ff = 4 · d_model the feed-forward block has two thirds of the parameters of an
# encoder layer and, for short sequences, about as large a share of its FLOPs.

# %%
trace(nn.Sequential(LayerNormalization(512), FeedForwardBlock(512, 2048, 0.1)).eval(), x)

# %% [markdown]
# ## 4. The whole model
#
# One forward pass of training: source and target ids in, log-probabilities of every next token out.
# Equal layers are shown once. Expand any block; every row names the line of code that it comes
# from.

# %%
model = build_transformer(1000, 1200, 100, 100, d_model=64, N=3, h=4, d_ff=256).eval()
src, tgt = torch.randint(3, 1000, (2, 10)), torch.randint(3, 1200, (2, 7))
whole = trace(model, src, tgt, padding_mask(src, 0), decoder_mask(tgt, 0))
whole.root.arrow()

# %% [markdown]
# A trace is also data. Which operations take the most arithmetic?

# %%
for row in sorted(whole.rows(), key=lambda row: -row.flops)[:5]:
    print(f"{row.flops:>12,} FLOPs  {row.path}: {row.what}, {row.output}")

# %% [markdown]
# ## 5. Shape errors
#
# Most first versions of attention have a shape error, and torch's message is about `mat1` and
# `size of tensor a`. A trace does not raise: it ends at the error, and explains which axes differ,
# where both were created, and what was probably forgotten.


# %%
class MyAttention(nn.Module):
    """Attention with one mistake."""

    def __init__(self, d_model: int, h: int) -> None:
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)

    def split(self, x: Tensor) -> Tensor:
        """(batch, seq_len, d_model) -> (batch, h, seq_len, d_k)"""
        return x.view(x.shape[0], x.shape[1], self.h, self.d_k).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Self-attention."""
        query, key, value = (
            self.split(self.w_q(x)),
            self.split(self.w_k(x)),
            self.split(self.w_v(x)),
        )
        scores = query @ key / self.d_k**0.5
        return (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2)


trace(MyAttention(512, 8), x)

# %% [markdown]
# Ids of the wrong type are explained in the same way:

# %%
print(trace(front, torch.randn(32, 100)).mistake)

# %% [markdown]
# ### Mistakes that raise no error
#
# Worse is a mistake that fits by accident. If the heads are split without a transpose, every shape
# is right and every value is wrong: tokens and heads are mixed. Torch cannot detect this; the
# trace follows the axes by name and marks the row with ⚠.


# %%
class Shuffled(MyAttention):
    """The shapes are right, the values are not."""

    def split(self, x: Tensor) -> Tensor:
        """Reads (seq_len, d_model) row by row as (h, seq_len, d_k)."""
        return x.reshape(x.shape[0], self.h, x.shape[1], self.d_k)

    def forward(self, x: Tensor) -> Tensor:
        """Self-attention with mixed axes."""
        query, key, value = (
            self.split(self.w_q(x)),
            self.split(self.w_k(x)),
            self.split(self.w_v(x)),
        )
        scores = query @ key.transpose(-2, -1) / self.d_k**0.5
        return (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2)


shuffled = trace(Shuffled(512, 8), x)
for row in shuffled.rows():
    for doubt in row.doubts:
        print(f"⚠ {row.location.short if row.location else ''} {doubt}")

# %% [markdown]
# ## 6. Your own modules
#
# `trace(your_module, *its_inputs)` takes any `nn.Module`. Names come from your argument names
# (`src`, `x`, `mask` …), from your attributes (`self.h`, `self.num_heads` …) and from your own
# expressions. If your axes are others, give their names:

# %%
cells = torch.randn(4, 50, 16)
trace(nn.Linear(16, 3), cells, axes={"input": "batch cells genes"})
