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

A Transformer is a chain of tensors. Whoever can say, at every link, *which axes the tensor
has and what each of them counts*, understands the machine. This notebook lets the machine
say it itself: `trace` runs any module once and writes down every operation, with the axes by
name and by number.

The names are always the same few:

| axis | counts |
| :--- | :--- |
| `batch` | sentences that are computed together |
| `src_len`, `tgt_len` | tokens of the source, of the target (`seq_len` where there is only one) |
| `d_model` | numbers that describe one token |
| `h`, `d_k` | heads, and the numbers that each of them gets: `d_model = h · d_k` |
| `d_ff` | the wide space inside the feed-forward block |
| `vocab` | words that can be read or said |
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

torch.manual_seed(2017)

# %% [markdown]
# ## 1. From ids to vectors
#
# A batch of 32 sentences, 100 tokens each, is a table of whole numbers: `(batch, seq_len)`.
# The embedding looks every id up in a table of vectors, and an axis appears that was not there
# before: `d_model`. The positional encoding then *adds* a table of waves. Its table is made for
# the longest sentence and for no batch at all, `(1, max_seq_len, d_model)`, so it is cut to the
# sentence and laid over every sentence of the batch.
#
# Unfold the last row: *broadcasting* is shown there, dimension by dimension. The 1 is stretched
# to 32, without a copy; the other two axes must be equal, and are.

# %%
ids = torch.randint(3, 1000, (32, 100))
front = nn.Sequential(InputEmbeddings(512, 1000), PositionalEncoding(512, 5000, 0.1)).eval()
trace(front, ids)

# %% [markdown]
# ## 2. Inside attention
#
# Here the axes dance. Follow `d_model` (green): three projections keep it, then a **view** cuts
# it into `h` heads of `d_k` numbers, and a **transpose** puts the heads beside the batch, for
# what happens now happens in every head alone:
#
# - `QKᵀ`: the sum runs over `d_k`, which disappears; what stays is one score for every pair of
#   tokens, `(batch, h, seq_len, seq_len)`. This is why attention costs the *square* of the length.
# - the softmax runs over the last axis: for every query the weights of all keys sum to 1.
# - weights × V: this time the sum runs over the keys, and `d_k` is back.
#
# Then the same way back: transpose, join the heads, project.
#
# Look at the column *bytes*: a view and a transpose take none. They only say how the same numbers
# are to be read. (Joining the heads does cost: after a transpose the numbers do not lie in order.)

# %%
x = torch.randn(2, 10, 512)
attention = MultiHeadAttentionBlock(512, 8, 0.1).eval()
trace(attention, x, x, x)

# %% [markdown]
# ### Two sequences
#
# In cross-attention the queries come from the target and the keys and values from the source.
# The scores are now no square: `(batch, h, tgt_len, src_len)`, a row for every word that is
# written, a column for every word that was read. The mask hides the filling of the source; it
# says the same for every head and every query, so two of its axes are 1.

# %%
target, memory = torch.randn(2, 7, 512), torch.randn(2, 10, 512)
source_ids = torch.randint(3, 1000, (2, 10))
source_ids[1, 6:] = 0  # the second sentence is shorter
trace(attention, target, memory, memory, padding_mask(source_ids, 0))

# %% [markdown]
# ## 3. Everything that leaves shapes alone
#
# Norm and feed-forward work on every token alone: `batch` and `seq_len` pass through untouched.
# The norm's mean has `keepdim=True`, so that its axis stays behind as a 1 and broadcasting finds
# its place again. The feed-forward block holds two thirds of a layer's weights, and its FLOPs say
# the same.

# %%
trace(nn.Sequential(LayerNormalization(512), FeedForwardBlock(512, 2048, 0.1)).eval(), x)

# %% [markdown]
# ## 4. The whole machine
#
# One pass of training: ids of the source and of the target in, log-probabilities of every next
# word out. Equal layers are drawn once. Fold it open where you like, and every row links to the
# line of code that did it.

# %%
model = build_transformer(1000, 1200, 100, 100, d_model=64, N=3, h=4, d_ff=256).eval()
src, tgt = torch.randint(3, 1000, (2, 10)), torch.randint(3, 1200, (2, 7))
whole = trace(model, src, tgt, padding_mask(src, 0), decoder_mask(tgt, 0))
whole.root.arrow()

# %% [markdown]
# The trace is data, too. Which operations need the most arithmetic?

# %%
for row in sorted(whole.rows(), key=lambda row: -row.flops)[:5]:
    print(f"{row.flops:>12,} FLOPs  {row.path}: {row.what}, {row.output}")

# %% [markdown]
# ## 5. When it breaks
#
# Everybody's first attention has a shape error, and torch's message speaks of `mat1` and
# `size of tensor a`. A trace does not raise: it ends where the module broke, and explains which
# axis met which, where both came from, and what was probably forgotten.


# %%
class MyAttention(nn.Module):
    """Almost right."""

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
        """Attention of x on itself."""
        query, key, value = (
            self.split(self.w_q(x)),
            self.split(self.w_k(x)),
            self.split(self.w_v(x)),
        )
        scores = query @ key / self.d_k**0.5
        return (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2)


trace(MyAttention(512, 8), x)

# %% [markdown]
# ### The ones that do not break
#
# Worse is the slip that fits by accident. Split the heads without a transpose, and every shape is
# right and every number wrong: tokens and heads are shuffled into each other. Torch cannot know;
# the trace follows the axes by name and marks the row with ⚠.


# %%
class Shuffled(MyAttention):
    """The shapes are right. Nothing else is."""

    def split(self, x: Tensor) -> Tensor:
        """Reads (seq_len, d_model) row by row as (h, seq_len, d_k)."""
        return x.reshape(x.shape[0], self.h, x.shape[1], self.d_k)

    def forward(self, x: Tensor) -> Tensor:
        """Attention of x on itself, or so it seems."""
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
        print(f"⚠ {row.place.short if row.place else ''} {doubt}")

# %% [markdown]
# ## 6. Your turn
#
# `trace(your_module, *its_inputs)` takes any `nn.Module`. Names come from your argument names
# (`src`, `x`, `mask` …), from your attributes (`self.h`, `self.num_heads` …) and from your own
# expressions. If your tensors count something else, say so:

# %%
cells = torch.randn(4, 50, 16)
trace(nn.Linear(16, 3), cells, axes={"input": "batch cells genes"})
