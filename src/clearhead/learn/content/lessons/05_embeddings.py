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
# 5. Embeddings

**The question.** A tokenizer turns *the cat sleeps* into ids, for example 1, 417, 88. These are
labels, not quantities: token 418 is not slightly more than token 417. Attention, however, computes
dot products and averages. How does an id become something that can be computed with?
"""

# %%
from collections import Counter
from itertools import islice, pairwise

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import nn
from torch.nn import functional as F

from clearhead import Translator, build_transformer
from clearhead.blocks import InputEmbeddings, ProjectionLayer
from clearhead.blocks.positional_encoding import sinusoids
from clearhead.data.grammar import generate, words
from clearhead.data.grammar.vocabulary import small
from clearhead.explain.plots.embeddings import nearest
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import BLUE, GREEN, GREY, ORANGE, PINK

# %% [markdown]
r"""
## The idea

Give every token of the vocabulary a vector of its own, and let training choose its elements. The
vectors are the rows of one matrix, the **embedding matrix** E. To embed a sentence is to select
rows: the ids are row numbers.
"""


# %% tags=["hide-input"]
def draw_lookup() -> Figure:
    """Left a matrix with one row for each of 8 tokens, right the rows selected by ids 5, 1, 5."""
    figure = Figure(figsize=(7.5, 3.2))
    matrix, result = figure.subplots(1, 2, width_ratios=[1.3, 1])
    ids, columns = [5, 1, 5], 6
    for axes, tokens in ((matrix, range(8)), (result, ids)):
        for y, token in enumerate(tokens):
            for x in range(columns):
                shade = 0.25 + 0.7 * ((3 * token + 5 * x) % 7) / 6 if token in ids else 0.15
                colour = {5: BLUE, 1: ORANGE}.get(token, GREY)
                axes.add_patch(Rectangle((x, y), 0.94, 0.9, facecolor=colour, alpha=shade))
        axes.set(xlim=(-0.1, columns), ylim=(8.1, -0.1), xticks=[])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    matrix.set_yticks([i + 0.45 for i in range(8)], [f"token {i}" for i in range(8)])
    matrix.set_title("E: (vocab_size, d_model)")
    result.set_yticks([i + 0.45 for i in range(3)], [f"id {i}" for i in ids])
    result.set_title("rows 5, 1, 5: (seq_len, d_model)")
    return figure


show_figure(draw_lookup)

# %% [markdown]
r"""
A token has the same row wherever it occurs: both copies of token 5 are equal. At this stage,
nothing tells the first *the* of a sentence from the second. Chapter 6 adds the position.

## The formula

$$\text{out}_t = \sqrt{d_{model}} \; E_{x_t}$$

| symbol | shape | what it holds |
|---|---|---|
| $x$ | (batch, seq_len) | token ids, integers from 0 to vocab_size − 1 |
| $E$ | (vocab_size, d_model) | one learned row for each token |
| $\sqrt{d_{model}}$ | scalar | the scale factor of section 3.4 of the paper |
| out | (batch, seq_len, d_model) | one vector for each position |

Textbooks often write the look-up as a product with a *one-hot* vector, $o_t E$, where $o_t$ has a 1
at index $x_t$ and 0 elsewhere. Both are the same function; the look-up avoids vocab_size − 1
multiplications by zero for each element.

## The source

The scale factor is the only arithmetic in the block. `_check_ids` turns an id outside the
vocabulary into a readable error.
"""

# %%
show_source("clearhead.blocks.embeddings:InputEmbeddings")

# %% [markdown]
r"""
## Which rows learn?

Take a vocabulary of 8 tokens and the sentence 5, 1, 5, and let the loss be the sum of all outputs.
**Predict:** how many of the 8 rows get a gradient? Is that of row 5 equal to that of row 1?
"""

# %%
_ = torch.manual_seed(5)
block = InputEmbeddings(d_model=4, vocab_size=8)
ids = torch.tensor([[5, 1, 5]])
product = F.one_hot(ids, 8).float() @ block.embedding.weight * 4**0.5
print("look-up equals one-hot product:", torch.allclose(block(ids), product))

block(ids).sum().backward()
for token, gradient in enumerate(block.embedding.weight.grad.tolist()):
    print(f"gradient of row {token}: {gradient}")

# %% [markdown]
r"""
Two rows have a gradient, those of the tokens in the sentence. Row 1 has the factor √4 = 2 in each
element. Row 5 was selected twice and receives the sum of two such gradients, 4. A token that never
occurs in the training data keeps its random row (unless the matrix is also the output projection,
which gives every row a gradient). Subword tokens help here: there are fewer of them than words, so
each occurs more often.

## Why multiply by √d_model?

The paper gives the factor without a reason, and learners have asked for the reason ever since. The
reason is that E has two uses, which need two scales.

1. *Output projection.* The paper uses E a second time, to compute a score for each token from the
   decoder's output (chapter 12): the dot product of the output with each row of E. The output has
   d_model elements of size about 1. For scores of size about 1, the elements of a row need a
   standard deviation of $1/\sqrt{d_{model}}$.
2. *Input.* Next, the positional encoding is added: sines and cosines of size about 1, at any width.
   Rows with elements of size $1/\sqrt{d_{model}}$ would be small beside it.

The factor brings the rows to unit scale for the second use and leaves E as the first one needs it.
**Predict:** by what factor is a positional encoding longer than an unscaled row, for d_model = 64
and for d_model = 1,024?
"""

# %%
print("          length of            position divided by")
print("d_model   row    position      row    scaled row")
for d_model in (64, 256, 1024):
    model = build_transformer(1000, 1000, 50, 50, d_model=d_model, N=1, h=4, d_ff=8)
    row = model.src_embed.embedding.weight.norm(dim=1).mean().item()
    position = sinusoids(50, d_model).norm(dim=1).mean().item()
    ratios = position / row, position / (row * d_model**0.5)
    print(f"{d_model:7} {row:6.2f} {position:9.2f} {ratios[0]:11.2f} {ratios[1]:9.2f}")

# %% [markdown]
r"""
A new row has length 1 at every width. A positional encoding consists of d_model / 2 pairs (sin a,
cos a) of length 1, so its length is $\sqrt{d_{model}/2}$: 5.66 for 64 features, 22.63 for 1,024.
Without the factor, the position would dominate the sum, and the wider the model, the more so. With
it, the ratio is $1/\sqrt 2 ≈ 0.71$ at every width.

The factor presupposes rows of length 1. `nn.Embedding` by itself draws elements with standard
deviation 1; `build_transformer` replaces them.
"""

# %%
small_model = build_transformer(1000, 1000, 9, 9, d_model=256, N=1, h=4, d_ff=8)
for name, found in ("block", InputEmbeddings(256, 1000)), ("in a model", small_model.src_embed):
    output = found(torch.arange(1000)[None])
    print(f"{name}: std of E {found.embedding.weight.std():.3f}, of the output {output.std():.1f}")

# %% [markdown]
r"""
By itself, the block returns vectors 16 = √256 times as large as in a model, and the positional
encoding added to them is hardly noticeable. No shape is wrong and no error is raised; the model
only learns word order slowly.

## What training puts into the rows

Now train the smallest possible language model, an embedding and an output projection: it predicts
the next word of an English sentence from the current word alone. No label says what a noun is.
**Predict:** which words will end up with similar rows?
"""

# %%
sentences = [words(pair.source.lower()) for pair in islice(generate("train"), 3000)]
counts = Counter(word for sentence in sentences for word in sentence)
vocabulary = {word: index for index, word in enumerate(counts)}
pairs = [(vocabulary[a], vocabulary[b]) for s in sentences for a, b in pairwise(s)]
current, following = torch.tensor(pairs).T

_ = torch.manual_seed(5)
bigram = nn.Sequential(InputEmbeddings(16, len(counts)), ProjectionLayer(16, len(counts)))
nn.init.normal_(bigram[0].embedding.weight, std=16**-0.5)
bigram.double()  # the same words on every processor
optimizer = torch.optim.Adam(bigram.parameters(), lr=0.02)
for step in range(201):
    batch = torch.randint(len(current), (1024,))
    loss = F.nll_loss(bigram(current[batch]), following[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3}: loss {loss.item():.1f}")

frequent = [word for word in counts if counts[word] >= 8]
rows = F.normalize(bigram[0].embedding.weight.detach(), dim=1)
rows = rows[[vocabulary[word] for word in frequent]]
for word in ("king", "paul", "sick", "eat"):
    best = (rows @ rows[frequent.index(word)]).topk(7).indices.tolist()
    print(f"{word:5}", ", ".join(frequent[i] for i in best[1:]))


# %% tags=["hide-input"]
def draw_classes() -> Figure:
    """Rows of E as points: nouns, names, adjectives and verbs form four overlapping groups."""
    lexicon = small()
    classes = {
        ("nouns", BLUE): {noun.english for noun in lexicon.nouns},
        ("names", ORANGE): {name.lower() for name, _ in lexicon.names},
        ("adjectives", GREEN): {adjective.english for adjective in lexicon.adjectives},
        ("verbs", PINK): {verb.english[0] for verb in lexicon.verbs},
    }
    members = {c: [i for i, w in enumerate(frequent) if w in ws] for c, ws in classes.items()}
    chosen = rows[[i for found in members.values() for i in found]]
    directions = torch.linalg.svd(chosen - chosen.mean(0), full_matrices=False).Vh[:2]
    figure = Figure(figsize=(7.5, 4.2))
    axes = figure.subplots()
    for (name, colour), found in members.items():
        x, y = ((rows[found] - chosen.mean(0)) @ directions.T).T.numpy()
        axes.scatter(x, y, s=14, color=colour, alpha=0.6)
        axes.text(x.mean(), y.mean(), name, color=colour, fontsize=14, weight="bold", ha="center")
    axes.set(xlabel="first principal component", ylabel="second principal component")
    axes.set_title("Rows of E after 200 steps, one point for each word")
    return figure


show_figure(draw_classes)

# %% [markdown]
r"""
Words with the same successors get similar rows, because similar gradients act on them: near *king*
are mostly nouns for people and animals, near *sick* mostly adjectives. The groups in the figure are
parts of speech, found by prediction alone. This is the distributional hypothesis (Harris 1954;
Firth 1957), and the principle of word2vec.

Here are the nearest rows in the embedding matrix of the translator that comes with clearhead:
"""

# %%
translator = Translator.from_pretrained(engine="readable")
for word in ("eat", "woman", "three"):
    print(f"{word:6}", ", ".join(f"{w} {cosine:.2f}" for w, cosine in nearest(translator, word, 6)))

# %% [markdown]
r"""
Forms and relatives of a word are near it. Do not expect a map of meaning, though: the matrix is
also the output projection, so words compete in it, and similar words must remain distinguishable.

## Exercises
"""

# %%
show_exercises(5)

# %% [markdown]
r"""
## Common mistakes

- **The factor is missing, or divides.** The model trains, but positions dominate. (Dividing by √d_k
  belongs to attention.) *How to notice:* the standard deviations of the embedding's output and of
  the positional encoding should be of the same size.
- **The factor and the default initialization together.** The reverse case, and the easiest mistake
  in a hand-built model. *How to notice:* the output's standard deviation is √d_model instead of 1.
- **`nn.Embedding(d_model, vocab_size)`.** The sizes are swapped. The result has vocab_size columns
  instead of d_model, so adding the positional encoding raises an error; an id of d_model or above
  is an index error. *How to notice:* print `embedding.weight.shape`; rows are tokens.
- **Ids from another tokenizer.** Most look-ups succeed and return the rows of other words. *How to
  notice:* decode the ids with the model's own tokenizer before you trust any output.

## Further reading

- Vaswani et al. 2017, *Attention Is All You Need*, section 3.4.
- Press and Wolf 2017, *Using the Output Embedding to Improve Language Models*: one matrix for input
  and output.
- Mikolov et al. 2013, *Efficient Estimation of Word Representations in Vector Space* (word2vec).
- Rush 2018, *The Annotated Transformer*, section "Embeddings and Softmax".
"""
