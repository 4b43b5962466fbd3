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
the intent, PyTorch shows the mechanics", say the textbooks. But is it *the same* attention? And
what exactly is hidden? This notebook does not argue. It carries the weights of one layer into
the other, compares every number, and then tries the habits in which the two differ.

It takes a few seconds. Keras 3 runs on torch here, without TensorFlow.
"""

# %%
import os

os.environ["KERAS_BACKEND"] = "torch"  # Keras chooses once, at its first import

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
## 1. One line, and what is inside it

The layer is made with a number of heads and the width of *one* head. It has no weights yet: how
wide its inputs are, it learns when it sees them.
"""

# %%
layer = keras.layers.MultiHeadAttention(num_heads=h, key_dim=d_k, dtype="float64")
print(len(layer.weights), "weights before the first call")
layer(query=q, value=v, key=k)
for variable in layer.weights:
    print(f"{variable.path:40} {tuple(variable.shape)}")

# %% [markdown]
"""
So there they are: $W^Q, W^K, W^V, W^O$ and their biases. The kernels have *three* axes. Where
PyTorch multiplies first and then cuts the result into heads with `view` and `transpose`, Keras
keeps the heads apart in the weight itself, and one `einsum` does both. Nothing was removed; it
moved into the layout:

| | queries | output |
|---|---|---|
| ours, `nn.Linear` | (h · d_k, d_model), used as x · Wᵀ | (d_model, h · d_k) |
| Keras | (d_model, h, d_k) | (h, d_k, d_model) |

A transpose and a view carry one into the other.
"""

# %%
block = from_keras(layer)
print(block)
kernel = layer.query_dense.kernel.value
assert torch.equal(block.w_q.weight, kernel.flatten(1).T)  # (d_model, h, d_k) -> (h · d_k, d_model)

# %% [markdown]
"""
## 2. Is it the same?

Same inputs, same mask, in float64, where a formula shows. The scores are asked for; why, we shall
see below. Mind the keywords: the positional order in Keras is query, **value**, key.
"""

# %%
words = torch.arange(key) < torch.tensor([6, 2, 4])[:, None]  # True where a word stands
mask = words[:, None, :].expand(batch, query, key)
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
Equal outputs could still be learned differently. So one gradient goes backwards through both:
into the inputs, and into every weight. What converts a weight converts its gradient, too.
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
They are one function. `clearhead verify keras` repeats this for every kind of mask, and for
`torch.nn.MultiheadAttention`, with bounds.

## 3. The number that means something else

Give all three the same number, 64, and more and more heads:
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
In the paper the heads *share* d_model: eight heads cost what one does, and torch and ours do
so. In Keras `key_dim` is the width of each head, so eight heads are eight times as wide inside.
With `key_dim = d_model // num_heads` it is the paper's layer.

## 4. Three traps that raise nothing

**True.** In Keras and here True means *may look*; in `nn.MultiheadAttention` it means *hide*. Let
a mask be True at the first key only, and see who looks there:
"""

# %%
rested = MultiHeadAttentionBlock(d_model, h, 0.0).eval()
twin, torchs = to_keras(rested), to_torch(rested)
first = torch.zeros(batch, query, key, dtype=torch.bool)
first[..., 0] = True
_, keras_weights = twin(query=q, key=k, value=v, attention_mask=first, return_attention_scores=True)
_, torch_weights = torchs(q, k, v, attn_mask=first.repeat_interleave(h, 0))
print(f"weight on the first key: Keras {keras_weights[..., 0].mean():.1f}, "
      f"torch {torch_weights[..., 0].mean():.1f}")  # fmt: skip

# %% [markdown]
"""
**Nothing to look at.** A sentence in the batch may be empty. What comes out for a query that may
look at nothing? (Without biases, so that the output is the attention's own.)
"""

# %%
bare = MultiHeadAttentionBlock(d_model, h, 0.0, bias=False).eval()
nothing = torch.ones(batch, query, key, dtype=torch.bool)
nothing[1] = False
in_keras_layer, in_torch_module = to_keras(bare), to_torch(bare)
found = {
    "ours": bare(q, k, v, nothing[:, None]),
    "Keras": in_keras_layer(query=q, key=k, value=v, attention_mask=nothing),
    "Keras, asked for scores": in_keras_layer(
        query=q, key=k, value=v, attention_mask=nothing, return_attention_scores=True
    )[0],
    "torch": in_torch_module(q, k, v, attn_mask=~nothing.repeat_interleave(h, 0))[0],
}
for name, output in found.items():
    print(f"{name:24} {output[1, 0, :3].tolist()}")

# %% [markdown]
"""
One layer, two answers, depending on whether somebody asked for the scores: without the question
Keras hands the work to a fused kernel, with another way of hiding. That kernel is also why we
asked for the scores in section 2. On this backend it carries float64 down to float32:
"""

# %%
exact = rested.double()
doubled = to_keras(exact)
big = [x.double() for x in (q, k, v)]
expected = exact(*big)
fused = doubled(query=big[0], key=big[1], value=big[2])
written_out = doubled(query=big[0], key=big[1], value=big[2], return_attention_scores=True)[0]
print(f"by the kernel    {(fused - expected).abs().max():.0e}")
print(f"step by step     {(written_out - expected).abs().max():.0e}")

# %% [markdown]
"""
**Dropout and the scores that you see.** Put dropout on, stay in training, and ask for the weights.
Keras and ours show them before dropout, so a row sums to 1. torch shows what is left after it:
"""

# %%
dropping = MultiHeadAttentionBlock(d_model, h, 0.5)
dropping.keep_attention_scores = True
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
## 5. The whole list

Every habit that we know to differ, each cell filled by trying it just now. The same table comes
from `clearhead compare keras --format md`.
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
