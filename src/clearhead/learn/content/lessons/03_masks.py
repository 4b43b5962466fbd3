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
# 3. Masks

**The question.** Attention lets every position read from every other. Two things must not be
read: the padding that fills short sentences of a batch, and, in the decoder, the words that the
model is about to predict. How is a position made invisible without a loop, an `if`, or a change
of shape?
"""

# %%
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch.nn import functional as F

from clearhead.blocks import (
    decoder_mask,
    look_ahead_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, PALE

# %% [markdown]
r"""
## The idea

A mask is a matrix of booleans with the shape of the scores: one row for each query, one column
for each key. In this course **True means visible**. Before the softmax, every hidden score is
replaced by a very negative number, so its weight becomes 0. Masks combine with `&`: a key is
visible if every mask says so.
"""


# %% tags=["hide-input"]
TOKENS = ["<s>", "Un", "homme", "rit", "<pad>", "<pad>"]


def draw_mask(axes: Axes, mask: torch.Tensor, title: str) -> None:
    """One mask as a grid of cells."""
    axes.pcolormesh(mask.float(), cmap=ListedColormap(["#ffffff", BLUE]), edgecolors=PALE, lw=1)
    axes.set(title=title, aspect="equal")
    axes.invert_yaxis()
    axes.tick_params(length=0)
    centres = [i + 0.5 for i in range(len(TOKENS))]
    axes.set_xticks(centres, TOKENS, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(centres, TOKENS)


def draw_masks() -> Figure:
    """Three 6 by 6 grids: padding hides two columns, look-ahead the upper triangle, then both."""
    ids = torch.tensor([[1, 7, 8, 9, 0, 0]])
    figure = Figure(figsize=(8, 3.1))
    panels = figure.subplots(1, 3)
    draw_mask(panels[0], padding_mask(ids, 0)[0, 0].expand(6, 6), "padding_mask")
    draw_mask(panels[1], look_ahead_mask(6)[0, 0], "look_ahead_mask")
    draw_mask(panels[2], decoder_mask(ids, 0)[0, 0], "decoder_mask = both")
    panels[0].set_ylabel("query")
    panels[1].set_xlabel("key (filled: visible)")
    return figure


show_figure(draw_masks)

# %% [markdown]
r"""
- The **padding mask** hides columns. The rows of the padding remain: their outputs are computed
  and later ignored.
- The **look-ahead mask** (also: causal mask) hides, for position i, all later positions. The
  encoder does not need it, because the whole source sentence is known.
- The decoder needs **both**.

## The formula

$$
\text{weights} = \text{softmax}(S'), \qquad S'_{ij} =
\begin{cases}
q_i \cdot k_j / \sqrt{d_k} & \text{if } M_{ij} \\
-\infty & \text{otherwise}
\end{cases}
$$

because $e^{-\infty} = 0$. The sum in the softmax then runs over the visible keys only, and each
row still sums to 1.

| mask | shape | visible where |
|---|---|---|
| scores | (batch, h, query, key) | |
| padding | (batch, 1, 1, key) | the key is not padding |
| look-ahead | (1, 1, query, key) | $j \le i$ |
| decoder | (batch, 1, query, key) | both |

An axis of size 1 is *broadcast*: the same padding mask serves every head and every query, and it
is stored once.

## The source
"""

# %%
show_source("clearhead.blocks.masks:padding_mask")
show_source("clearhead.blocks.masks:look_ahead_mask")
show_source("clearhead.blocks.masks:decoder_mask")
show_source("clearhead.blocks.attention:masked_softmax")

# %% [markdown]
r"""
Two details of `masked_softmax` are worth a second look. It fills with the lowest *finite* number,
not with −∞, and it sets the weights of hidden keys to 0 afterwards. The third experiment shows
why.

## Experiment: padding must not matter

A sentence of three tokens attends to itself: alone, then in a batch where it is padded to 5 and
to 12 positions. **Predict** which of the four results below differ from the sentence alone.
"""

# %%
torch.manual_seed(4)
embedding = torch.randn(20, 16)  # the vector of each of 20 tokens; token 0 is the padding
sentence = torch.tensor([[5, 9, 7]])


def attend(ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Self-attention of a sentence over itself: (1, seq, 16), with the vectors as Q, K and V."""
    x = embedding[ids][:, None]  # (batch, h = 1, seq, d_k)
    return scaled_dot_product_attention(x, x, x, mask)[0][:, 0]


alone = attend(sentence, None)
for length in (5, 12):
    padded = F.pad(sentence, (0, length - 3), value=0)
    for name, mask in (("without", None), ("with", padding_mask(padded, 0))):
        difference = (attend(padded, mask)[:, :3] - alone).abs().max().item()
        print(f"padded to {length:2d}, {name:7} mask: largest difference {difference:.1e}")

# %% [markdown]
r"""
Without the mask, the result depends on the length of the *longest sentence in the batch*: the
same sentence is translated differently next to a long one. With the mask, the difference is that
of rounding in float32, about 1e-7. "A batch gives the same as each sentence alone" is the law to
test.

## Experiment: the future must not matter

There are six tokens, and the last one is replaced by another. **Predict** which rows of the
output change without a mask, and which with the look-ahead mask.
"""

# %%
first = torch.tensor([[5, 9, 7, 3, 8, 2]])
second = torch.tensor([[5, 9, 7, 3, 8, 11]])  # another last token
for name, mask in (("no mask", None), ("look-ahead", look_ahead_mask(6))):
    change = (attend(first, mask) - attend(second, mask)).abs().amax(-1)[0]
    rows = [str(i) for i in range(6) if change[i] > 1e-6]
    print(f"{name:11} rows that change: {', '.join(rows)}")

# %% [markdown]
r"""
With the look-ahead mask, rows 0 to 4 do not depend on token 5. This is what makes training
parallel: the whole target sentence is given to the decoder at once, and each position still
predicts its next word from the earlier words alone. Without the mask, the model could copy the
answer.

## Experiment: a row in which everything is hidden

In a batch there can be a query without any visible key, for example when an empty sentence is
padded. **Predict** the weights of such a row if the hidden scores are −∞.
"""

# %%
scores = torch.tensor([[1.0, 2.0, 0.5], [0.3, 0.1, 0.9]])
visible = torch.tensor([[True, True, False], [False, False, False]])


def printed(row: torch.Tensor) -> str:
    """A row of weights with three decimals."""
    return "[" + ", ".join(f"{x:.3f}" for x in row.tolist()) + "]"


minus_infinity = scores.masked_fill(~visible, -torch.inf).softmax(-1)
lowest = scores.masked_fill(~visible, torch.finfo(scores.dtype).min).softmax(-1)
_, library = scaled_dot_product_attention(scores, torch.eye(3) * 3**0.5, torch.eye(3), visible)
for name, weights in {"-inf": minus_infinity, "lowest": lowest, "library": library}.items():
    print(f"{name:8} {printed(weights[0])}   {printed(weights[1])}")

# %% [markdown]
r"""
With −∞ the row becomes NaN: the softmax divides 0 by 0. One NaN spreads through every later layer
and into the gradients of the whole batch. The lowest finite number avoids it, because a softmax
of equal scores is uniform. But uniform weights would read from keys that must be hidden, so the
library sets them to 0 afterwards: a query that sees nothing returns zeros.

## Experiment: the mask after the softmax

A tempting variant computes the softmax first and multiplies its weights by the mask. **Predict**
what the rows sum to.
"""

# %%
x = embedding[first][0]
raw = x @ x.T / 16**0.5
mask = look_ahead_mask(6)[0, 0]
before = raw.masked_fill(~mask, torch.finfo(raw.dtype).min).softmax(-1)
after = raw.softmax(-1) * mask
print("sums, mask before:", printed(before.sum(-1)))
print("sums, mask after: ", printed(after.sum(-1)))

other = embedding[second][0]
after_other = (other @ other.T / 16**0.5).softmax(-1) * mask
moved = (after[:5, :5] - after_other[:5, :5]).abs().max().item()
print(f"replacing the last, hidden token: weights of rows 0 to 4 change by up to {moved:.3f}")

# %% [markdown]
r"""
The rows of the variant sum to less than 1, because the hidden keys took their share before they
were removed; only the last row, which sees everything, is right. Worse, the future leaks: the
hidden token was part of the sum in the softmax, and replacing it changes the weights of rows that
must not see it.

## Exercises
"""

# %%
show_exercises(3)

# %% [markdown]
r"""
## Common mistakes

- **True means the opposite elsewhere.** `torch.nn.MultiheadAttention` reads True as *hidden*;
  `F.scaled_dot_product_attention`, Keras and this course read it as *visible*. An inverted mask
  raises no error. Test it on three positions: the first must attend to itself only.
- **`triu` instead of `tril`.** With `triu()`, position i sees itself and the future. The training
  loss falls at once to almost 0, and the translations are nonsense. Suspect the mask whenever
  accuracy is too good.
- **The padding mask is forgotten in the encoder or in cross-attention.** The model trains, but
  the same sentence is translated differently in a batch and alone. Test that both give the same
  result.
- **A mask of shape (batch, key).** It broadcasts against (batch, h, query, key) along the wrong
  axes whenever the sizes happen to agree. Use sizes that all differ in tests, and give the mask
  its four axes.
- **−1e9 in half precision.** The lowest number of float16 is −65,504. `masked_fill` with −1e9
  raises an error; an additive mask of −1e9 overflows to −∞, and a row that is hidden completely
  becomes NaN. Take the lowest number of the scores' own type.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, sections 3.1 and 3.2.3.
- Rush et al., *The Annotated Transformer*, section on masking.
- PyTorch documentation of `scaled_dot_product_attention` and `MultiheadAttention`: compare the
  descriptions of their masks.
"""
