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
# 4. Multi-head attention

**The question.** To translate a verb you need its subject, its object and the word before it.
Attention, as in chapter 2, returns one average for each query. How does a position read several
things at once, and keep them apart?
"""

# %%
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from clearhead import Translator
from clearhead.blocks import MultiHeadAttentionBlock, scaled_dot_product_attention
from clearhead.explain.attention import AttentionMap, attention_maps, of_kind, sentence_pair
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREEN, GREY, ORANGE, PINK, WEIGHTS

# %% [markdown]
r"""
## The idea

Run attention h times in parallel, each time on another part of the vectors, and concatenate the
results. Each of the h computations is a **head**. With $d_{model} = 12$ and h = 4, each head has
its own queries, keys and values of $d_k = 12 / 4 = 3$ elements.
"""


# %% tags=["hide-input"]
HEADS = (BLUE, ORANGE, GREEN, PINK)


def draw_heads() -> Figure:
    """A 5 by 12 matrix with columns in four colours is split into four 5 by 3 matrices."""
    figure = Figure(figsize=(8, 2.7))
    axes = figure.subplots()
    for column in range(12):
        for row in range(5):
            colour = HEADS[column // 3]
            for x in (column, 16 + column + 1.6 * (column // 3)):
                axes.add_patch(Rectangle((x, row), 0.9, 0.85, facecolor=colour, alpha=0.75))
    for head in range(4):
        axes.text(17.4 + 4.6 * head, -0.35, f"head {head}", ha="center", color=HEADS[head])
    axes.text(5.9, -0.35, "d_model = 12", ha="center", color=GREY)
    axes.text(17.4, 5.6, "d_k = 3", ha="center", color=GREY)
    axes.text(-0.5, 2.4, "seq = 5", ha="center", va="center", rotation=90, color=GREY)
    axes.annotate("", (15.4, 2.4), (12.6, 2.4), arrowprops={"arrowstyle": "->", "color": GREY})
    axes.set(xlim=(-1, 33.2), ylim=(6, -1), aspect="equal")
    axes.axis("off")
    return figure


show_figure(draw_heads)

# %% [markdown]
r"""
Splitting costs nothing: it is a change of view, (seq, d_model) → (h, seq, d_k). All heads are
computed by the same two matrix products as one head, because the head is one more axis in front.

## The formula

$$\text{MultiHead}(q, k, v) = \text{Concat}(head_1, \ldots, head_h) \, W^O$$

$$head_i = \text{Attention}(q W_i^Q, \; k W_i^K, \; v W_i^V)$$

| symbol | shape | meaning |
|---|---|---|
| $q$ | (batch, query, d_model) | the vectors that read |
| $k$, $v$ | (batch, key, d_model) | the vectors that are read |
| $W_i^Q$, $W_i^K$, $W_i^V$ | (d_model, d_k) | projections of head i; all heads in one matrix |
| $head_i$ | (batch, query, d_k) | result of head i |
| Concat | (batch, query, d_model) | h · d_k = d_model |
| $W^O$ | (d_model, d_model) | mixes the heads |

In **self-attention** q, k and v are the same sequence. In **cross-attention** q comes from the
decoder, k and v from the encoder. The block is the same.

## The source
"""

# %%
show_source("clearhead.blocks.attention:MultiHeadAttentionBlock.forward")
show_source("clearhead.blocks.attention:MultiHeadAttentionBlock.split_heads")
show_source("clearhead.blocks.attention:MultiHeadAttentionBlock.join_heads")

# %% [markdown]
r"""
## Experiment: what one head cannot keep apart

A position reads from its left neighbour and from its right neighbour with equal weights. Then the
two neighbours are swapped. **Predict** for which of the two, one head or two heads, the result
changes.
"""

# %%
left, right = torch.tensor([1.0, 5.0]), torch.tensor([3.0, 9.0])
key_left, key_right = torch.tensor([4.0, 0.0]), torch.tensor([0.0, 4.0])
keys = torch.stack([key_left, key_right])
both = torch.tensor([[1.0, 1.0]])  # matches either key
only_left, only_right = torch.tensor([[9.0, -9.0]]), torch.tensor([[-9.0, 9.0]])


def read(query: torch.Tensor, values: torch.Tensor) -> list[float]:
    """The output of one head, rounded."""
    output, _ = scaled_dot_product_attention(query, keys, values)
    return [round(x, 3) for x in output[0].tolist()]


for name, values in {"as they are": (left, right), "swapped": (right, left)}.items():
    V = torch.stack(values)
    two = read(only_left, V) + read(only_right, V)
    print(f"{name:12} one head: {read(both, V)!s:12} two heads: {two}")

# %% [markdown]
r"""
The average of one head is the same in either order: it contains *what* was read, and not *from
where*. Two heads return the two values in separate columns, and $W^O$ can treat them differently.

## Experiment: how many parameters

**Predict**: how many more parameters does a block with 8 heads have than a block with 1 head, for
d_model = 64?
"""

# %%
for h in (1, 2, 8):
    block = MultiHeadAttentionBlock(d_model=64, h=h, dropout=0.0)
    count = sum(p.numel() for p in block.parameters())
    print(
        f"h = {h}: d_k = {block.d_k:2d}, w_q {tuple(block.w_q.weight.shape)}, {count:,} parameters"
    )

# %% [markdown]
r"""
None. Four matrices of 64 × 64 with a bias of 64 each: 4 · (4,096 + 64) = 16,640, however they are
cut. What changes is d_k. With many heads each has few dimensions to compare with; the paper's
Table 3 (row A) finds that both one head and 32 heads translate worse than 8.

## Experiment: the transpose that matters

`split_heads` moves the head axis in front of the sequence, and `join_heads` must move it back
before two axes are merged. Several public implementations forgot it. The next cell marks each
number with its position and its head: 21 comes from position 2, head 1. **Predict** what row 0 of
the result contains if the transpose is missing.
"""

# %%
positions, h, d_k = 3, 2, 2
marks = 10 * torch.arange(positions)[None, :] + torch.arange(h)[:, None]  # (h, seq)
x = marks[None, :, :, None].expand(1, h, positions, d_k)  # (batch, h, seq, d_k)

right_way = x.transpose(1, 2).flatten(2)  # (batch, seq, h * d_k)
wrong_way = x.reshape(1, positions, h * d_k)
for position in range(positions):
    correct = " ".join(f"{n:2d}" for n in right_way[0, position].tolist())
    wrong = " ".join(f"{n:2d}" for n in wrong_way[0, position].tolist())
    print(f"position {position}   with transpose: {correct}   without: {wrong}")

# %% [markdown]
r"""
With the transpose, row 0 holds both heads of position 0. Without it, row 0 holds head 0 of
positions 0 *and 1*. Every shape is right, and a position's output now contains other positions,
in a decoder even future ones. Simple tasks such as copying are still learned, so "it trains"
proves nothing.

## Experiment: what the heads of a trained model do

For five sentences, the cell computes how much weight each head in the encoder of the shipped
translator puts on the previous token, on the token itself, and on the next one. **Predict**: will
there be heads that do nothing but read the previous token?
"""

# %%
SENTENCES = (
    "The old woman eats a red apple.",
    "The children play in the garden.",
    "A man in a blue shirt is standing on a ladder.",
    "She does not like the cold water.",
    "Two dogs run across the green field.",
)
OFFSETS = {"previous": -1, "same": 0, "next": 1}
translator = Translator.from_pretrained()


def encoder_map(text: str) -> AttentionMap:
    """Encoder self-attention; the target does not matter for it."""
    return of_kind(
        attention_maps(translator, sentence_pair(translator, text, target=".")), "encoder"
    )


maps = [encoder_map(text) for text in SENTENCES]
means = {  # (layers, h): the mean weight at an offset, averaged over the sentences
    name: sum(m.weights.diagonal(offset, 2, 3).mean(-1) for m in maps) / len(maps)
    for name, offset in OFFSETS.items()
}
layers, heads = means["same"].shape
print(f"{layers} encoder layers with {heads} heads each")
print("token      (layer, head): mean weight, the largest three")
for name, mean in means.items():
    ranked = sorted(((w, i) for i, w in enumerate(mean.flatten().tolist())), reverse=True)[:3]
    print(f"{name:9}", "   ".join(f"{divmod(i, heads)}: {w:.2f}" for w, i in ranked))

# %% tags=["hide-input"]
best = int(means["previous"].argmax())
spread = int(sum(means.values()).argmin())


def draw_two_heads() -> Figure:
    """Two heat maps of one sentence: a diagonal below the main one, and a scattered pattern."""
    figure = Figure(figsize=(8, 3.9))
    for axes, index in zip(figure.subplots(1, 2), (best, spread), strict=True):
        layer, head = divmod(index, heads)
        axes.imshow(maps[0].weights[layer, head], cmap=WEIGHTS, vmin=0, vmax=1)
        axes.set_title(f"layer {layer}, head {head}")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        places = range(len(maps[0].keys))
        axes.set_xticks(places, maps[0].keys, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(places, maps[0].queries)
    return figure


show_figure(draw_two_heads)

# %% [markdown]
r"""
Almost. The first head in the row *previous* puts most of its weight on the previous token, and
the first in the row *next* puts most of its weight on the next one. No head does *nothing* else,
and most follow no fixed offset: the right map shows the head with the least weight on all three.
No rule prescribes this division of labour; it is the result of training. How much a head matters
is another question: Voita et al. (2019) removed most heads of a translator, and it lost little.

## Exercises
"""

# %%
show_exercises(4)

# %% [markdown]
r"""
## Common mistakes

- **`view(batch, h, seq, d_k)` without a transpose.** The elements are dealt out in the wrong
  order, so each "head" mixes positions. The shapes are right. Compare with a loop over heads, on
  sizes that all differ.
- **One projection for all heads, or projection after the split.** Then the heads cannot
  specialize: each multiplies by the same (d_k, d_k) matrix. Count the parameters: there must be 4
  · d_model² weights.
- **The heads are averaged or added instead of concatenated.** The result has d_k columns, or the
  heads overwrite each other. The first experiment shows what is lost.
- **No output projection.** Without $W^O$ each head writes into its own columns of the result
  only. It trains, a little worse; a count of the parameters reveals it.
- **d_model is not divisible by h.** The block refuses it at once; many implementations round d_k
  down and lose columns without a word.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, section 3.2.2 and Table 3.
- Voita et al. 2019, *Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting,
  the Rest Can Be Pruned*.
- Michel, Levy, Neubig 2019, *Are Sixteen Heads Really Better than One?*
- Clark et al. 2019, *What Does BERT Look At?*
- Umar Jamil 2023, *Coding a Transformer from scratch on PyTorch* (video tutorial).
"""
