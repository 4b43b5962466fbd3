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
# 1. Why not an RNN

**The question.** A sentence is a sequence, and a recurrent neural network (RNN) reads a sequence
as we do: one word after the other, with a memory of what came before. Until 2017 the best
translators worked this way. Why does this course build a network without recurrence?
"""

# %%
import torch
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from torch import nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.rnn.long_range import gradient_by_distance
from clearhead.compare.rnn.study import study_config
from clearhead.compare.rnn.translator import make_model, model_sizes
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREEN, GREY, ORANGE, PINK, quiet_grid

# %% [markdown]
r"""
## The idea

An RNN has one *hidden state*. At each word it computes a new state from the old one. Whatever the
last word needs to know about the first must survive every step in between. Attention connects
every pair of positions directly.
"""


# %% tags=["hide-input"]
def draw_paths() -> Figure:
    """Seven words. Left, an RNN: a chain of six steps. Right, attention: one arrow per word."""
    words = ["The", "key", "to", "the", "doors", "is", "here"]
    figure = Figure(figsize=(8, 2.6))
    chain, direct = figure.subplots(1, 2)
    for axes, title in ((chain, "RNN: 6 steps from first to last"), (direct, "attention: 1 step")):
        axes.set(xlim=(-0.6, 6.6), ylim=(-1, 2.4), title=title)
        axes.axis("off")
        for x, word in enumerate(words):
            axes.text(x, -0.75, word, ha="center", fontsize=9)
            axes.plot(x, 0, "o", color=GREY, markersize=8)
    for x in range(6):
        chain.annotate(
            "", (x + 0.85, 0), (x + 0.15, 0), arrowprops={"arrowstyle": "->", "color": ORANGE}
        )
    for x in range(6):
        bend = f"arc3,rad=-{0.15 + 0.05 * (6 - x)}"
        style = {"arrowstyle": "->", "connectionstyle": bend, "mutation_scale": 10}
        direct.add_patch(FancyArrowPatch((x, 0.15), (5.95, 0.15), color=BLUE, **style))
    return figure


show_figure(draw_paths)

# %% [markdown]
r"""
In *The key to the doors is here*, the verb agrees with *key*, four words back. In an RNN this
fact passes through *to*, *the* and *doors*, each of which overwrites a part of the state. With
attention, *is* reads *key* itself.

## The formula

An RNN's state is

$$h_t = \tanh(W h_{t-1} + U x_t + b)$$

| symbol | shape | meaning |
|---|---|---|
| $x_t$ | (d,) | vector of the word at position $t$ |
| $h_t$ | (d,) | hidden state after position $t$ |
| $W$, $U$ | (d, d) | the same matrices at every position |
| $b$ | (d,) | bias |

How strongly does the last state depend on the first word? By the chain rule,

$$
\frac{\partial h_n}{\partial x_1}
= \left( \prod_{t=2}^{n} \frac{\partial h_t}{\partial h_{t-1}} \right)
\frac{\partial h_1}{\partial x_1}
$$

a product of $n - 1$ matrices. If each shrinks vectors by a factor of 0.8, sixty of them leave
$0.8^{60} \approx 10^{-6}$: the gradient **vanishes**, and the network does not learn that the
first word matters. If each enlarges them, the gradient **explodes**.

The paper compares the two in its Table 1, for a sequence of $n$ positions and width $d$:

| layer | operations | sequential steps | longest path |
|---|---|---|---|
| self-attention | $n^2 \cdot d$ | 1 | 1 |
| recurrent | $n \cdot d^2$ | $n$ | $n$ |

## The source

The heart of both, as the library runs them. The RNN's stack is PyTorch's LSTM or GRU, which
computes one position after the other:
"""

# %%
show_source("clearhead.compare.rnn.layers:Stack.forward")

# %% [markdown]
r"""
Attention, which chapters 2 to 4 explain, contains no loop over positions. All of them are rows of
the same matrix products:
"""

# %%
show_source("clearhead.blocks.attention:MultiHeadAttentionBlock.forward")

# %% [markdown]
r"""
## Experiment: a product of sixty factors

The plainest RNN has no input after the first word: $h_t = \tanh(s \, Q \, h_{t-1})$ with an
orthogonal matrix $Q$, which preserves lengths, and a factor $s$. **Predict** the norm of the
gradient after 63 steps for s = 0.8 and for s = 1.0. Then for s = 1.2: the matrix alone enlarges
by $1.2^{63} \approx 97{,}000$. Does the gradient?
"""


# %%
def gradient_norms(scale: float, steps: list[int], width: int = 16) -> list[float]:
    """Norms of the gradient of one element of h_n with respect to x_1, by number of steps."""
    torch.manual_seed(1)
    matrix = scale * nn.init.orthogonal_(torch.empty(width, width, dtype=torch.float64))
    first = (0.1 * torch.randn(width, dtype=torch.float64)).requires_grad_()
    found = []
    for n in steps:
        h = first
        for _ in range(n):
            h = torch.tanh(matrix @ h)
        found.append(torch.autograd.grad(h[0], first)[0].norm().item())
    return found


STEPS = [1, 7, 15, 31, 63]
print("steps   ", "".join(f"{n:>10}" for n in STEPS))
for scale in (0.8, 1.0, 1.2):
    print(f"s = {scale}  ", "".join(f"{norm:10.1e}" for norm in gradient_norms(scale, STEPS)))

# %% [markdown]
r"""
For s = 0.8 the norm falls to $0.8^{63} \approx 8 \cdot 10^{-7}$: vanished. For s = 1.0 it
survives, and training would have to keep it so. For s = 1.2 it grows at first, but it does not
explode: the state reaches the flat part of the tanh, whose slopes below 1 undo the growth.
Without the tanh, it would.

## Experiment: complete translators

Gated networks (LSTM, GRU) were invented to keep the factors near 1. Here are four untrained
translators with nearly the same number of parameters. The cell measures how strongly the first
output vector depends on a source word at a distance of 1 to 96 words.

**Predict** which two curves fall, and which two do not.
"""

# %%
config = study_config(d_model=48, h=3, layers=1, vocabulary=400)
COLOURS = {"GRU": ORANGE, "LSTM": PINK, "LSTM + attention": GREEN, "Transformer": BLUE}
sizes = dict(model_sizes(config))
curves = {
    name: gradient_by_distance(make_model(name, config, seed=1), longest=96, rows=3, seed=1)
    for name in COLOURS
}
print(f"{'':18}{'parameters':>12}{'distance 1':>12}{'distance 24':>13}{'distance 96':>13}")
for name, norms in curves.items():
    count = f"{sizes[name].parameters:,}"
    print(f"{name:18}{count:>12}{norms[0]:12.1e}{norms[23]:13.1e}{norms[95]:13.1e}")


# %% tags=["hide-input"]
def draw_gradients() -> Figure:
    """Gradient norm by distance: GRU and LSTM fall by many powers of ten; the others stay flat."""
    figure = Figure(figsize=(7, 3.6))
    axes = figure.subplots()
    for name, norms in curves.items():
        axes.plot(range(1, 97), norms, color=COLOURS[name])
        side = {"Transformer": "bottom", "LSTM + attention": "top"}.get(name, "center")
        axes.text(97.5, norms[-1], name, color=COLOURS[name], va=side, fontsize=9)
    axes.set_yscale("log")
    axes.set(xlabel="distance, in words", ylabel="norm of the Jacobian", xlim=(1, 122))
    axes.set_xticks([1, 24, 48, 72, 96])
    quiet_grid(axes)
    return figure


show_figure(draw_gradients)

# %% [markdown]
r"""
The GRU and the LSTM fall, by seventeen and by seven powers of ten. The Transformer does not:
distance 96 is as close as distance 1. The LSTM with attention falls only over the first words,
then its line is flat, because attention carries the gradient past the chain.

The LSTM with attention deserves a second look. Bahdanau, Cho and Bengio (2015) proposed this
design, with gated units similar to the GRU: attention was first added *to* an RNN. The
Transformer kept the attention and removed the RNN.

## Experiment: what can run in parallel

The second cost of recurrence is time. The next cell counts, for one sentence of n words, how many
calls of the network must run one after the other, and how many attention scores are computed.
"""

# %%
width = 48
cell, block = nn.RNNCell(width, width), MultiHeadAttentionBlock(width, h=3, dropout=0.0)
calls = {"RNN": 0, "attention": 0}
cell.register_forward_hook(lambda *_: calls.update(RNN=calls["RNN"] + 1))
block.register_forward_hook(lambda *_: calls.update(attention=calls["attention"] + 1))

print("words   sequential calls: RNN   attention   attention scores")
for n in (8, 64, 512):
    calls.update(RNN=0, attention=0)
    x = torch.randn(1, n, width)
    h = torch.zeros(1, width)
    for t in range(n):  # h at position t needs h at position t - 1
        h = cell(x[:, t], h)
    block(x, x, x)
    scores = block.attention_scores.numel()
    print(f"{n:5d}   {calls['RNN']:21d}   {calls['attention']:9d}   {scores:16,d}")

# %% [markdown]
r"""
The RNN needs as many sequential calls as there are words, so a processor with a thousand
arithmetic units waits most of the time. Attention needs one call. It pays with memory: 8 times as
many words cost 64 times as many scores, 3 heads × n × n.

So recurrence is not *worse* in every respect. Its cost grows linearly, its state has a constant
size, and for very long sequences that is an advantage; recent models (Mamba, RWKV) return to it.
For sentences of 20 to 100 words, the direct paths and the parallel training won.

## Exercises
"""

# %%
show_exercises(1)

# %% [markdown]
r"""
## Common mistakes

- **"An LSTM has no vanishing gradients."** It looks plausible because gates keep the factor close
  to 1. Close to 1 is not 1: over 96 words the LSTM's curve above still falls by seven powers of
  ten. Measure the gradient by distance instead of arguing from the formula.
- **"Attention is cheaper."** The number of operations per layer is $n^2 d$ against $n d^2$.
  Attention is cheaper only while the sentence is shorter than the width of the model. You notice
  it when memory runs out as the sentences get longer, not when the model gets wider.
- **"The decoder also works in parallel."** In training it does, because the correct translation
  is known. In translation the next word depends on the last one, and a Transformer's decoder runs
  once per word, too (chapters 13 and 14).
- **"An RNN cannot attend."** It can, as the curve "LSTM + attention" shows. What it cannot do is
  compute its states in parallel.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, section 4 and Table 1.
- Bahdanau, Cho, Bengio 2015, *Neural Machine Translation by Jointly Learning to Align and
  Translate*.
- Bengio, Simard, Frasconi 1994, *Learning Long-Term Dependencies with Gradient Descent Is
  Difficult*.
- Hochreiter, Schmidhuber 1997, *Long Short-Term Memory*.
- Christopher Olah 2015, *Understanding LSTM Networks* (blog post).
- Gu, Dao 2023, *Mamba: Linear-Time Sequence Modeling with Selective State Spaces*.
"""
