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
# 16. Making it fast

**The question.** The blocks are written to be read. The same model, with the same weights, can
translate several times faster on the same processor. Where does the time go, which part of it can
be saved, and how do you know that the fast version still computes the same thing?
"""

# %%
import random
import time
from itertools import islice

import torch
from matplotlib.figure import Figure

from clearhead import Translator
from clearhead.blocks import ProjectionLayer
from clearhead.data.grammar import generate
from clearhead.decoding import DecodingOptions
from clearhead.decoding.readable import batches_by_tokens
from clearhead.fast.loss import projected_cross_entropy
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import plain_log_ticks
from clearhead.training.objective import cross_entropy

# %% [markdown]
r"""
## The idea

A processor does two things: it computes, and it moves numbers from memory. A program takes as long
as the slower of the two. Almost all of a Transformer is products of an (n × k) with a (k × m)
matrix, so both sides can be counted.

## The formula

$$\text{operations} = 2\,n\,k\,m, \qquad \text{bytes} = b\,(n k + k m + n m), \qquad
\text{intensity} = \frac{\text{operations}}{\text{bytes}}$$

| symbol | what it is |
|---|---|
| $n$ | rows: the tokens that are computed together |
| $k$, $m$ | inputs and outputs of the linear layer: (k, m) is the weight matrix |
| $b$ | bytes of one element: 4 in float32, 2 in bfloat16, 1 in int8 |

For one row (a single token) the weight matrix is read once and each weight is used once: 2
operations for 4 bytes. With a hundred rows the same weights are used a hundred times. So there are
two worlds: *one sentence at a time* is limited by memory, *a large batch* by arithmetic. An
optimization that helps in one may do nothing in the other.
"""


# %% tags=["hide-input"]
def intensity(n: int, k: int, m: int, size: int) -> float:
    """Operations per byte of one matrix product."""
    return 2 * n * k * m / (size * (n * k + k * m + n * m))


def draw_intensity() -> Figure:
    """Operations per byte against the number of rows, with the balance of a processor core."""
    figure = Figure(figsize=(7.5, 3.4))
    axes = figure.subplots()
    rows = [2**i for i in range(12)]
    for number, (name, size) in enumerate((("float32", 4), ("bfloat16", 2), ("int8", 1))):
        values = [intensity(n, 256, 1024, size) for n in rows]
        axes.plot(rows, values, color=f"C{number}")
        axes.text(rows[-1] * 1.1, values[-1], name, color=f"C{number}", va="center")
    axes.axhline(10, color="C3", linestyle="--", linewidth=1)
    note = {"color": "C3", "ha": "right", "va": "top"}
    axes.text(5800, 8.5, "100 GFLOP/s, 10 GB/s: below, memory is the limit", **note)
    axes.set(xscale="log", yscale="log", xlim=(1, 6000))
    axes.set(xlabel="rows: tokens computed together", ylabel="operations per byte")
    plain_log_ticks(axes.xaxis)
    plain_log_ticks(axes.yaxis)
    return figure


show_figure(draw_intensity)

# %% [markdown]
"""
The dashed line is a typical processor core: it can do 10 operations in the time in which one byte
arrives. A single token is far below it in every format. There, smaller numbers are faster *because
they are smaller*, even if the arithmetic is no cheaper.

## Three kinds of savings

| kind | examples in the library | result |
|---|---|---|
| compute less | the cache (chapter 14), batches of similar length | the same |
| move less data | fused loss, prepacked weights, one pass for the norm | the same, up to rounding |
| compute with lower precision | bfloat16, int8 | slightly different: must be measured |

Take them in this order. The first kind costs nothing and needs no code in C.

## The source

Batches of similar length: the whole trick is a sort.
"""

# %%
show_source("clearhead.decoding.readable:batches_by_tokens")

# %% [markdown]
"""
The loss of a large vocabulary, computed in chunks: `g` starts as the probabilities `p`, becomes
the gradient in place, and is then discarded. The gradient of softmax and cross-entropy is p minus
the smoothed labels: `add` subtracts 1 − s at the label, and s / V, the same for every token, is
subtracted once at the end.
"""

# %%
show_source("clearhead.fast.loss:Gradients.add")

# %% [markdown]
"""
## Experiment 1: padding is computed like words

600 sentences, of 2 to 30 words. We cut them into batches, once in the order of the file, 36
sentences each, and once with `batches_by_tokens`, at most 1,024 positions each. **Predict:** what
share of all positions is padding?
"""

# %%
short = [len(pair.source.split()) for pair in islice(generate("test", seed=5), 450)]
long = [len(pair.source.split()) for pair in islice(generate("long", seed=5), 150)]
lengths = short + long
random.Random(0).shuffle(lengths)


def padding_share(batches) -> float:
    """Padding among all positions of the batches."""
    positions = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    return 1 - sum(lengths) / positions


in_order = [range(start, min(start + 36, 600)) for start in range(0, 600, 36)]
by_length = list(batches_by_tokens(lengths, 1024))
print(f"{min(lengths)} to {max(lengths)} words, {sum(lengths):,} in all")
print(f"in the order of the file: {padding_share(in_order):.0%} padding")
print(f"sorted by length:         {padding_share(by_length):.0%} padding")

# %% [markdown]
"""
Almost two thirds of the work in file order is padding: one long sentence makes its 35 neighbours
long. Sorting reduces it to 17 %, for a line of code. The results return in the order of the file,
because a batch is a list of indices.

## Experiment 2: the same loss with less memory

The readable loss writes (tokens, vocab) elements four times: logits, log-probabilities, and the
gradient of each. For 2,048 tokens and 8,000 tokens of vocabulary that is 16 million elements each
time. The fused loss needs one chunk. **Predict:** how far may the two differ?
"""

# %%
torch.manual_seed(0)
projection = ProjectionLayer(32, 500)
hidden = torch.randn(200, 32, requires_grad=True)
labels = torch.randint(0, 500, (200,))

loss, _ = cross_entropy(projection, hidden, labels, 0.1)
gradients = torch.autograd.grad(loss, [hidden, projection.proj.weight])

linear = projection.proj
fused, _ = projected_cross_entropy(hidden, linear.weight, linear.bias, labels, 0.1)
fused_gradients = torch.autograd.grad(fused, [hidden, linear.weight])

print(f"loss, equal up to rounding: {torch.allclose(fused, loss, rtol=1e-5)}")
for name, ours, theirs in zip(("hidden", "weight"), fused_gradients, gradients, strict=True):
    close = torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    print(f"gradient of {name}, shape {tuple(ours.shape)}, equal up to rounding: {close}")

# %% [markdown]
"""
This is the pattern for every optimization in the library: the readable formula stays, the fast one
has the same signature, and a test compares outputs *and gradients*. A fast function without its
slow twin cannot be checked.

## Experiment 3: eight bits for a weight

Symmetric int8 quantization stores integers from −127 to 127 and a scale: weight ≈ integer · scale.
One scale can serve a whole matrix, or each row (each output of the layer) has its own. Our matrix
is random, except that one row has weights twenty times as large, as happens in trained models.

**Predict:** the relative error of an ordinary row in both cases.
"""

# %%
torch.manual_seed(1)
weight = torch.randn(64, 256)
weight[0] *= 20


def rounded(weight: torch.Tensor, largest: torch.Tensor) -> torch.Tensor:
    """What is left of the weights when `largest` becomes 127."""
    scale = largest / 127
    return (weight / scale).round() * scale


def error(found: torch.Tensor) -> str:
    """Size of the error relative to the weights: of row 0, and of all others."""
    relative = (found - weight).norm(dim=1) / weight.norm(dim=1)
    return f"large row {relative[0]:.2%}, other rows {relative[1:].mean():.2%}"


print("one scale for the matrix:", error(rounded(weight, weight.abs().max())))
print("one scale for each row:  ", error(rounded(weight, weight.abs().amax(dim=1, keepdim=True))))
print("bfloat16:                ", error(weight.to(torch.bfloat16).float()))

# %% [markdown]
"""
A shared scale must cover the large row, so an ordinary row uses only a few of the 255 integers:
its error is 15 %. With one scale for each row every row has an error of 0.7 %, and the large row
is exactly as good as before. The scales cost four bytes for each row of 256. Each output of a
layer is one row, so the scale is multiplied once per output, after the integer products have been
summed.

## Experiment 4: the two engines

The shipped translator, three times: the block files in PyTorch, the native engine in float32, and
the native engine in int8. **Predict:** how many of 40 translations are the same?
"""

# %%
sentences = [pair.source for pair in islice(generate("test", seed=9), 40)]
runs = {
    "readable, float32": Translator.from_pretrained(engine="readable", threads=1),
    "native, float32": Translator.from_pretrained(engine="native", threads=1),
    "native, int8": Translator.from_pretrained(engine="native", precision="int8", threads=1),
}
options = DecodingOptions(beam_size=1)
found = {}
for name, translator in runs.items():
    translator.translate_detailed(sentences[:20], options)  # warm up: the first call is slower
    began = time.process_time()  # of the processor: other programs do not count
    found[name] = [best[0].ids for best in translator.translate_detailed(sentences, options)]
    seconds = time.process_time() - began
    same = sum(a == b for a, b in zip(found[name], found["readable, float32"], strict=True))
    print(f"{name:18} {seconds:6.2f} s, {same} of 40 translations equal, token by token")

# %% [markdown]
"""
The times are those of the machine that ran this cell, on one core; run it on yours. The equality
does not depend on the machine: in float32 both engines compute the same function, up to rounding.
In int8 a sentence may change where two tokens are almost equally probable. Whether such changes
matter is a question for chapter 15: compare BLEU before and after.

## Exercises
"""

# %%
show_exercises(16)

# %% [markdown]
"""
## Common mistakes

- *Unequal races.* One program with beam 5 and one with beam 1, one with four threads and one with
  one, one padded to 512. How to notice: a benchmark that does not print beam, batch, threads,
  maximum length and precision has no result.
- *The first call is measured.* It loads libraries, allocates memory and compiles. Warm up, repeat,
  and report the median, or the minimum if the machine is shared.
- *int8 is not faster.* For large batches on a processor without int8 instructions, converting
  costs more than it saves. For one sentence the gain is the memory traffic. Measure your case.
- *Dropout in the fused attention.* `F.scaled_dot_product_attention` drops weights whenever
  `dropout_p` is above 0, in evaluation mode as well. Pass 0 when not training.
- *Fast and wrong.* A cache that is not reordered, or a mask that is skipped "because it hides
  nothing here", passes a test with one sentence. Compare token by token, on batches of unequal
  lengths.

## Further reading

- Williams, Waterman and Patterson 2009, *Roofline*: operations, bytes, and the slower of the two.
- Dao et al. 2022, *FlashAttention*: attention without writing its weights to memory.
- Jacob et al. 2018, *Quantization and Training of Neural Networks for Integer-Arithmetic-Only
  Inference*.
- Dettmers et al. 2022, *LLM.int8()*: why a few features are much larger than the rest.
"""
