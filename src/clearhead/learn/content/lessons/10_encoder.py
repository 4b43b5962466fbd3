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
# 10. Encoder

**The question.** *I turned on the light. The box was very light.* Both sentences contain the token
*light*, with one row in the embedding matrix. French needs *lumière* in the first and *légère* in
the second. Where in the model do the two become different vectors?
"""

# %%
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from clearhead import Translator
from clearhead.blocks import (
    Encoder,
    EncoderBlock,
    FeedForwardBlock,
    InputEmbeddings,
    MultiHeadAttentionBlock,
    PositionalEncoding,
    padding_mask,
)
from clearhead.explain import trace
from clearhead.explain.attention import labels
from clearhead.explain.capture import capture
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREY, INK, ORANGE

# %% [markdown]
r"""
## The idea

An **encoder block** is self-attention followed by the feed-forward network, each in a residual
connection. Attention brings information from the other tokens, the feed-forward network processes
what has arrived, and the sum carries it on. An **encoder** is a stack of such blocks: equal in
structure, each with weights of its own. What goes in is one vector per token; what comes out is one
vector per token *in its context*.
"""


# %% tags=["hide-input"]
def draw_flow() -> Figure:
    """Two blocks over five tokens: attention connects all columns, feed-forward stays in one."""
    figure = Figure(figsize=(8, 3.8))
    axes = figure.subplots()
    words = ["The", "box", "was", "very", "light"]
    for block in range(2):
        low = 2.4 * block
        for x in range(5):
            for other in range(5):
                colour, width = (BLUE, 1.6) if other == 4 else (GREY, 0.4)
                axes.plot([x, other], [low, low + 1], color=colour, linewidth=width)
            colour = ORANGE if x == 4 else GREY
            axes.annotate(
                "",
                (x, low + 2.3),
                (x, low + 1.05),
                arrowprops={"arrowstyle": "->", "color": colour},
            )
        axes.text(4.3, low + 0.5, f"self-attention, block {block}", color=BLUE, va="center")
        axes.text(4.3, low + 1.6, f"feed-forward, block {block}", color=ORANGE, va="center")
    for x, word in enumerate(words):
        axes.text(x, -0.35, word, ha="center", color=INK)
    axes.set(xlim=(-0.5, 6.6), ylim=(-0.5, 4.9))
    axes.axis("off")
    return figure


show_figure(draw_flow)

# %% [markdown]
r"""
A single block already connects every token with every other one; nothing has to travel through the
tokens between. What a second block adds is not reach but *composition*: it reads from vectors that
already contain context.

## The formula

$$x' = x + \text{SelfAttention}(\text{Norm}_1(x),\, \text{mask})$$

$$\text{Block}(x) = x' + \text{FFN}(\text{Norm}_2(x'))$$

$$\text{Encoder}(x) = \text{Norm}(\text{Block}_N(\dots \text{Block}_1(x)))$$

| symbol | shape | what it holds |
|---|---|---|
| $x$ | (batch, src_len, d_model) | embeddings plus positions, later the output of the block below |
| mask | (batch, 1, 1, src_len) | True where the source has a token, False at padding |
| Norm | as x | 2N + 1 norms with separate weights: two per block, one after the stack |
| N | scalar | number of blocks: 6 in the paper |

(Dropout is omitted, and the norms are placed as in pre-norm, chapter 9.)

## The source
"""

# %%
show_source("clearhead.blocks.encoder:EncoderBlock.forward")
show_source("clearhead.blocks.encoder:Encoder.forward")

# %% [markdown]
r"""
The `lambda` turns attention, which needs queries, keys, values and a mask, into a function of one
argument for the residual connection. Its argument `y` is the *normalized* x. In self-attention y
serves as query, key and value.

`trace` runs a block and records every operation with its axes. **Predict:** which of the tensors
grows with the square of the sentence's length?
"""

# %%
_ = torch.manual_seed(10)


def block(d_model: int, h: int, d_ff: int) -> EncoderBlock:
    """An encoder block without dropout."""
    attention = MultiHeadAttentionBlock(d_model, h, 0.0)
    return EncoderBlock(d_model, attention, FeedForwardBlock(d_model, d_ff, 0.0), 0.0)


trace(block(64, 4, 256), torch.randn(2, 10, 64))

# %% [markdown]
r"""
The scores and weights of attention have the shape (batch, h, seq_len, seq_len); everything else
grows linearly with the length. Input and output of the block have the same shape, which is why
blocks can be stacked in any number.

## Padding must not matter

A batch needs sentences of one length, so the shorter one is padded. **Predict:** is the encoder's
output for the short sentence the same as when it is alone, with the mask and without it?
"""

# %%
embed = nn.Sequential(InputEmbeddings(32, 50), PositionalEncoding(32, 20))
encoder = Encoder(32, nn.ModuleList(block(32, 4, 64) for _ in range(3))).eval()
PAD = 0
batch = torch.tensor([[7, 21, 9, 33, 14, 8], [30, 5, 12, PAD, PAD, PAD]])
mask = padding_mask(batch, PAD)  # (2, 1, 1, 6)

alone = encoder(embed(batch[1:, :3]))[0]
for name, given in (("with the mask", mask), ("without", None)):
    in_batch = encoder(embed(batch), given)[1, :3]
    print(f"{name:14} largest difference {(in_batch - alone).abs().max():.0e}")

# %% [markdown]
r"""
With the mask the two are equal, up to rounding. Without it, the real tokens attend to padding, and
the same sentence has another representation in every batch. Training does not reveal it; the result
is a translator whose output depends on the other sentences of the batch.

The outputs *at* the padded positions are not zero, with or without the mask. Nothing hides a query.
They are ignored because the decoder masks the same positions again (chapter 11).

## Where does context arrive?

Now the question of the beginning, answered with the translator that comes with clearhead. The cell
compares the vectors of one word in two sentences: in one pair of sentences the word has the same
sense, in the other it does not. **Predict** the two cosine similarities at the input, and where
they separate.
"""

# %%
translator = Translator.from_pretrained(engine="readable")
model, tokenizer = translator.model, translator.tokenizer
depths = ["src_pos", *(f"encoder.layers.{i}" for i in range(model.config.encoder_layers))]


def residual_stream(sentence: str, word: str) -> list[Tensor]:
    """The vector (d_model,) of a word at the input and after every block."""
    ids = tokenizer.encode(sentence)
    with torch.inference_mode(), capture(model, *depths) as captured:
        model.encode(torch.tensor([[*ids, model.config.eos_id]]))
    return [captured[depth][0, labels(tokenizer, ids).index(word)] for depth in depths]


sentences = {
    "light": ("I turned on the light.", "I turned off the light.", "The box was very light."),
    "play": ("We will play tennis.", "They will play soccer.", "I saw the new play."),
    "right": ("You are right.", "She is right.", "Turn right here."),
}
similarity = {}
for word, (one, same, other) in sentences.items():
    streams = [residual_stream(sentence, word) for sentence in (one, same, other)]
    for sense, stream in (("same", streams[1]), ("other", streams[2])):
        pairs = zip(streams[0], stream, strict=True)
        cosines = similarity[word, sense] = [
            torch.cosine_similarity(*p, dim=0).item() for p in pairs
        ]
        print(f"{word:6} {sense:6}", "  ".join(f"{cosine:.2f}" for cosine in cosines))


# %% tags=["hide-input"]
def draw_similarity() -> Figure:
    """Cosine similarity by depth: equal at the input, lower after each block for another sense."""
    figure = Figure(figsize=(8.5, 3))
    for axes, word in zip(figure.subplots(1, 3, sharey=True), sentences, strict=True):
        for sense, colour in (("same", BLUE), ("other", ORANGE)):
            values = similarity[word, sense]
            axes.plot(values, color=colour, marker="o", markersize=4)
            axes.text(len(values) - 0.8, values[-1], f"{sense} sense", color=colour, va="center")
        axes.set(title=f"“{word}”", xlabel="blocks applied", xlim=(-0.2, len(depths) + 1.2))
        axes.set_xticks(range(len(depths)))
    figure.axes[0].set_ylabel("cosine similarity")
    return figure


show_figure(draw_similarity)

# %% [markdown]
r"""
At the input the vectors of one word are equal, or nearly so where the positions differ: an
embedding does not depend on the sentence. The blocks move them apart, a little where the word has
the same sense, much further where it has another. No single block *decides* the sense. Some
similarity remains to the end: the residual stream still contains the embedding, and what the blocks
add depends on the word, not only on its sense.

## The stream as a sum

In pre-norm, the last vector is a sum: the input plus what each sublayer has written. **Predict:**
which of the terms is the longest, the input, the first sublayers or the last ones?
"""

# %%
ids = torch.tensor([[*tokenizer.encode("The box was very light."), model.config.eos_id]])
paths = ["src_pos"]
for layer in depths[1:]:
    paths += [f"{layer}.self_attention_block", f"{layer}.feed_forward_block"]
with torch.inference_mode(), capture(model, *paths, depths[-1]) as captured:
    memory = model.encode(ids)
stream = captured[depths[-1]]

print(f"sum of the terms − stream: {(sum(captured[p] for p in paths) - stream).abs().max():.0e}")
for path in paths:
    print(f"{captured[path].norm(dim=-1).mean():7.1f}  {path}")
print(f"{stream.norm(dim=-1).mean():7.1f}  the sum")
print(f"{memory.norm(dim=-1).mean():7.1f}  after the final norm")

# %% [markdown]
r"""
The sum is exact up to rounding; the numbers are the lengths of the terms, averaged over the tokens.
The input is still one of the large terms, and the feed-forward networks write more than attention.
Nothing ever scales the sum down again: the deeper the stack, the longer its vectors. The encoder's
final norm corrects this, so that the decoder receives vectors of a known size, however deep the
stack is. (A post-norm stack ends with a norm already and needs no other.)

## Exercises
"""

# %%
show_exercises(10)

# %% [markdown]
r"""
## Common mistakes

- **`lambda y: attention(x, x, x, mask)`.** The lambda ignores its argument, so attention reads the
  stream without the norm. It trains, and becomes unstable when the model is deep. *How to notice:*
  multiply x by 10; what attention adds must not change.
- **The same block N times**, `nn.ModuleList([block] * N)`. All entries are one object: N layers
  share one set of weights. *How to notice:* the number of parameters does not grow with N.
- **A Python list instead of `nn.ModuleList`.** The blocks run, but `parameters()` does not contain
  them: they are neither trained nor saved. *How to notice:* count the parameters.
- **The final norm forgotten.** Attention of the decoder receives keys of a size that depends on the
  depth. *How to notice:* the standard deviation of the output is not 1 at the initial weights.
- **The mask not passed on.** *How to notice:* the experiment above: the result must be the same
  alone and in a batch.
- **A look-ahead mask in the encoder.** A source token may see all others; the sentence is complete.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, section 3.1 and figure 1, left.
- Peters et al. 2018, *Deep Contextualized Word Representations* (ELMo).
- Tenney, Das and Pavlick 2019, *BERT Rediscovers the Classical NLP Pipeline*: what which layer
  contains.
- Voita, Sennrich and Titov 2019, *The Bottom-up Evolution of Representations in the Transformer*.
"""
