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
# 9. Residual connections

**The question.** We have attention, the feed-forward network and the norm. Apply them one after the
other, twelve times, and the model does not learn. Nothing is wrong with any part. What is missing
between them?
"""

# %%
from collections.abc import Callable

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn import functional as F

from clearhead.blocks import (
    Encoder,
    EncoderBlock,
    FeedForwardBlock,
    InputEmbeddings,
    LayerNormalization,
    MultiHeadAttentionBlock,
    PositionalEncoding,
    PostNormResidualConnection,
    ProjectionLayer,
    ResidualConnection,
)
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREEN, GREY, INK, ORANGE, PINK

# %% [markdown]
r"""
## The idea

Let every sublayer compute a *correction*, and add it to its input instead of replacing the input.
The input then travels unchanged along a line from the first layer to the last, and each sublayer
reads from this line and writes to it. The line is called the **residual stream**. The gradient
travels back along this line just as directly.

Where is the norm placed? In *pre-norm* (left) it is part of the branch, and the stream itself is
never normalized. In *post-norm* (right), as the paper's figure 1 has it, each sum is normalized.
"""


# %% tags=["hide-input"]
def draw_both() -> Figure:
    """Pre-norm: norm and sublayer in a branch beside the stream. Post-norm: norm on the stream."""
    figure = Figure(figsize=(8, 3.6))
    for axes, title in zip(figure.subplots(1, 2), ("pre-norm", "post-norm"), strict=True):
        axes.annotate("", (0, 4.8), (0, 0), arrowprops={"arrowstyle": "->", "color": GREY})
        for y in (0.4, 2.6):
            axes.plot([0, 1.6, 1.6, 0], [y, y, y + 1.3, y + 1.3], color=GREY, linewidth=1)
            at = (0.8, y) if title == "pre-norm" else (0, y + 1.75)
            for x, height, text, colour in (
                (1.6, y + 0.65, "sublayer", BLUE), (*at, "norm", ORANGE), (0, y + 1.3, "+", INK),
            ):  # fmt: skip
                frame = {"facecolor": "#ffffff", "edgecolor": "#ffffff" if text == "+" else colour}
                axes.text(x, height, text, color=colour, ha="center", va="center", bbox=frame)
        axes.text(0.1, 0, "x", color=INK)
        axes.set(xlim=(-0.8, 2.4), ylim=(-0.1, 4.9), title=title)
        axes.axis("off")
    return figure


show_figure(draw_both)

# %% [markdown]
r"""
## The formula

$$\text{pre-norm:}\quad x + \text{Dropout}(\text{Sublayer}(\text{Norm}(x)))$$

$$\text{post-norm:}\quad \text{Norm}(x + \text{Dropout}(\text{Sublayer}(x)))$$

| symbol | shape | what it holds |
|---|---|---|
| $x$ | (batch, seq_len, d_model) | the residual stream |
| Sublayer | function, same shape to same shape | attention or the feed-forward network |
| Norm | (batch, seq_len, d_model) → the same | the connection's own layer norm, chapter 7 |

The sum is the reason why everything in a Transformer has the same width d_model.

## The source

`sublayer` is a function of one argument. A feed-forward block is one already; attention needs three
inputs and a mask, so its caller passes a `lambda` (chapter 10).
"""

# %%
show_source("clearhead.blocks.residual:ResidualConnection.forward")
show_source("clearhead.blocks.residual:PostNormResidualConnection.forward")

# %% [markdown]
r"""
## What arrives at the first layer?

Build a stack of 24 encoder blocks (48 sublayers) in four ways and do one backward pass at the
initial weights. The third way is a mistake that was found in four public repositories: after
`x = norm(x)`, the *normalized* input is added to the sublayer's output. **Predict:** in which of
the four does the first block get a much smaller gradient than the last?
"""


# %%
class NoResidual(nn.Module):
    """The sublayer's output replaces its input."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Sublayer only."""
        return sublayer(x)


class NormedInputAdded(ResidualConnection):
    """The mistake of four repositories."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """norm(x) + sublayer(norm(x))"""
        x = self.norm(x)
        return x + sublayer(x)


D = 32  # d_model
CONNECTIONS: dict[str, Callable[[], nn.Module]] = {
    "no residual": NoResidual,
    "post-norm": lambda: PostNormResidualConnection(0.0, LayerNormalization(D)),
    "normed input added": lambda: NormedInputAdded(0.0, LayerNormalization(D)),
    "pre-norm": lambda: ResidualConnection(0.0, LayerNormalization(D)),
}


def stack(connection: str, depth: int) -> Encoder:
    """`depth` encoder blocks with this connection, initialized as in the whole model."""
    blocks = nn.ModuleList()
    for _block in range(depth):
        attend, feed_forward = MultiHeadAttentionBlock(D, 4, 0.0), FeedForwardBlock(D, 64, 0.0)
        blocks.append(EncoderBlock(attend, feed_forward, 0.0, CONNECTIONS[connection]))
    for parameter in blocks.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    return Encoder(blocks, LayerNormalization(D))


gradients = {}
for connection in CONNECTIONS:
    _ = torch.manual_seed(9)
    encoder = stack(connection, 24)
    x, direction = torch.randn(2, 8, 10, D)
    (encoder(x) * direction).sum().backward()
    weights = [layer.feed_forward_block.linear_1.weight for layer in encoder.layers]
    norms = gradients[connection] = [weight.grad.norm().item() for weight in weights]
    print(f"{connection:19} first block / last block: {norms[0] / norms[-1]:.3g}")


# %% tags=["hide-input"]
def draw_gradients() -> Figure:
    """Gradient norms by block: without residual connections they vanish towards the input."""
    figure = Figure(figsize=(8, 3.6))
    axes = figure.subplots()
    for (name, norms), colour in zip(gradients.items(), (ORANGE, GREEN, PINK, BLUE), strict=True):
        axes.plot(range(1, 25), norms, color=colour, label=name)
    axes.set(yscale="log", xlabel="block, from the input (1) to the output (24)")
    axes.set_ylabel("norm of the gradient")
    axes.legend()
    return figure


show_figure(draw_gradients)

# %% [markdown]
r"""
Without residual connections the gradient shrinks by a roughly constant factor in every block; on a
logarithmic axis this is a straight line. The first blocks are hardly trained at all. With any of
the three sums, the gradient has a direct path and arrives.

So at the initial weights, the mistake looks as healthy as the right versions. It differs in another
way: nothing passes through *unchanged*. To see it, set all sublayers to zero. **Predict:** what do
the four stacks return (without the final norm) for an x whose elements have a standard deviation of
10?
"""

# %%
for connection in CONNECTIONS:
    encoder = stack(connection, 6)
    for layer in encoder.layers:
        for sublayer in (layer.self_attention_block.w_o, layer.feed_forward_block.linear_2):
            nn.init.zeros_(sublayer.weight)
            nn.init.zeros_(sublayer.bias)
    encoder.norm = nn.Identity()
    x = 10 * torch.randn(2, 5, D)
    output = encoder(x)
    print(f"{connection:19} std {output.std():5.2f}, equal to x: {torch.equal(output, x)}")

# %% [markdown]
r"""
Only pre-norm returns x. This is a good test of any implementation: with silent sublayers, a
pre-norm stack must be the identity, exactly. The mistaken version normalizes the stream at each
sublayer, like post-norm, but lacks post-norm's norm of the *output*.

## And in training?

Stacks of eight blocks learn to write eight tokens in reverse order, with Adam at a constant
learning rate and no warm-up. A random guess among 20 tokens has a loss of ln 20 = 3.0. **Predict**
the ranking after 100 steps:
"""


# %%
class Reversal(nn.Module):
    """Embedding, positions, eight blocks, projection."""

    def __init__(self, connection: str) -> None:
        super().__init__()
        self.embed, self.positions = InputEmbeddings(D, 20), PositionalEncoding(D, 8)
        self.encoder, self.projection = stack(connection, 8), ProjectionLayer(D, 20)
        nn.init.normal_(self.embed.embedding.weight, std=D**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, 8) -> log-probabilities (batch, 8, 20)"""
        return self.projection(self.encoder(self.positions(self.embed(ids))))


for connection in CONNECTIONS:
    _ = torch.manual_seed(9)
    model = Reversal(connection)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for _step in range(100):
        ids = torch.randint(0, 20, (24, 8))
        loss = F.nll_loss(model(ids).flatten(0, 1), ids.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"{connection:19} loss of the last ten steps: {sum(losses[-10:]) / 10:.1f}")

# %% [markdown]
r"""
Pre-norm is ahead, without residual connections the loss has hardly moved, and the other two are
between. More steps, a warm-up of the learning rate, and careful initialization let post-norm catch
up: the paper trained six layers with it, with 4,000 warm-up steps. Xiong et al. (2020) explain why:
near the output, post-norm has large gradients at the beginning, and the warm-up keeps the first
steps small.

## Exercises
"""

# %%
show_exercises(9)

# %% [markdown]
r"""
## Common mistakes

- **norm(x) + f(norm(x)).** Usually caused by overwriting x: `x = self.norm(x)` and then
  `return x + …`. *How to notice:* silent sublayers must give the identity, as above.
- **Dropout on the sum.** It zeroes elements of the stream itself, for all later layers. Dropout
  belongs on the sublayer's output. *How to notice:* with dropout 1 in training mode, the block must
  return x.
- **Pre-norm and post-norm confused.** The paper's figure and text are post-norm; the code published
  with it soon changed to pre-norm, and most tutorials have pre-norm without saying so. A checkpoint
  works with the order of its training only. *How to notice:* the outputs are wrong from the first
  layer.
- **One norm for all sublayers.** Every connection must have its own α and bias. *How to notice:*
  count the parameters.
- **`x += sublayer(x)`.** The in-place sum changes the caller's tensor, and autograd may refuse it.

## Further reading

- He, Zhang, Ren and Sun 2016, *Deep Residual Learning for Image Recognition*.
- Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*.
- Wang et al. 2019, *Learning Deep Transformer Models for Machine Translation*: pre-norm with 30
  layers.
- Elhage et al. 2021, *A Mathematical Framework for Transformer Circuits*: the residual stream.
"""
