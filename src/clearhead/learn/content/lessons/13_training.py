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
# 13. Training

**The question.** A translator writes one token after the other, and each token depends on those
before it. If it were trained in the same way, a sentence of 30 tokens would need 30 forward
passes. The Transformer needs one. How can a model learn to predict every token of a sentence at
once, when the sentence is its own input?
"""

# %%
import math

import matplotlib as mpl
import torch
from matplotlib.figure import Figure

from clearhead import build_transformer
from clearhead.blocks import decoder_mask, look_ahead_mask, padding_mask, shift_right
from clearhead.decoding import DecodingOptions, decode
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.training.objective import cross_entropy
from clearhead.training.recipe import make_schedule

PAD, BOS, EOS = 0, 1, 2

# %% [markdown]
"""
## The idea

Give the decoder the *true* translation, shifted right by one position: position i receives token i
− 1 and must predict token i. The look-ahead mask hides everything to the right, so no position
sees its own answer. This is **teacher forcing**: the prefix comes from the reference, never from
the model, and all positions are trained in parallel.
"""


# %% tags=["hide-input"]
def draw_shift() -> Figure:
    """Each row predicts one label from the shifted tokens that the look-ahead mask leaves."""
    tokens, labels = ["<s>", "Un", "homme", "rit", "."], ["Un", "homme", "rit", ".", "</s>"]
    figure = Figure(figsize=(7, 3.4))
    axes = figure.subplots()
    visible = look_ahead_mask(5)[0, 0]
    for row in range(5):
        for column in range(5):
            seen = bool(visible[row, column])
            color = "C0" if seen else mpl.rcParams["axes.edgecolor"]
            axes.text(
                column, row, tokens[column], ha="center", va="center", color=color,
                alpha=1 if seen else 0.35,
            )  # fmt: skip
        axes.text(5.6, row, f"→  {labels[row]}", va="center", color="C1")
    axes.text(2, -0.95, "decoder input: the labels, shifted right", ha="center")
    axes.text(5.9, -0.95, "label", ha="center", color="C1")
    axes.set(xlim=(-0.6, 6.8), ylim=(4.6, -1.3))
    axes.set_yticks(range(5), [f"position {i}" for i in range(5)])
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


show_figure(draw_shift)

# %% [markdown]
r"""
The last label is the EOS token. It counts like any word: a model that is not trained to predict it
never stops writing.

## The formula

For one position with label y, smoothing s and V tokens:

$$L = -(1 - s)\,\log p_y \;-\; s\,\frac{1}{V}\sum_{v} \log p_v$$

| symbol | shape | what it holds |
|---|---|---|
| $\log p$ | (tokens, vocab) | log-probabilities of all positions that are not padding |
| $y$ | (tokens,) | the labels |
| $s$ | a number | 0.1 in the paper; 0 gives plain cross-entropy |
| $L$ | (tokens,) | averaged to one number, over real tokens only |

With s = 0 the loss is $-\log p_y$. Its exponential is the **perplexity**: a perplexity of 20 means
that the model is as uncertain as between 20 equally probable tokens.

**Label smoothing** replaces the target "all probability on y" by "1 − s on y and s spread over all
tokens". It keeps the logits finite. Without it, the loss of an example can always be lowered by a
larger logit for the label.

The optimizer is Adam, with the learning rate of equation 3:

$$lr = d_{model}^{-0.5} \cdot \min(step^{-0.5},\; step \cdot warmup^{-1.5})$$

## The source
"""

# %%
show_source("clearhead.blocks.masks:shift_right")
show_source("clearhead.training.objective:predict")
show_source("clearhead.training.objective:cross_entropy")
show_source("clearhead.training.objective:_smoothed")

# %% [markdown]
"""
`hidden[real]` removes the padding by *indexing*. Multiplying the losses by 0 at padding is not the
same: if one of them is NaN or infinite, its product with 0 is NaN.

## Experiment 1: two numbers to know before any training

**Predict:** an untrained model has 8,000 tokens to choose from. What is its loss? And with
smoothing 0.1, what is the loss of a *perfect* model?
"""

# %%
V, s = 8000, 0.1
print(f"untrained: ln {V} = {math.log(V):.3f}")

best = torch.full((V,), s / V)
best[7] += 1 - s  # the smoothed target itself is the best prediction
label = torch.tensor([7])
floor, nll = cross_entropy(torch.nn.Identity(), best.log()[None], label, s)
print(f"perfect, smoothing {s}: loss {floor:.3f}, plain loss {nll:.3f}")

certain = torch.full((V,), 1e-12)
certain[7] = 1.0
loss, nll = cross_entropy(torch.nn.Identity(), certain.log()[None], label, s)
print(f"certain, smoothing {s}: loss {loss:.3f}, plain loss {abs(nll):.3f}")

# %% [markdown]
"""
A first loss far above 8.987 points to a mistake in the initialization (chapter 12). The smoothed
loss of a perfect model is 1.224, not 0: compare smoothed losses only with smoothed losses of the
same s and V. And certainty is punished: the model that gives each wrong token the probability 10⁻¹²
has nearly the best possible plain loss and a worse smoothed one, 2.763. The smaller this
probability, the larger the smoothed loss; at 0 it is infinite.

## Experiment 2: train a model, and train it wrongly

The task: reverse a sequence of 3 to 5 letters. It needs everything that translation needs:
reading, order, writing, stopping. We train the same small Transformer twice for 200 steps. The
second time, the shift is forgotten: the decoder's input *is* the labels.

**Predict:** which of the two has the lower training loss? Which one reverses new sequences?
"""


# %%
def examples(count: int, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    """Sequences of letters (ids 3 to 10) and their reversals; both end with EOS, then padding."""
    length = torch.randint(3, 6, (count, 1), generator=generator)
    letters = torch.randint(3, 11, (count, 6), generator=generator)
    position = torch.arange(6)
    end = torch.where(position == length, EOS, PAD)
    backwards = letters.gather(1, (length - 1 - position).clamp(min=0))
    return tuple(torch.where(position < length, x, end) for x in (letters, backwards))


def train(decoder_input, steps: int = 200) -> tuple[torch.nn.Module, list[float]]:
    """A small Transformer, trained on reversals; the loss of every step."""
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    model = build_transformer(11, 11, 6, 6, d_model=32, N=1, h=4, dropout=0.0, d_ff=64)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, betas=(0.9, 0.98))
    losses = []
    for _ in range(steps):
        src, labels = examples(64, generator)
        tgt, src_mask = decoder_input(labels), padding_mask(src, PAD)
        memory = model.encode(src, src_mask)
        hidden = model.decode(memory, src_mask, tgt, decoder_mask(tgt, PAD))
        real = labels != PAD
        loss, _ = cross_entropy(model.projection_layer, hidden[real], labels[real], 0.0)
        loss = loss / real.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return model.eval(), losses


def exact(model) -> float:
    """The share of 200 new sequences that greedy decoding reverses without a mistake."""
    src, tgt = examples(200, torch.Generator().manual_seed(3))
    without = [[i for i in row if i not in (PAD, EOS)] for row in tgt.tolist()]
    sources = [[i for i in row if i != PAD] for row in src.tolist()]
    found = decode(model, sources, DecodingOptions(beam_size=1, max_length=6))
    return sum(h[0].ids == t for h, t in zip(found, without, strict=True)) / 200


# %%
right, right_losses = train(lambda labels: shift_right(labels, BOS))
wrong, wrong_losses = train(lambda labels: labels)
runs = {"shifted": (right, right_losses), "not shifted": (wrong, wrong_losses)}
for name, (model, losses) in runs.items():
    print(f"{name:12} first loss {losses[0]:.2f}, last {losses[-1]:.4f}, exact {exact(model):.0%}")


# %% tags=["hide-input"]
def draw_losses() -> Figure:
    """The training loss of both runs: the wrong one soon falls far below the right one."""
    figure = Figure(figsize=(8, 3))
    axes = figure.subplots()
    for number, (name, (_, losses)) in enumerate(runs.items()):
        axes.plot(range(1, len(losses) + 1), losses, color=f"C{number}")
        axes.text(len(losses) + 3, losses[-1], name, color=f"C{number}", va="center")
    axes.set(xlabel="step", ylabel="loss per token", yscale="log", xlim=(0, 247))
    return figure


show_figure(draw_losses)

# %% [markdown]
"""
The wrong model has by far the lower loss, close to 0, and does not reverse a single sequence. In
training it copies position i of its input to its output; it never has to look at the source. When
it decodes there is nothing to copy. The right model has a higher loss and reverses about nine
sequences in ten.

Note the first losses: ln 11 = 2.40 is the loss of a model that prefers no token, and both start a
little above it, because a random model has random preferences. **A low loss is no evidence;
decoding is.**

## Experiment 3: warm-up

Adam divides each gradient by a running estimate of its size. In the first steps that estimate is
made from a handful of batches, so the steps are large and almost random in direction. Warm-up
keeps the learning rate small until the estimate is good. **Predict:** with d_model = 512 and 4,000
warm-up steps (the paper's values), what is the highest learning rate, and at which step?
"""

# %%
schedule = make_schedule("paper", peak=1.0, warmup=4000, steps=100_000, d_model=512)
for step in (1, 100, 4000, 16_000, 64_000):
    print(f"step {step:>6,}: {schedule(step):.2e}")

# %% [markdown]
"""
The two terms of the minimum meet at step = warmup, where the rate is 1/√(512 · 4,000) = 7.0e-04.
After that, four times the steps halve it. A longer warm-up also lowers the peak.

## Exercises
"""

# %%
show_exercises(13)

# %% [markdown]
"""
## Common mistakes

- *No shift, or two.* Some libraries shift inside the model (Hugging Face's `labels=`), some leave
  it to you. With none, you saw it above. With two, the model learns to predict the token after the
  next. How to notice: print the decoder's input and the labels of one sentence below each other,
  as text.
- *EOS left out of the loss.* Nothing teaches the model to stop; every translation runs to the
  length limit. How to notice: translations that start well and then repeat.
- *A mean over padding.* Dividing by batch · tgt_len makes the loss depend on how much the batch is
  padded. How to notice: pad the same batch more; the loss must not change.
- *No warm-up, or a learning rate that is too high, in a post-norm model.* The loss falls and every
  translation is the same short sentence: the decoder has become a language model that ignores its
  source. How to notice: translate two different sentences and compare.
- *Training and validation both at 98 % accuracy, and nonsense in translation.* The future leaks:
  the look-ahead mask is missing, transposed or inverted (chapter 3).

## Further reading

- Vaswani et al. 2017, sections 5.3 and 5.4.
- Szegedy et al. 2016, *Rethinking the Inception Architecture*: label smoothing.
- Bengio et al. 2015, *Scheduled Sampling*: what teacher forcing does not teach (exposure bias).
- Popel and Bojar 2018, *Training Tips for the Transformer Model*: batch size, warm-up, averaging.
- Karpathy 2019, *A Recipe for Training Neural Networks*: check the first loss, overfit one batch.
"""
