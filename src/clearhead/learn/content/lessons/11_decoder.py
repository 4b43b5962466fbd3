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
# 11. Decoder

**The question.** A translation is written token by token: each new token depends on the source and
on what has been written so far. In training, however, one forward pass predicts all tokens of the
target at once. How can the model be given the whole target and still not copy the answer from it?
"""

# %%
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional as F

from clearhead import Translator, build_transformer
from clearhead.blocks import look_ahead_mask, padding_mask, shift_right
from clearhead.explain.attention import attention_maps, of_kind, sentence_pair
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREY, ORANGE, PALE, WEIGHTS

# %% [markdown]
r"""
## The idea

A **decoder block** has three sublayers. *Masked self-attention* reads what has been written: each
position sees itself and the positions before it. *Cross-attention* reads the source: queries come
from the target, keys and values from the encoder's output. The feed-forward network then processes
both.
"""


# %% tags=["hide-input"]
SOURCE = ("The", "box", "was", "light", "</s>", "<pad>")
READ = ("<s>", "La", "boîte", "était", "légère")


def grid(axes: Axes, visible: Tensor, keys: tuple[str, ...], title: str, colour: str) -> None:
    """One square for each pair of query (row) and key (column); colour means visible."""
    rows, columns = visible.shape
    for y in range(rows):
        for x in range(columns):
            shade = colour if visible[y, x] else PALE
            axes.fill([x, x + 0.94, x + 0.94, x], [y, y, y + 0.94, y + 0.94], color=shade)
    axes.set_xticks([x + 0.47 for x in range(columns)], keys, rotation=45)
    axes.set_yticks([y + 0.47 for y in range(rows)], READ)
    axes.set(xlim=(0, columns), ylim=(rows, 0), title=title, aspect="equal")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def draw_masks() -> Figure:
    """Self-attention sees a lower triangle of the target, cross-attention all source tokens."""
    figure = Figure(figsize=(8.5, 3.9))
    own, cross = figure.subplots(1, 2)
    grid(own, look_ahead_mask(5)[0, 0], READ, "masked self-attention", BLUE)
    source = padding_mask(torch.tensor([[5, 6, 7, 8, 2, 0]]), 0)
    grid(cross, source[0, 0].expand(5, 6), SOURCE, "cross-attention", ORANGE)
    own.set_ylabel("query: the token that is read", color=GREY)
    return figure


show_figure(draw_masks)

# %% [markdown]
r"""
The row of *boîte* predicts *était*. It may read the whole source except its padding, and of the
target `<s>`, *La* and *boîte*, but not *était*. All rows are computed at once, and each obeys its
own restriction: one forward pass is as many training examples as the target has tokens.

## The formula

$$x' = x + \text{Attention}(y,\, y,\, y,\, M_{tgt}), \qquad y = \text{Norm}_1(x)$$

$$x'' = x' + \text{Attention}(y',\, m,\, m,\, M_{src}), \qquad y' = \text{Norm}_2(x')$$

$$\text{Block}(x) = x'' + \text{FFN}(\text{Norm}_3(x''))$$

| symbol | shape | what it holds |
|---|---|---|
| $x$ | (batch, tgt_len, d_model) | target, shifted right by one position |
| $m$ | (batch, src_len, d_model) | the encoder's output (*memory*), the same for all blocks |
| $M_{tgt}$ | (batch, 1, tgt_len, tgt_len) | `tgt_mask`: look-ahead and target padding (chapter 3) |
| $M_{src}$ | (batch, 1, 1, src_len) | `src_mask`: padding of the source |

The arguments of Attention are queries, keys, values and mask. The scores of cross-attention are
(batch, h, tgt_len, src_len). Its output has one row per *query*, so the length of the target stays;
source and target need not be equally long. The memory is not normalized here: it left the encoder
through a norm.

## The source
"""

# %%
show_source("clearhead.blocks.decoder:DecoderBlock.forward")
show_source("clearhead.blocks.decoder:Decoder.forward")

# %% [markdown]
r"""
## Which predictions depend on which tokens?

Change one token of the decoder's input, and see at which positions the log-probabilities change.
**Predict** the pattern of ones for a target of five tokens, with the mask; and what changes if a
*source* token is replaced.
"""

# %%
_ = torch.manual_seed(11)
model = build_transformer(50, 50, 10, 10, d_model=32, N=2, h=4, d_ff=64).eval()
source, target = torch.randint(3, 50, (1, 6)), torch.randint(3, 50, (1, 5))


def changed(source_after: Tensor, target_after: Tensor, mask: Tensor | None) -> list[int]:
    """1 for each target position whose prediction is no longer the same."""
    before = model(source, target, None, mask)
    after = model(source_after, target_after, None, mask)
    return ((before - after).abs().amax(dim=-1)[0] > 1e-4).int().tolist()


for mask, name in ((look_ahead_mask(5), "with the look-ahead mask"), (None, "without")):
    print(name)
    for position in range(5):
        other = target.clone()
        other[0, position] += 1 if other[0, position] < 49 else -1
        print(f"  token {position} replaced: {changed(source, other, mask)}")
other_source = source.clone()
other_source[0, 3] = 1
print("source token replaced:", changed(other_source, target, look_ahead_mask(5)))

# %% [markdown]
r"""
With the mask, token j influences the predictions at j and after it, never before: a triangle, the
same that the mask describes. It stays a triangle through any number of blocks, since every path
leads forwards. A source token influences every prediction.

## What a leak looks like

The classic report reads: *98 % accuracy in training and in validation, and the translations are
nonsense.* To see how this happens, take a task that cannot be learned: the target consists of
random digits that have nothing to do with the source. The best possible accuracy is 10 %. Train one
model with the mask and one without, test both on new sentences, and then let both write by
themselves. **Predict** all four accuracies.
"""

# %%
BOS, LENGTH = 10, 6


def random_pairs(count: int) -> tuple[Tensor, Tensor]:
    """Sources and unrelated targets (count, LENGTH) of random digits."""
    return torch.randint(0, 10, (count, LENGTH)), torch.randint(0, 10, (count, LENGTH))


def write(model: torch.nn.Module, source: Tensor, mask: Tensor | None) -> Tensor:
    """Greedy decoding: append the most likely token, LENGTH times."""
    written = torch.full((len(source), 1), BOS)
    for size in range(1, LENGTH + 1):
        visible = None if mask is None else mask[..., :size, :size]
        best = model(source, written, None, visible)[:, -1:].argmax(dim=-1)
        written = torch.cat([written, best], dim=1)
    return written[:, 1:]


print("                new sentences   writing by itself")
for mask, name in ((look_ahead_mask(LENGTH), "with the mask"), (None, "without")):
    _ = torch.manual_seed(11)
    small = build_transformer(11, 11, 6, 6, d_model=32, N=1, h=4, dropout=0.0, d_ff=64)
    optimizer = torch.optim.Adam(small.parameters(), lr=3e-3)
    for _step in range(150):
        source, labels = random_pairs(64)
        log_probabilities = small(source, shift_right(labels, BOS), None, mask)
        optimizer.zero_grad()
        F.nll_loss(log_probabilities.flatten(0, 1), labels.flatten()).backward()
        optimizer.step()
    with torch.inference_mode():
        source, labels = random_pairs(5000)
        given = small(source, shift_right(labels, BOS), None, mask).argmax(dim=-1)
        given_share = (given == labels).float().mean()
        written_share = (write(small, source, mask) == labels).float().mean()
    print(f"{name:14} {100 * given_share:13.0f} % {100 * written_share:16.0f} %")

# %% [markdown]
r"""
Without the mask the model *predicts random digits* on sentences it has never seen. The decoder's
input is the target shifted by one, so the answer for position i is at position i + 1, and one
attention head suffices to fetch it. Only at the last position must it guess, because nothing
follows that position: (5 · 100 % + 10 %) / 6 = 85 %. When the model writes by itself there is never
a next position to copy from, and it guesses like the other model.

Validation cannot detect this, because it feeds the target in the same way. Decoding can, and so can
the test above with a changed token.

## Reading the source

Cross-attention is the only way by which the source enters the decoder. The next cell
shows its weights in the translator that comes with clearhead, for a sentence whose word order
differs in French.
**Predict:** where is the largest weight in the row in which the French adjective is written?
"""

# %%
translator = Translator.from_pretrained(engine="readable")
pair = sentence_pair(
    translator, "She bought a red car yesterday.", "Elle a acheté une voiture rouge hier."
)
cross = of_kind(attention_maps(translator, pair), "cross")
print("(decoder layers, heads, target, source):", cross.weights.shape)
average = cross.layer(cross.alignment_layer).mean(0)  # (target, source)
for token, row in zip(cross.queries, average, strict=True):
    print(f"{token:10} {row.max():.2f} at {cross.keys[int(row.argmax())]}")


# %% tags=["hide-input"]
def draw_cross() -> Figure:
    """Cross-attention as a heat map: French tokens as rows, English tokens as columns."""
    figure = Figure(figsize=(6, 4.6))
    axes = figure.subplots()
    image = axes.imshow(average, cmap=WEIGHTS, vmin=0, vmax=1)
    axes.set_xticks(range(len(cross.keys)), cross.keys, rotation=45)
    axes.set_yticks(range(len(cross.queries)), cross.queries)
    axes.set(xlabel="source token (key)", ylabel="token to be written (query)")
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="weight, average of the heads", aspect=25)
    return figure


show_figure(draw_cross)

# %% [markdown]
r"""
The rows follow the French order, the columns the English one, and where the orders differ, as in
*voiture rouge*, the large weights leave the diagonal. This looks like an alignment of words, and
often is close to one. It is not one by construction: a head may rest on the full stop or on `</s>`
when it needs nothing from the source, and another layer shows another picture. On the grammar
corpus, whose alignments are known, `clearhead evaluate` measures the alignment error rate of each
head.

The memory does not change while the target is written. Its keys and values can be computed once per
sentence; chapter 14 uses this.

## Exercises
"""

# %%
show_exercises(11)

# %% [markdown]
r"""
## Common mistakes

- **The target mask is not passed on,** or its polarity is inverted. *How to notice:* loss and
  accuracy are far too good; the test with a changed token shows ones before the changed position.
- **The masks swapped.** With src_len ≠ tgt_len this raises an error; with equal lengths it leaks.
  *How to notice:* test with unequal lengths.
- **Queries from the encoder.** The sublayer's output then has the length of the source, and it is
  added to vectors of the target. *How to notice:* unequal lengths, again.
- **The source mask forgotten in cross-attention.** The decoder reads the padding of the source.
  *How to notice:* the translation of a sentence depends on the batch.
- **Each layer reads the previous layer's output as memory.** All layers must read the encoder's
  final output.
- **Input not shifted.** If position i reads token i and predicts token i, the mask does not help:
  the answer is among the visible tokens. *How to notice:* the first input token must be the BOS
  token; chapter 13.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, sections 3.1 and 3.2.3.
- Bahdanau, Cho and Bengio 2015, *Neural Machine Translation by Jointly Learning to Align and
  Translate*.
- Jain and Wallace 2019, *Attention is not Explanation*; Wiegreffe and Pinter 2019, *Attention is
  not not Explanation*.
- Alammar 2018, *The Illustrated Transformer*, "The Decoder Side".
"""
