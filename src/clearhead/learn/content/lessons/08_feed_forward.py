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
# 8. Feed-forward

**The question.** Attention moves information between positions. For given attention weights, its
output is a weighted *average* of linear projections of the input, and averages of averages are
averages. Which part of a Transformer computes something that is not linear, for example "plural if
the verb says so, unless the noun is invariable"?
"""

# %%
from itertools import islice

import torch
from matplotlib.figure import Figure
from torch import Tensor

from clearhead import Translator
from clearhead.blocks import FeedForwardBlock, MultiHeadAttentionBlock
from clearhead.data.grammar import generate
from clearhead.explain.attention import labels
from clearhead.explain.capture import capture
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREEN, GREY, ORANGE

# %% [markdown]
r"""
## The idea

After each attention block, the same small network is applied to each position by itself: a linear
layer that widens the vector from d_model to d_ff (usually four times as wide), a ReLU that replaces
negative elements by 0, and a linear layer back to d_model. The ReLU is what matters. A *hidden
unit* is 0 on one side of a threshold and rises linearly on the other; the second layer adds up such
bends. With enough of them any continuous function can be approximated on a bounded range.
"""


# %% tags=["hide-input"]
def fit(d_ff: int, x: Tensor, wanted: Tensor) -> FeedForwardBlock:
    """A block with one input whose bends are spread evenly; the second layer by least squares."""
    block = FeedForwardBlock(1, d_ff, 0.0)
    bends = torch.linspace(-3, 3, d_ff + 1)[:-1]
    with torch.no_grad():
        block.linear_1.weight.fill_(1.0)
        block.linear_1.bias.copy_(-bends)
        hidden = torch.cat([torch.relu(block.linear_1(x)), torch.ones(len(x), 1)], dim=1)
        solution = torch.linalg.lstsq(hidden, wanted).solution
        block.linear_2.weight.copy_(solution[:-1].T)
        block.linear_2.bias.copy_(solution[-1])
    return block


def draw_fits() -> Figure:
    """A curve approximated by feed-forward blocks with 3, 6 and 24 hidden units."""
    x = torch.linspace(-3, 3, 300)[:, None]
    wanted = torch.sin(2 * x) + 0.3 * x
    figure = Figure(figsize=(9, 3))
    for axes, d_ff, colour in zip(
        figure.subplots(1, 3, sharey=True), (3, 6, 24), (BLUE, ORANGE, GREEN), strict=True
    ):
        axes.plot(x, wanted, color=GREY, linewidth=1)
        axes.plot(x, fit(d_ff, x, wanted).eval()(x).detach(), color=colour)
        axes.set_title(f"d_ff = {d_ff}")
        axes.set_xlabel("input")
    figure.axes[0].set_ylabel("output (grey: wanted)")
    return figure


show_figure(draw_fits)

# %% [markdown]
r"""
The figure shows a `FeedForwardBlock` with d_model = 1. Three units give three straight pieces; 24
follow the curve closely. In a Transformer the input has 512 features, and the bend of a unit is a
hyperplane.

## The formula

$$\text{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2 \qquad \text{(paper, equation 2)}$$

| symbol | shape | what it holds |
|---|---|---|
| $x$ | (batch, seq_len, d_model) | one vector for each position |
| $W_1, b_1$ | (d_model, d_ff), (d_ff,) | a column of $W_1$: the input to which one unit responds |
| $\max(0, \cdot)$ | (batch, seq_len, d_ff) | the hidden units, none of them negative |
| $W_2, b_2$ | (d_ff, d_model), (d_model,) | a row of $W_2$: what one unit adds to the output |

## The source

Read the last line from the inside out: first layer, ReLU, dropout, second layer.
"""

# %%
show_source("clearhead.blocks.feed_forward:FeedForwardBlock")

# %% [markdown]
r"""
## What happens without the ReLU?

Leave it out, and two linear layers follow each other: 64 → 256 → 64 with 33,088 parameters.
**Predict:** how many parameters does a single linear layer need that computes exactly the same? And
with the ReLU: how many of its units switch between active and inactive when x is doubled?
"""

# %%
_ = torch.manual_seed(8)
block = FeedForwardBlock(64, 256, dropout=0.0).double()
x = torch.randn(2, 5, 64, dtype=torch.float64)

without = block.linear_2(block.linear_1(x))
matrix = block.linear_2.weight @ block.linear_1.weight  # (64, 256) @ (256, 64) -> (64, 64)
bias = block.linear_2.weight @ block.linear_1.bias + block.linear_2.bias
print(f"without ReLU: one layer of {matrix.numel() + bias.numel():,} parameters is equal,")
print(f"  largest difference {(without - (x @ matrix.T + bias)).abs().max():.0e}")
print(f"with ReLU: largest difference {(block(x) - (x @ matrix.T + bias)).abs().max():.2f}")
units = block.linear_1(x) > 0
print(f"active units: {units.double().mean():.2f}", end="; ")
switched = (block.linear_1(2 * x) > 0) != units
print(f"switched by doubling x: {switched.double().mean():.2f}")

# %% [markdown]
r"""
Without the ReLU, 4,160 parameters do the work of 33,088: the widening is wasted. With it, about
half of the units are active at random weights, and the block applies a different matrix to each
position, depending on *which* units those are. Doubling x switches few of them, because a sign
changes only where the bias outweighs the product. As long as none switches, the block is linear: a
ReLU network is linear in pieces.

## Each position by itself

The paper calls the network *position-wise*. **Predict:** what happens to the output if the five
positions are given in another order, and what if a position is given alone?
"""

# %%
order = torch.tensor([3, 0, 4, 1, 2])
print("other order:", torch.allclose(block(x)[:, order], block(x[:, order])))
print("one position alone:", torch.allclose(block(x)[:, 2:3], block(x[:, 2:3])))

# %% [markdown]
r"""
Both times the results are the same: the output at one position does not depend on the other
positions. Attention and feed-forward divide the work. The one exchanges information between
positions without transforming it much; the other transforms it without exchanging any.

## Where the parameters are

**Predict:** which holds more parameters at the paper's sizes, the four matrices of multi-head
attention or the two of the feed-forward network?
"""

# %%
base = {
    "attention": MultiHeadAttentionBlock(512, 8, 0.1),
    "feed-forward": FeedForwardBlock(512, 2048, 0.1),
}
counts = {name: sum(p.numel() for p in part.parameters()) for name, part in base.items()}
for name, count in counts.items():
    print(f"{name:13} {count:9,} parameters, {100 * count / sum(counts.values()):.0f} %")

# %% [markdown]
r"""
Attention has 4 · d_model² weights, the feed-forward network 2 · 4 · d_model². It holds two thirds
of an encoder block, and up to moderate lengths also most of the computation. When people say that a
language model *stores* knowledge, most of the store is here.

## What trained units respond to

Geva et al. (2021) read the block as a memory: a column of $W_1$ is a *key* that matches certain
inputs, the row of $W_2$ with the same index is the *value* that is then added. Let us look at the
keys of the translator that comes with clearhead. The cell runs its encoder on 150 sentences and
lists, for some units with large activations, the tokens at which they are largest. A dot marks the
continuation of a word. **Predict** before you look: will a unit respond to one word, to a class of
words, or to nothing you can name? And how many of the units are active at a time?
"""

# %%
translator = Translator.from_pretrained(engine="readable")
model, tokenizer = translator.model, translator.tokenizer
layers = range(model.config.encoder_layers)
paths = [f"encoder.layers.{layer}.feed_forward_block.linear_1" for layer in layers]
tokens: list[str] = []
found: list[Tensor] = []
with torch.inference_mode(), capture(model, *paths) as captured:
    for pair in islice(generate("test"), 150):
        ids = tokenizer.encode(pair.source)
        model.encode(torch.tensor([[*ids, model.config.eos_id]]))
        tokens += labels(tokenizer, ids)
        # (1, seq_len, d_ff) of each layer -> (layers, seq_len, d_ff), without the EOS token
        found.append(torch.cat([captured[path] for path in paths])[:, :-1])
hidden = torch.cat(found, dim=1).relu()  # (layers, tokens, d_ff)

for layer, units in enumerate(hidden):
    print(f"layer {layer}: {100 * (units > 0).float().mean():.0f} % of the units are active")
    for unit in units.amax(dim=0).topk(4).indices.tolist():
        best = [tokens[i] for i in units[:, unit].topk(25).indices.tolist()]
        print(f"  unit {unit:4}:", *list(dict.fromkeys(best))[:8])

# %% [markdown]
r"""
Training has made the units selective: at a given token most of them are 0, far fewer than half are
active. Some lists have an obvious common feature, such as the ending *-s*, the pronouns, or the
forms of *be*. Others have none that we can see, and a list of eight tokens proves little: a unit
may respond to several unrelated things. In the first layer a unit's input is still close to the
embedding of its own token; in later layers the same token can activate different units in different
sentences.

## Exercises
"""

# %%
show_exercises(8)

# %% [markdown]
r"""
## Common mistakes

- **The activation is missing or in the wrong place.** Before the first layer it discards half of
  the input; after the second, no output can be negative, and the residual stream (chapter 9) can
  only grow. All three versions train. *How to notice:* without it, f(x + y) − f(y) is the same for
  every y; with it at the end, `output.min()` is never below 0.
- **`F.dropout(x, p)` in place of `nn.Dropout`.** The function does not depend on the mode of the
  module that calls it; its default is `training=True`. (`F.scaled_dot_product_attention` needs the
  same care.) *How to notice:* call the model twice after `eval()`: both results must be equal.
- **Dropout at the output as well.** The residual connection applies dropout to it; 10 % twice make
  19 %.
- **The sizes swapped**, `nn.Linear(d_ff, d_model)` first. *How to notice:* the first call raises an
  error about the last axis. There is none if d_ff = d_model, so test with two different sizes.
- **GELU instead of ReLU.** BERT and GPT-2 use GELU. With the other function, trained weights give
  worse results and no error.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, section 3.3.
- Geva, Schuster, Berant and Levy 2021, *Transformer Feed-Forward Layers Are Key-Value Memories*.
- Hendrycks and Gimpel 2016, *Gaussian Error Linear Units*.
- Shazeer 2020, *GLU Variants Improve Transformer*.
- Elhage et al. 2022, *Toy Models of Superposition*: why one unit may respond to unrelated things.
"""
