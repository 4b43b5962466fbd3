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
# What Keras hides and PyTorch shows

The same attention can be written in one line of Keras or in thirty of PyTorch. "Keras states
the intent, PyTorch shows the mechanics", say the textbooks. But is it *the same* attention, and
what exactly is hidden? This notebook converts the weights of one layer into the other, compares
every element of the outputs and gradients, and then demonstrates the conventions that differ.

It takes a few seconds. Keras 3 runs on torch here, without TensorFlow.
"""

# %%
import os

os.environ["KERAS_BACKEND"] = "torch"  # Keras reads it once, at its first import

import keras
import torch
from IPython.display import Markdown
from torch import nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention.conversion import (
    from_keras,
    gradient_of,
    in_our_names,
    to_keras,
    to_torch,
)
from clearhead.compare.keras_attention.report import compare_keras, show
from clearhead.models import count_parameters

torch.manual_seed(2017)
batch, query, key, h, d_k = 3, 5, 6, 4, 7
d_model = h * d_k
q = torch.randn(batch, query, d_model)
k = torch.randn(batch, key, d_model)
v = torch.randn(batch, key, d_model)
print(f"Keras {keras.__version__} on {keras.backend.backend()} {torch.__version__}")

# %% [markdown]
"""
## 1. One line, and its weights

The layer is created with a number of heads and the width of *one* head. It has no weights yet,
since it takes the width of its inputs from the first call.
"""

# %%
layer = keras.layers.MultiHeadAttention(num_heads=h, key_dim=d_k, dtype="float64")
print(len(layer.weights), "weights before the first call")
layer(query=q, value=v, key=k)
for variable in layer.weights:
    print(f"{variable.path:40} {tuple(variable.shape)}")

# %% [markdown]
"""
The weights are $W^Q, W^K, W^V, W^O$ and their biases. The kernels have *three* axes. PyTorch
multiplies first and then splits the result into heads with `view` and `transpose`; Keras has an
axis for heads in the weight itself, and one `einsum` does both. Nothing is missing; it is part of
the layout:

| | queries | output |
|---|---|---|
| ours, `nn.Linear` | (h · d_k, d_model), used as x · Wᵀ | (d_model, h · d_k) |
| Keras | (d_model, h, d_k) | (h, d_k, d_model) |

A transpose and a view convert one into the other.
"""

# %%
block = from_keras(layer)
print(block)
kernel = layer.query_dense.kernel.value
assert torch.equal(block.w_q.weight, kernel.flatten(1).T)  # (d_model, h, d_k) -> (h · d_k, d_model)

# %% [markdown]
"""
## 2. Is it the same function?

Same inputs, same mask, in float64, so that only errors of the formula remain. The scores are
requested for a reason explained below. The keywords matter: the positional order in Keras is
query, **value**, key.
"""

# %%
tokens = torch.arange(key) < torch.tensor([6, 2, 4])[:, None]  # False at padding
mask = tokens[:, None, :].expand(batch, query, key)
in_keras, ours = (
    [x.double().requires_grad_() for x in (q.clone(), k.clone(), v.clone())] for _ in range(2)
)
theirs, scores = layer(
    query=in_keras[0], key=in_keras[1], value=in_keras[2],
    attention_mask=mask, return_attention_scores=True,
)  # fmt: skip
mine = block(*ours, mask[:, None])
difference = (mine - theirs).abs().max().item()
print(f"largest difference of any output: {difference:.1e}")
assert difference < 1e-10

# %% [markdown]
"""
Equal outputs for one input do not prove that the gradients are equal: a `detach` changes only the
gradient. So the same gradient is propagated back through both, into the inputs and every weight. A
gradient is converted in the same way as its weight.
"""

# %%
upstream = torch.randn_like(mine)
mine.backward(upstream)
theirs.backward(upstream)
gradients = in_our_names(layer, gradient_of)
for name, parameter in block.named_parameters():
    print(f"{name:12} {(parameter.grad - gradients[name]).abs().max():.1e}")
    torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-9, atol=1e-9)
for one, other in zip(ours, in_keras, strict=True):
    torch.testing.assert_close(one.grad, other.grad, rtol=1e-9, atol=1e-9)

# %% [markdown]
"""
They are the same function. `clearhead verify keras` repeats this for every kind of mask, and for
`torch.nn.MultiheadAttention`, with bounds.

## 3. One size, two meanings

Give all three layers the size 64, and an increasing number of heads:
"""

# %%
width = 64
for heads in (1, 2, 4, 8):
    wide = keras.layers.MultiHeadAttention(heads, key_dim=width)
    wide.build((None, None, width), (None, None, width))
    print(
        f"h = {heads}: Keras {wide.count_params():>7,}   "
        f"torch {count_parameters(nn.MultiheadAttention(width, heads)):>7,}   "
        f"ours {count_parameters(MultiHeadAttentionBlock(width, heads, 0.0)):>7,}"
    )

# %% [markdown]
"""
In the paper the heads *share* d_model: eight heads have as many parameters as one, and so do
torch's and ours. In Keras `key_dim` is the width of each head, so eight heads are eight times as
wide. With `key_dim = d_model // num_heads` it is the paper's layer.

## 4. Three differences that raise no error

**True in a mask.** In Keras and here True means *visible*; in `nn.MultiheadAttention` it means
*hidden*. With a mask that is True at the first key only:
"""

# %%
eval_block = MultiHeadAttentionBlock(d_model, h, 0.0).eval()
keras_copy, torch_copy = to_keras(eval_block), to_torch(eval_block)
first = torch.zeros(batch, query, key, dtype=torch.bool)
first[..., 0] = True
_, keras_weights = keras_copy(
    query=q, key=k, value=v, attention_mask=first, return_attention_scores=True
)
_, torch_weights = torch_copy(q, k, v, attn_mask=first.repeat_interleave(h, 0))
print(f"weight on the first key: Keras {keras_weights[..., 0].mean():.1f}, "
      f"torch {torch_weights[..., 0].mean():.1f}")  # fmt: skip

# %% [markdown]
"""
**Fully masked queries.** A sentence in the batch may be empty. What is the output of a query
without any visible key? (Without biases, so that the output is that of the attention alone.)
"""

# %%
bare = MultiHeadAttentionBlock(d_model, h, 0.0, bias=False).eval()
nothing = torch.ones(batch, query, key, dtype=torch.bool)
nothing[1] = False
in_keras_layer, in_torch_module = to_keras(bare), to_torch(bare)
found = {
    "ours": bare(q, k, v, nothing[:, None]),
    "Keras": in_keras_layer(query=q, key=k, value=v, attention_mask=nothing),
    "Keras, scores requested": in_keras_layer(
        query=q, key=k, value=v, attention_mask=nothing, return_attention_scores=True
    )[0],
    "torch": in_torch_module(q, k, v, attn_mask=~nothing.repeat_interleave(h, 0))[0],
}
for name, output in found.items():
    print(f"{name:24} {output[1, 0, :3].tolist()}")

# %% [markdown]
"""
The same layer gives two results. If the scores are not requested, Keras calls a fused kernel, which
treats a fully masked query differently. That kernel is also the reason why section 2 requests the
scores. On this backend it casts float64 to float32:
"""

# %%
exact = eval_block.double()
doubled = to_keras(exact)
big = [x.double() for x in (q, k, v)]
expected = exact(*big)
fused = doubled(query=big[0], key=big[1], value=big[2])
written_out = doubled(query=big[0], key=big[1], value=big[2], return_attention_scores=True)[0]
print(f"fused kernel     {(fused - expected).abs().max():.0e}")
print(f"step by step     {(written_out - expected).abs().max():.0e}")

# %% [markdown]
"""
**Dropout and attention weights.** In training with dropout, Keras and our block return the weights
before dropout, so that each row sums to 1. torch returns them after dropout:
"""

# %%
dropping = MultiHeadAttentionBlock(d_model, h, 0.5)
dropping(q, k, v)
_, keras_weights = to_keras(dropping)(
    query=q, key=k, value=v, return_attention_scores=True, training=True
)
_, torch_weights = to_torch(dropping)(q, k, v)
for name, weights in (
    ("Keras", keras_weights), ("ours", dropping.attention_scores), ("torch", torch_weights),
):  # fmt: skip
    print(f"{name:6} sums of the first rows: {weights.sum(-1).flatten()[:4].tolist()}")

# %% [markdown]
"""
## 5. All differences

Every known difference; each cell was measured just now. `clearhead compare keras --format md`
prints the same table.
"""

# %%
Markdown(show(compare_keras(), "md"))

# %% [markdown]
"""
## Try it

1. Call the Keras layer with `layer(q, k, v)`, without keywords. Nothing is raised. What was
   computed?
2. Train a copy task with a Keras layer and with its twin from `from_keras`, with the same data.
   After how many steps do the losses differ, and why at all?
3. `from_keras` refuses a layer with `key_dim=64, num_heads=8` for a width of 64. Could our block
   be such a layer, with one more argument? Which line would change?
4. Keras' kernels keep the heads apart. Pick out head 2 of $W^Q$ in all three layouts.
"""
