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
# 7. Layer normalization

**The question.** In the paper's model, the longest path from a source token to a prediction leads
through 29 sublayers: 12 in the encoder and 17 in the decoder, which it enters after the first
self-attention. If each of them enlarged its input by a factor of 1.5, the result would be about
128,000 times too large; with a factor of 0.7 it would be almost zero. How can a stack keep its
vectors at a useful size, whatever its weights are?
"""

# %%
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn import functional as F

from clearhead.blocks import BiasedLayerNormalization, LayerNormalization
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREEN, GREY, ORANGE

# %% [markdown]
r"""
First the problem itself: 20 random linear layers of width 64, whose weights have the standard
deviation gain / √64. At a gain of 1 each layer keeps the size of its input on average. **Predict:**
how large are the elements after 20 layers at a gain of 2, and at a gain of 0.5?
"""


# %%
def deviations(gain: float, norm: nn.Module) -> list[float]:
    """The standard deviation of the elements after 0, 1, … 20 linear layers, each with `norm`."""
    _ = torch.manual_seed(7)
    x = torch.randn(32, 64)
    found = [x.std().item()]
    for _layer in range(20):
        x = norm(x @ torch.randn(64, 64) * gain / 64**0.5)
        found.append(x.std().item())
    return found


print("gain   20 layers   20 layers with norm")
for gain in (0.5, 1.0, 2.0):
    plain, normed = deviations(gain, nn.Identity()), deviations(gain, LayerNormalization(64))
    print(f"{gain:4} {plain[-1]:11.2g} {normed[-1]:18.2f}")

# %% [markdown]
r"""
$2^{20}$ is a million and $0.5^{20}$ a millionth. Training does not keep weights at a gain of 1, so
some correction must happen in every layer, all the time.

## The idea

Take the vector of one token, subtract the mean of its elements, and divide by their standard
deviation. Then let the model choose another scale and another offset for each feature, if it needs
them: two learned vectors, α and bias, which begin as 1 and 0. Nothing else enters: no other token,
no other sentence, no average from training.
"""


# %% tags=["hide-input"]
def draw_tokens() -> Figure:
    """Three tokens with different means and deviations; after the norm all are centred at 0."""
    _ = torch.manual_seed(3)
    scales, offsets = torch.tensor([0.3, 2.0, 1.0]), torch.tensor([0.5, 0.0, -3.0])
    x = torch.randn(3, 10) * scales[:, None] + offsets[:, None]
    figure = Figure(figsize=(8, 3.4))
    before, after = figure.subplots(1, 2, sharey=True)
    for axes, values, title in (
        (before, x, "input"),
        (after, LayerNormalization(10)(x).detach(), "after layer normalization"),
    ):
        for token, colour in enumerate((BLUE, ORANGE, GREEN)):
            bars = torch.arange(10) + 12 * token
            axes.bar(bars, values[token], color=colour, width=0.8)
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set_xticks([4.5, 16.5, 28.5], ["token 0", "token 1", "token 2"])
        axes.tick_params(axis="x", length=0)
        axes.set_title(title)
    before.set_ylabel("value of each of 10 features")
    return figure


show_figure(draw_tokens)

# %% [markdown]
r"""
The pattern within a token remains: which features are high and which are low. Its level and its
size are gone.

## The formula

$$\text{LayerNorm}(x) = \alpha \odot \frac{x - \mu}{\sigma + \epsilon} + \text{bias}, \qquad
\mu = \frac{1}{n} \sum_j x_j, \qquad
\sigma = \sqrt{\frac{1}{n - 1} \sum_j (x_j - \mu)^2}$$

| symbol | shape | what it holds |
|---|---|---|
| $x$ | (batch, seq_len, d_model) | n = d_model features for each token |
| $\mu, \sigma$ | (batch, seq_len, 1) | mean and standard deviation of each token's own features |
| $\alpha$, bias | (d_model,) | learned; shared by all tokens |
| $\epsilon$ | scalar | 10⁻⁶, so that a vector of equal numbers does not divide by zero |

## The source

`keepdim=True` leaves the reduced axis as a 1, so that (batch, seq_len, 1) broadcasts against
(batch, seq_len, d_model).
"""

# %%
show_source("clearhead.blocks.normalization:LayerNormalization.normalize")

# %% [markdown]
r"""
## What it removes

**Predict:** for which of these inputs is the output the same as for x: 10x, x + 100, −x, x with two
features swapped?
"""

# %%
_ = torch.manual_seed(7)
norm = LayerNormalization(6)
x = torch.randn(6)
swapped = x[[1, 0, 2, 3, 4, 5]]
rows = {"x": x, "10x": 10 * x, "x + 100": x + 100, "-x": -x, "two swapped": swapped}
for name, row in rows.items():
    print(f"{name:14}", " ".join(f"{value:6.2f}" for value in norm(row).tolist()))

# %% [markdown]
r"""
The first three rows are equal. The norm removes scale and offset; sign and order stay. This has a
consequence for training. If the output does not change when x is scaled, the gradient has no
component in the direction of x − μ. And if x is ten times as large, a step of the same size changes
the output only a tenth as much. **Predict** the sum of the gradient's elements and its dot product
with x − μ:
"""

# %%
target = torch.randn(6)
for scale in (1, 10):
    point = (scale * x).requires_grad_()
    ((norm(point) - target) ** 2).sum().backward()
    gradient = point.grad
    along = gradient @ (point.detach() - point.detach().mean())
    print(
        f"input {scale:2}x: norm of the gradient {gradient.norm():.3f}, "
        f"sum {abs(gradient.sum()):.3f}, along x − μ {abs(along):.3f}"
    )

# %% [markdown]
r"""
Both are 0, and the gradient at the tenfold input is a tenth as large. Weights whose output has
become too large therefore receive smaller gradients, without any rule for it.

## Which axis?

The mean runs over the features of one token. Two other choices have the right shape as well: over
the positions of the sentence (`dim=-2`), and over the batch, as batch normalization does in image
models. Change one token of one sentence. **Predict:** the outputs of which other tokens change?
"""


# %%
def over_positions(x: Tensor) -> Tensor:
    """Normalize each feature over the sentence: wrong for a Transformer."""
    return (x - x.mean(dim=-2, keepdim=True)) / x.std(dim=-2, keepdim=True)


def batch_norm(x: Tensor) -> Tensor:
    """Normalize each feature over all tokens of the batch."""
    return F.batch_norm(x.transpose(1, 2), None, None, training=True).transpose(1, 2)


x = torch.randn(2, 5, 8)  # (batch, seq_len, d_model)
changed = x.clone()
changed[0, 3] += torch.randn(8)  # token 3 of sentence 0
for name, f in (
    ("features (layer norm)", LayerNormalization(8)),
    ("positions", over_positions),
    ("batch and positions", batch_norm),
):
    moved = ((f(x) - f(changed)).abs().amax(dim=-1) > 1e-4).int().tolist()
    print(f"{name:22} sentence 0: {moved[0]}  sentence 1: {moved[1]}")

# %% [markdown]
r"""
A 1 marks a token whose output changed. Over the features, it is the changed token alone. Over the
positions, each token of the sentence changes: padding would influence the result, and in a decoder
the future would. Over the batch, even another sentence changes; a translation would depend on the
sentences that happen to be translated with it. With layer normalization, a sentence gives the same
result alone and in a batch, and causality is preserved.

## Two formulas with one name

The course, like most tutorials, computes the standard deviation with `x.std()`, which divides by
n − 1, and adds ε to it afterwards. Ba et al. divide by n, without an ε; `torch.nn.LayerNorm`
divides by n and adds ε inside the root. Exercise 7.3 asks for an example with n = 4. How much does
it matter at real widths?
"""

# %%
for n in (4, 64, 512):
    x = torch.randn(1000, n)
    ours, theirs = LayerNormalization(n)(x), F.layer_norm(x, (n,))
    ratio = (theirs / ours).median().item()
    equal = torch.allclose(BiasedLayerNormalization(n)(x), theirs)
    print(f"n = {n:3}: torch's result is {ratio:.4f} times ours; biased variant equal: {equal}")

# %% [markdown]
r"""
The ratio is √(n / (n − 1)): 15 % for four features, 0.1 % for 512. A model trained with either
formula adapts to it, so neither is wrong. But weights trained with one and run with the other
differ slightly in every norm, and 30 norms add up. The block that loads BERT and GPT-2 is therefore
`BiasedLayerNormalization`.

## Exercises
"""

# %%
show_exercises(7)

# %% [markdown]
r"""
## Common mistakes

- **`keepdim` forgotten.** (batch, seq_len) does not broadcast against (batch, seq_len, d_model),
  and torch reports sizes that do not match. With batch 1 and seq_len equal to d_model it does
  broadcast, and the result is wrong without an error. *How to notice:* test with sizes that are all
  different.
- **The wrong axis**, as above. *How to notice:* change one token; no other output may change.
- **Parentheses.** `x - mean / (std + eps)` divides only the mean. *How to notice:* the output's
  standard deviation must be 1.
- **Variance instead of standard deviation.** Invisible for inputs of deviation 1, which is what a
  test with `torch.randn` has. *How to notice:* normalize 10x; the result must be that of x.
- **α and bias as plain tensors.** A tensor that is not an `nn.Parameter` is neither trained nor
  saved. *How to notice:* `len(list(norm.parameters()))` must be 2.
- **A norm converted to 16 bits.** Mean and variance of 512 numbers lose digits in bfloat16; torch's
  kernel sums in float32 for this reason.

## Further reading

- Ba, Kiros and Hinton 2016, *Layer Normalization*.
- Vaswani et al. 2017, *Attention Is All You Need*, section 3.1. Position of the norm: chapter 9.
- Xu et al. 2019, *Understanding and Improving Layer Normalization*: its gradients matter most.
- Zhang and Sennrich 2019, *Root Mean Square Layer Normalization*: the same without the mean.
"""
