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
r"""
# 2. Scaled dot-product attention

**The question.** *The dog didn't cross the street because it was too tired.* What does *it* refer
to? A translator into French must know: *il* for the dog (*le chien*, masculine), *elle* for the
street (*la rue*, feminine). So one word must be able to read from another, however far
apart they are. How?
"""

# %%
import torch
from matplotlib.figure import Figure

from clearhead import Translator
from clearhead.blocks import scaled_dot_product_attention
from clearhead.explain.attention import attention_maps, of_kind, sentence_pair
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREY, quiet_grid

# %% [markdown]
r"""
## The idea

Give every position three vectors: a **query** (what am I looking for?), a **key** (what do I
offer?) and a **value** (what do I hand over?). Compare the query of *it* with the key of every
word. Turn the similarities into weights that sum to 1. The output for *it* is the weighted
average of the values.

The figure shows such weights in the translator that is shipped with clearhead: the row of *it* in
one head of its encoder, the one that reads most from *street*.
"""

# %% tags=["hide-input"]
translator = Translator.from_pretrained()
pair = sentence_pair(translator, "The dog didn't cross the street because it was too tired.")
shown = of_kind(attention_maps(translator, pair), "encoder")
row = shown.queries.index("it")
street = shown.keys.index("street")
layer, head = divmod(int(shown.weights[:, :, row, street].argmax()), len(shown.heads))
weights_of_it = shown.weights[layer, head, row]


def draw_row() -> Figure:
    """Bars over the words of the sentence: the weights of the query `it`, the largest in blue."""
    figure = Figure(figsize=(7.5, 2.8))
    axes = figure.subplots()
    places = range(len(shown.keys))
    colours = [BLUE if weight == weights_of_it.max() else GREY for weight in weights_of_it]
    axes.bar(places, weights_of_it, color=colours, width=0.7)
    for x, weight in enumerate(weights_of_it):
        if weight >= 0.05:
            axes.text(x, weight + 0.02, f"{weight:.2f}", ha="center", fontsize=9)
    axes.set_xticks(list(places), shown.keys, rotation=40, ha="right", rotation_mode="anchor")
    axes.set(ylabel="weight of the key", ylim=(0, 1))
    axes.set_title(f"query: it (encoder, layer {layer}, head {head})")
    quiet_grid(axes)
    return figure


show_figure(draw_row)
print("Translation:", pair.translation)
print("Heads in the encoder:", len(shown.layers) * len(shown.heads))

# %% [markdown]
r"""
Of all heads of the encoder, this one gives *street* the largest weight, and *dog* nearly none. Yet
the translation above has *il*, the pronoun of the dog. A row of weights shows where one head
reads. It does not show what the model concludes: this is one of many heads, and the decoder reads
what all of them have contributed.

## The formula

Equation 1 of the paper:

$$\text{Attention}(Q, K, V) = \text{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V$$

| symbol | shape | meaning |
|---|---|---|
| $Q$ | (query, d_k) | one query per row |
| $K$ | (key, d_k) | one key per row |
| $V$ | (key, d_v) | one value per row, as many as keys |
| $Q K^T$ | (query, key) | scores: row = query, column = key |
| softmax(…) | (query, key) | weights: each row sums to 1 |
| result | (query, d_v) | one average of values per query |

A batch of sentences and several heads are further axes in front; nothing else changes. Step by
step, for one query and three keys:
"""

# %%
q = torch.tensor([[2.0, 0.0]])  # one query, d_k = 2
K = torch.tensor([[2.0, 1.0], [0.0, 3.0], [1.0, -1.0]])  # three keys
V = torch.tensor([[10.0], [20.0], [30.0]])  # three values, d_v = 1

scores = q @ K.T
scaled = scores / 2**0.5
weights = scaled.softmax(dim=-1)
for name, values in {"q · k": scores, "/ √d_k": scaled, "softmax": weights}.items():
    print(f"{name:8}", "".join(f"{x:8.3f}" for x in values[0].tolist()))
print(f"output   {weights[0, 0]:.3f}·10 + {weights[0, 1]:.3f}·20 + {weights[0, 2]:.3f}·30", end=" ")
print(f"= {(weights @ V).item():.2f}")
same, _ = scaled_dot_product_attention(q, K, V)
print(f"library  {same.item():.2f}")

# %% [markdown]
r"""
The first key matches best. It gets 77 % of the weight and pulls the output towards its value, 10.
The second key is at a right angle to the query: its score is 0, but its weight is not. A softmax
gives every key a part.

## Why divide by √d_k

Let the elements of q and k be independent with mean 0 and variance 1. Their dot product is a sum
of $d_k$ products, each of variance 1, so its variance is $d_k$ and its standard deviation
$\sqrt{d_k}$. For $d_k = 64$ that is 8. The softmax of scores of that size puts nearly all the
weight on one key. Then its gradient is nearly zero, and the model can no longer learn where to
look.

**Predict**: with 10 random keys and no division, how large is the largest weight for d_k = 4, 64
and 1,024? And with the division?
"""

# %%
torch.manual_seed(2)


def softmax_statistics(scores: torch.Tensor) -> str:
    """Averages over the rows: the largest weight, and the norm of the softmax's Jacobian."""
    w = scores.softmax(dim=-1)
    jacobian = torch.diag_embed(w) - w[:, :, None] * w[:, None, :]
    return f"{w.amax(-1).mean():12.3f} {jacobian.flatten(1).norm(dim=-1).mean():10.3f}"


print("          not divided               divided by √d_k")
print("d_k    max weight   gradient     max weight   gradient")
for d_k in (4, 64, 1024):
    queries, keys = torch.randn(2000, 1, d_k), torch.randn(2000, 10, d_k)
    scores = (queries @ keys.transpose(1, 2)).squeeze(1)  # (2000, 10)
    print(f"{d_k:4d} {softmax_statistics(scores)}  {softmax_statistics(scores / d_k**0.5)}")

# %% [markdown]
r"""
Without the division, the largest weight grows with d_k, from 0.49 to 0.97, and the gradient
shrinks to a seventh. With the division, both are nearly the same for every d_k: the model starts
with soft weights and can learn to sharpen them. (The gradient is the norm of the softmax's
Jacobian.)

## The source

This is the function that the library runs when it trains, a static method of the block of chapter
4. `check_dot_product` only compares shapes. `masked_softmax` is the softmax over the last axis;
what it does with a mask is the subject of chapter 3.
"""

# %%
show_source("clearhead.blocks.attention:MultiHeadAttentionBlock.attention")

# %% [markdown]
r"""
## Experiment: what depends on what

Three queries attend to five keys. The cell changes one vector at a time, and prints which rows of
the weights and which rows of the output change.

**Predict**: if only key 4 changes, do all rows of the weights change? And if only value 4
changes?
"""

# %%
torch.manual_seed(3)
Q, K, V = torch.randn(3, 8), torch.randn(5, 8), torch.randn(5, 6)
output, weights = scaled_dot_product_attention(Q, K, V)


def changed_rows(before: torch.Tensor, after: torch.Tensor) -> str:
    """The indices of the rows that differ."""
    rows = (before - after).abs().amax(-1) > 1e-6
    return ", ".join(str(i) for i in rows.nonzero().flatten().tolist()) or "none"


def changed(tensor: torch.Tensor, index: int) -> torch.Tensor:
    """A copy with another vector at this index."""
    other = tensor.clone()
    other[index] += 1.0
    return other


trials = {
    "query 1": (changed(Q, 1), K, V),
    "key 4": (Q, changed(K, 4), V),
    "value 4": (Q, K, changed(V, 4)),
}
for name, (other_q, other_k, other_v) in trials.items():
    new_output, new_weights = scaled_dot_product_attention(other_q, other_k, other_v)
    rows = changed_rows(weights, new_weights)
    print(f"{name:8} weights: rows {rows:8} output: rows {changed_rows(output, new_output)}")

# %% [markdown]
r"""
- A query affects its own row only: the queries do not meet each other.
- A key affects every row, because each softmax runs over all keys. If one key gains weight, all
  the others lose some.
- A value affects no weight. Where the head reads is decided by queries and keys alone.

The first line is why attention can be computed for all queries at once.

## Exercises
"""

# %%
show_exercises(2)

# %% [markdown]
r"""
## Common mistakes

- **Softmax over the wrong axis.** With as many queries as keys, the shapes still fit, and the
  model trains, badly. Test it with 3 queries and 5 keys: every *row* must sum to 1.
- **Division by √d_model.** With 8 heads, the scores become √8 = 2.8 times too small and the
  weights too even. Nothing fails. Compare the scores with a reference on sizes where d_k and
  d_model differ.
- **`key.T` on a batch.** `.T` reverses all the axes of a batch of matrices; `.transpose(-2, -1)`
  swaps the last two. The mistake raises an error on most sizes, and goes unnoticed where the
  reversed shape happens to fit. Test with sizes that are all different.
- **Weights taken after the dropout.** Their rows do not sum to 1, so a plot of them misleads. The
  block above returns the weights before the dropout.
- **"The weights explain the decision."** See the figure: in this head *it* reads from *street*,
  but the model writes the pronoun of *dog*. To find out what a head contributes, switch it off
  and compare the results.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, section 3.2.1.
- Rush et al., *The Annotated Transformer*, section on attention.
- Jay Alammar 2018, *The Illustrated Transformer* (tutorial).
- Jain, Wallace 2019, *Attention is not Explanation*; Wiegreffe, Pinter 2019, *Attention is not
  not Explanation*.
"""
