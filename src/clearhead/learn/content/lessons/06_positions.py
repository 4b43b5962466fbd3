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
# 6. Positions

**The question.** *The dog bites the man* and *The man bites the dog* consist of the same words. Can
the model of chapters 2 to 5 distinguish the two?
"""

# %%
import math

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn import functional as F

from clearhead.blocks import (
    EncoderBlock,
    FeedForwardBlock,
    InputEmbeddings,
    LearnedPositions,
    MultiHeadAttentionBlock,
    PositionalEncoding,
)
from clearhead.blocks.positional_encoding import sinusoids
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREY, ORANGE, SIGNED

# %% [markdown]
r"""
Embed both sentences, apply self-attention, and compare the output at *dog*. **Predict:** is it
equal in both sentences, although in one the dog bites and in the other it is bitten?
"""

# %%
_ = torch.manual_seed(6)
vocabulary = ["the", "dog", "bites", "man"]
embed = InputEmbeddings(8, len(vocabulary))
attention = MultiHeadAttentionBlock(8, 2, dropout=0.0).eval()


def output_at_dog(sentence: str, positions: nn.Module) -> Tensor:
    """(d_model,): self-attention's output at the word dog."""
    ids = torch.tensor([[vocabulary.index(word) for word in sentence.split()]])
    x = positions(embed(ids))
    return attention(x, x, x)[0, sentence.split().index("dog")]


for name, positions in (("without", nn.Identity()), ("with", PositionalEncoding(8, 10))):
    biting = output_at_dog("the dog bites the man", positions)
    bitten = output_at_dog("the man bites the dog", positions)
    print(f"{name} positions: largest difference {(biting - bitten).abs().max():.1e}")

# %% [markdown]
r"""
Without positions the two are equal up to rounding. A query compares itself with a *set* of keys and
averages a *set* of values; no term of the formula contains an index. If the tokens are permuted,
the outputs are permuted with them and do not change otherwise. (The look-ahead mask of chapter 3
breaks this symmetry, so a decoder is not entirely blind to order. An encoder is.)

## The idea

Add to each embedding a vector that depends only on the position. The paper builds it from waves:
each pair of columns holds the sine and the cosine of the position, at its own frequency. The first
pairs change from one token to the next, the last pairs hardly change within a sentence, like the
hands of a clock with d_model / 2 hands.
"""


# %% tags=["hide-input"]
def draw_map() -> Figure:
    """Positional encoding of 60 positions: fast waves in the left columns, slow in the right."""
    figure = Figure(figsize=(8, 4))
    axes = figure.subplots()
    table = sinusoids(60, 64).numpy()
    image = axes.imshow(table, cmap=SIGNED, vmin=-1, vmax=1, aspect="auto", interpolation="none")
    axes.set(xlabel="feature (even: sine, odd: cosine)", ylabel="position")
    axes.set_title("Positional encoding, d_model = 64; a row is added to the token at its position")
    figure.colorbar(image, ax=axes, label="value", aspect=25)
    return figure


show_figure(draw_map)

# %% [markdown]
r"""
## The formula

$$PE_{pos,\,2i} = \sin(pos \cdot \omega_i), \qquad PE_{pos,\,2i+1} = \cos(pos \cdot \omega_i),
\qquad \omega_i = 10000^{-2i / d_{model}}$$

| symbol | shape | what it holds |
|---|---|---|
| $pos$ | (seq_len, 1) | positions 0, 1, 2, … |
| $i$ | (d_model / 2,) | pairs of columns: 2i and 2i + 1 share $\omega_i$ |
| $\omega_i$ | (d_model / 2,) | frequencies: radians per token, from 1 to nearly 1/10000 |
| PE | (1, seq_len, d_model) | one row for each position, the same for every sentence of the batch |

The wavelengths $2\pi / \omega_i$ form a geometric progression from 6.3 tokens to nearly 62,800.

## The source

The frequency $\omega_i$ is computed as exp(−2i · log 10000 / d_model), which is the same number.
`pe` is a *buffer*: it moves to the GPU with the module, but it is not a parameter, and no optimizer
changes it.
"""

# %%
show_source("clearhead.blocks.positional_encoding:PositionalEncoding.forward")
show_source("clearhead.blocks.positional_encoding:sinusoids")

# %% [markdown]
r"""
## Why waves, and not simply 0, 1, 2, …?

A feature with the values 0, 1, 2, … would grow beyond every embedding, and pos / seq_len would mean
different distances in sentences of different lengths. Waves stay between −1 and 1. Their second
advantage is a law of trigonometry. Advancing by k tokens rotates pair i by the angle $k\,\omega_i$:

$$\begin{pmatrix} \sin((p+k)\,\omega) \\ \cos((p+k)\,\omega) \end{pmatrix} =
\begin{pmatrix} \cos k\omega & \sin k\omega \\ -\sin k\omega & \cos k\omega \end{pmatrix}
\begin{pmatrix} \sin p\,\omega \\ \cos p\,\omega \end{pmatrix}$$

The matrix contains k, but not p. *Three tokens further* is therefore the same linear map everywhere
in the sentence, and the projections of attention can learn it once. **Predict:** what does this
imply for the dot product of two positional encodings at distance 3, near the beginning and far from
it?
"""

# %%
pe = sinusoids(2000, 64)
k = 3
omega = 10000 ** (-torch.arange(0, 64, 2) / 64)
shift = torch.zeros(64, 64)
for i, angle in enumerate((k * omega).tolist()):
    cos, sin = math.cos(angle), math.sin(angle)
    shift[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[cos, sin], [-sin, cos]])

for p in (0, 20, 1500):
    error = (shift @ pe[p] - pe[p + k]).abs().max()
    print(f"position {p:4} -> {p + k:4}: error {error:.0e}, dot product {pe[p] @ pe[p + k]:.3f}")


# %% tags=["hide-input"]
def draw_products() -> Figure:
    """Dot products of positional encodings fall with the distance; the wrong one stays high."""
    figure = Figure(figsize=(8, 3.2))
    axes = figure.subplots()
    distance = np.arange(-60, 61)
    for factor, name, colour in (
        (2, "exponent 2i", BLUE),
        (4, "exponent 4i (a common bug)", ORANGE),
    ):
        frequencies = 10000 ** (-factor * np.arange(32) / 64)
        product = np.cos(distance[:, None] * frequencies).mean(1)
        axes.plot(distance, product, color=colour)
        axes.text(61, product[-1], name, color=colour, va="center")
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set(xlim=(-60, 60), xlabel="distance in tokens", ylabel="dot product / 32")
    axes.set_title("Similarity of two positions depends on their distance alone")
    return figure


show_figure(draw_products)

# %% [markdown]
r"""
The dot product is the same at each position: rotations do not change angles between vectors. The
blue curve shows it for all distances. It is largest at distance 0 and symmetric, so the dot product
alone cannot tell *before* from *after*. The learned projections of queries and keys break the
symmetry.

The orange curve belongs to a mistake found in several public implementations:
`arange(0, d_model, 2)` already counts 2i, and the exponent is doubled. Half of the columns become
nearly constant, and positions look more alike than they should. Models still train with it, and
small tasks even train faster. A decreasing loss does not prove the code right; a comparison with
the formula does.

## Does it matter?

A task that needs order and nothing else: a sentence of ten random tokens contains token 0 and token
1 once each; does 0 come first? One encoder block answers, with three choices of positions: none,
sinusoids, and a learned vector for each position (chapter 17: BERT and GPT-2 use these). Training
uses length 10 alone. **Predict** the accuracy of all three at length 10, and then at length 20 and
40.
"""


# %%
def order_task(count: int, length: int) -> tuple[Tensor, Tensor]:
    """Random ids (count, length) with 0 and 1 at two positions, and whether 0 comes first."""
    ids = torch.randint(2, 20, (count, length))
    where = torch.rand(count, length).argsort(dim=1)[:, :2]
    ids.scatter_(1, where, torch.tensor([[0, 1]]).expand(count, 2))
    return ids, (where[:, 0] < where[:, 1]).long()


class OrderModel(nn.Module):
    """Embedding, positions, one encoder block, and an answer from the average output."""

    def __init__(self, positions: nn.Module) -> None:
        super().__init__()
        self.embed, self.positions = InputEmbeddings(32, 20), positions
        nn.init.normal_(self.embed.embedding.weight, std=32**-0.5)
        attend, feed_forward = MultiHeadAttentionBlock(32, 4, 0.0), FeedForwardBlock(32, 64, 0.0)
        self.block = EncoderBlock(32, attend, feed_forward, 0.0)
        self.answer = nn.Linear(32, 2)

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, seq_len) -> (batch, 2)"""
        return self.answer(self.block(self.positions(self.embed(ids))).mean(dim=1))


print("accuracy in %     length 10   length 20   length 40")
for name, positions in (
    ("no positions", nn.Identity()),
    ("sinusoids", PositionalEncoding(32, 40)),
    ("learned", LearnedPositions(32, 40)),
):
    _ = torch.manual_seed(6)
    model = OrderModel(positions)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _step in range(150):
        ids, label = order_task(64, 10)
        optimizer.zero_grad()
        F.cross_entropy(model(ids), label).backward()
        optimizer.step()
    with torch.inference_mode():
        tests = [order_task(1000, length) for length in (10, 20, 40)]
        right = [(model(ids).argmax(-1) == label).float().mean() for ids, label in tests]
    print(f"{name:14}" + "".join(f"{100 * share:12.0f}" for share in right))

# %% [markdown]
r"""
Without positions the model guesses: near 50 %, whatever the training. With either encoding it
solves the task at the length it was trained on. At length 20 both get much worse, and at 40
neither is of any use: near 50 %, or below. For the learned vectors this is no surprise: rows 10 to
39 were never trained. The paper hoped that sinusoids would generalize to longer sentences. Here
they help a little at length 20 and not at all at length 40. *A formula for every position is not
the same as a model that has learned to use it.* Rotary embeddings (Su et al. 2021) apply the
rotation of this chapter to queries and keys, so that positions enter a score only by their
difference; `clearhead.blocks.RotaryPositions` has them.

## Exercises
"""

# %%
show_exercises(6)

# %% [markdown]
r"""
## Common mistakes

- **The exponent doubled**, `10000 ** (2 * even / d_model)` with `even = 0, 2, 4, …`. *How to
  notice:* no wavelength may exceed 2π · 10000 ≈ 62,800 tokens; here the last are hundreds of
  millions.
- **A frequency of its own for the cosine** (exponent 2i + 1). The pair is no longer a rotation.
  *How to notice:* sine² + cosine² of a pair must be 1.
- **The wrong axis.** `pe[: x.shape[0]]` takes the length from the batch axis. This is right for
  sequence-first input and a `pe` of shape (max_len, 1, d_model). With batch-first input it takes
  one row for each *sentence*: every token of a sentence gets the same vector, and the shapes fit.
  *How to notice:* the output for a sentence changes with its index in the batch.
- **The whole table added.** Without the slice `[:, :seq_len]` the shapes fit only for sentences of
  maximum length, and for all others there is an error; that is the lucky case.
- **A table that is too short.** Longer sentences need more rows. The block refuses them with a
  message that gives both lengths; a version without the check fails inside an addition.
- **Odd d_model.** There is one more sine column than cosine columns; `cos(angle)` must be cut to
  d_model // 2.
- **Concatenated instead of added.** It works, but the width changes, and all later sizes with it.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, section 3.5 and table 3, row E.
- Shaw, Uszkoreit and Vaswani 2018, *Self-Attention with Relative Position Representations*.
- Su et al. 2021, *RoFormer: Enhanced Transformer with Rotary Position Embedding*.
- Press, Smith and Lewis 2022, *Train Short, Test Long* (ALiBi, and why sinusoids do not
  extrapolate).
- Kazemnejad 2019, *Transformer Architecture: The Positional Encoding*.
"""
