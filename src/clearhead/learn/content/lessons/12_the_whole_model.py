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
# 12. The whole model

**The question.** You have an encoder that turns 20 vectors into 20 vectors, and a decoder that
does the same with another sentence. But a translator receives *words* and must produce *words*.
How do token ids get in, how does a choice among 8,000 tokens come out, and which shapes connect
the parts?
"""

# %%
import matplotlib as mpl
import torch
from matplotlib.figure import Figure

from clearhead import Transformer, build_transformer
from clearhead.blocks import decoder_mask, padding_mask
from clearhead.explain import trace
from clearhead.explain.plots.training import parameter_shares
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.models import TransformerConfig

# %% [markdown]
"""
## The idea

The model has seven parts. The tensors that pass from one part to the next have d_model as their
last axis. Ids become vectors at the bottom (chapter 5), receive their positions (chapter 6), and
pass through a stack (chapters 10 and 11). Only at the very end does d_model become vocab: one
linear layer compares the decoder's vector with every token of the vocabulary.
"""


# %% tags=["hide-input"]
def box(axes, x, y, text, shape, learned=True):
    """A part of the model and the shape of its output."""
    edge = "C0" if learned else mpl.rcParams["axes.edgecolor"]
    style = {"boxstyle": "round,pad=0.5", "fc": "none", "ec": edge}
    axes.text(x, y, text, ha="center", va="center", bbox=style)
    shift = (0.1, 0.5) if text != "Encoder" else (0.6, -0.2)
    at = x + shift[0], y + shift[1]
    axes.text(*at, shape, va="center", fontsize=9, family="monospace", color="C1")


def arrow(axes, start, end):
    """An arrow from one part to the next."""
    line = {"arrowstyle": "-|>", "color": mpl.rcParams["axes.edgecolor"]}
    axes.annotate("", xy=end, xytext=start, arrowprops=line)


def draw_model() -> Figure:
    """The parts of the model from ids to log-probabilities, with the shapes between them."""
    figure = Figure(figsize=(9, 5.6))
    axes = figure.subplots()
    rows = ["ids", "InputEmbeddings", "PositionalEncoding", "stack"]
    for x, side in ((0, "src"), (3.4, "tgt")):
        stack = "Encoder" if side == "src" else "Decoder"
        names = [f"{side}: token ids", *rows[1:3], stack]
        for y, name in enumerate(names):
            shape = f"(batch, {side}_len)" if y == 0 else f"(batch, {side}_len, d_model)"
            box(axes, x, y, name, shape, learned=y in (1, 3))
        for y in range(3):
            arrow(axes, (x, y + 0.27), (x, y + 0.73))
    box(axes, 3.4, 4, "ProjectionLayer", "(batch, tgt_len, vocab)")
    arrow(axes, (3.4, 3.27), (3.4, 3.73))
    arrow(axes, (3.4, 4.27), (3.4, 4.73))
    arrow(axes, (0.55, 3), (2.8, 3))
    axes.text(1.65, 3.12, "keys and values", fontsize=9, ha="center", va="bottom")
    axes.text(3.4, 4.85, "log-probabilities", ha="center", va="bottom")
    axes.set(xlim=(-1.2, 5.6), ylim=(-0.4, 5.2))
    axes.axis("off")
    return figure


show_figure(draw_model)

# %% [markdown]
r"""
Blue boxes have parameters. Two things are easy to miss: *every* decoder block reads the encoder's
**final** output, and the model returns a distribution for **every** target position, not only for
the last one. In training all of them are used at once (chapter 13).

## The formula

The model factorizes the probability of a translation into one prediction per token:

$$P(y \mid x) = \prod_{i} P(y_i \mid y_{<i}, x), \qquad
\log P(\cdot \mid y_{<i}, x) = \log\text{softmax}(h_i W + b)$$

| symbol | shape | what it holds |
|---|---|---|
| $x$ | (batch, src_len) | ids of the source sentence |
| $y_{<i}$ | (batch, i) | ids of the target before position i |
| $h_i$ | (batch, d_model) | the decoder's output at position i |
| $W$ | (d_model, vocab) | one column for each token of the vocabulary |
| $b$ | (vocab,) | one number for each token: how frequent it is, whatever the context |

$h_i W$ is a vector of vocab dot products, the **logits**. Token v is probable when $h_i$ points in
the direction of column v. So the last layer of a Transformer is, once more, a comparison of
vectors.

**Why logarithms?** A translation of 40 tokens with probability 0.1 each has probability 10⁻⁴⁰. The
smallest normal float32 is about 10⁻³⁸. Sums of logarithms have no such limit, and a sum is what
both the loss and the search need.

## The source

The complete model: embed, add positions, run the stack; then project.
"""

# %%
show_source("clearhead.models.transformer:Transformer.encode")
show_source("clearhead.models.transformer:Transformer.decode")
show_source("clearhead.models.transformer:Transformer.forward")
show_source("clearhead.blocks.projection:ProjectionLayer.forward")

# %% [markdown]
"""
## Experiment 1: follow the shapes

We build a model whose sizes are all different, so that no two axes can be confused: 2 sentences, 4
source tokens, 5 target tokens, d_model = 6, source vocabulary 11, target vocabulary 13.

**Predict first:** what is the shape of the encoder's output, of the decoder's output, and of the
model's output?
"""

# %%
torch.manual_seed(0)
model = build_transformer(11, 13, 30, 30, d_model=6, N=2, h=3, d_ff=10).eval()
src = torch.randint(3, 11, (2, 4))
tgt = torch.randint(3, 13, (2, 5))
shapes = trace(model, src, tgt, padding_mask(src, 0), decoder_mask(tgt, 0))
for part in ("src_embed", "encoder", "tgt_embed", "decoder", "projection_layer"):
    print(f"{part:17}", shapes.find(part).arrow("sizes"))
sums = shapes.output.exp().sum(dim=-1)
print("the probabilities of every position sum to 1:", torch.allclose(sums, torch.ones(2, 5)))

# %% [markdown]
"""
The decoder receives two things of different length, its own sequence (5) and the encoder's output
(4), and its own length wins: there is one output for each *query*. The masks are the other inputs:
(2, 1, 1, 4) hides padding of the source, (2, 1, 5, 5) hides the future and the padding of the
target.

In a notebook, `trace(model, src, tgt)` shows a page that you can open block by block, with the
names of all axes. At the terminal: `clearhead trace`.

## Experiment 2: where are the parameters?

The paper's base model has d_model = 512, 6 + 6 layers, d_ff = 2,048 and a joint vocabulary of
about 37,000 tokens. **Predict:** which part has the most parameters: the attention layers, the
feed-forward layers, or the embedding matrix?
"""

# %%
base = TransformerConfig(37_000, 37_000, tie_embeddings=True)
separate = TransformerConfig(37_000, 37_000, tie_embeddings=False)
with torch.device("meta"):  # shapes without memory
    counts = {
        "one shared matrix": parameter_shares(Transformer.from_config(base)),
        "three matrices": parameter_shares(Transformer.from_config(separate)),
    }
for name, parts in counts.items():
    print(f"{name}: {sum(parts.values()):,} parameters")
    for part, count in parts.items():
        print(f"    {part:16}{count:>12,}  {count / sum(parts.values()):5.1%}")

# %% [markdown]
"""
The feed-forward layers hold 40 % of the shared model, more than all attention together (30 %), and
the single embedding matrix the remaining 30 %. The paper shares one matrix between the source
embedding, the target embedding and the projection (section 3.4), and reports 65 million
parameters. With three separate matrices the same Transformer has 101 million, and more than half
of them are in the embedding matrices and the projection. This is why `tie_embeddings` is worth a
setting, and why small models have small vocabularies.

## Experiment 3: what the glue does

The connections between the parts are single lines of code, and each can be forgotten without an
error. Here are two laws that fail when one is missing.

*Order.* We remove the source positions and swap two source tokens. **Predict:** how does the
output change?
"""

# %%
swapped = src[:, [0, 2, 1, 3]]


def change(model) -> float:
    """The largest change of any log-probability when two source tokens are swapped."""
    return float((model(src, tgt) - model(swapped, tgt)).abs().max().detach())


with_positions = change(model)
model.src_pos, positions = torch.nn.Identity(), model.src_pos
without_positions = change(model)
model.src_pos = positions
print(f"with positions    {with_positions:.4f}")
print(f"without positions {without_positions:.4f}")

# %% [markdown]
"""
Without positions the encoder's output is the same set of vectors in another order, and
cross-attention, a weighted sum over that set, gives the same result. "The dog bites the man" and
"the man bites the dog" would have one translation. The model would still train: most sentences
have one plausible order.

*Padding.* A sentence must be translated the same whether it is alone or in a batch with longer
ones. We append three padding tokens to the source, with the mask and without it.
"""

# %%
padded = torch.cat([src, torch.zeros(2, 3, dtype=torch.long)], dim=1)
alone = model(src, tgt)
masked = model(padded, tgt, padding_mask(padded, 0))
unmasked = model(padded, tgt)
print(f"with the source mask    {float((masked - alone).abs().max().detach()):.6f}")
print(f"without the source mask {float((unmasked - alone).abs().max().detach()):.6f}")

# %% [markdown]
"""
The mask makes padding invisible, up to float32 rounding. It must be passed **twice**: to the
encoder, and to the decoder's cross-attention. Without the second, training still works, and
nothing fails.

## Exercises
"""

# %%
show_exercises(12)

# %% [markdown]
"""
## Common mistakes

- *Softmax before the loss.* `torch.nn.CrossEntropyLoss` applies log-softmax itself. Given
  probabilities, it takes the softmax of numbers between 0 and 1, which is nearly uniform: with
  8,000 tokens the loss can never fall below about 8.0, so training seems stuck. Log-probabilities
  are safe, because log-softmax of log-probabilities changes nothing. How to notice: print the
  smallest loss that a perfect prediction would give.
- *A shared matrix with the wrong initialization.* PyTorch initializes `nn.Embedding` with standard
  deviation 1. Used as the projection, such a matrix gives logits with standard deviation √512 ≈
  23, and the first loss is far above ln(vocab). The remedy: initialize the matrix with N(0,
  1/d_model), as tensor2tensor and this library do, and multiply by √d_model in the embedding only.
- *The encoder layer by layer.* Decoder layer 3 does not read encoder layer 3. Every decoder layer
  reads the output of the whole encoder. How to notice: give the two stacks different depths.
- *The source mask passed once.* Experiment 3. How to notice: translate a sentence alone and in a
  batch with a longer one.
- *`model.eval()` forgotten.* Dropout is still active, and two calls differ. `torch.no_grad()` does
  not change this; it only stops recording gradients. How to notice: call the model twice.
- *Two vocabularies confused.* A target id is looked up in the source's embedding. With one
  shared matrix nothing happens; with two it silently embeds another word, or fails.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, figure 1, section 3.4 and table 3.
- Press and Wolf 2017, *Using the Output Embedding to Improve Language Models*: why sharing the two
  matrices helps.
- Rush 2018, *The Annotated Transformer*, "Full Model".
- Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*: the final norm.
"""
