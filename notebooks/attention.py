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
# Attention weights, and what they explain

An attention head assigns every token a row of weights: how much it reads from each other token.
The rows can be plotted, and a plot looks like an explanation. This notebook plots attention in
several ways, for a translator that runs on your machine. Then it tests what such a plot explains,
with head ablation, gradients, and the logit lens.

It takes a few seconds.
"""

# %%
import os
from itertools import islice

import torch

from clearhead import Transformer, Translator
from clearhead.data.grammar import generate
from clearhead.evaluation.alignment_error import alignment_errors
from clearhead.explain import plots
from clearhead.explain.attention import attention_maps, next_tokens, sentence_pair
from clearhead.explain.capture import capture
from clearhead.explain.interpretability import Head, effect_of, logit_lens, saliency
from clearhead.explain.view import AttentionView
from clearhead.translation.loading import find_model

FAST = os.environ.get("CLEARHEAD_FAST") == "1"
translator = Translator.from_pretrained()
text = "The old woman never eats the red apples in the garden."
pair = sentence_pair(
    translator, text, target="La vieille femme ne mange jamais les pommes rouges dans le jardin."
)
print(translator.translate([text])[0])

# %% [markdown]
"""
## 1. A row is a set of weights

`attention_maps` runs the model once on the sentence and its translation and keeps the attention
weights of every head: in the encoder, in the decoder, and from the decoder to the encoder
(cross-attention). Every row is a softmax, so its weights are at least 0 and sum to 1.
"""

# %%
encoder, decoder, cross = attention_maps(translator, pair)
print(encoder.weights.shape, "= (layers, h, query, key)")
sums = encoder.weights.sum(-1)
print("smallest and largest sum of a row:", sums.min(), sums.max())

# %% [markdown]
"""
Does some head of the encoder connect *old* with *woman*, the noun that it describes? Look for the
head that gives *woman* the largest weight in the row of *old*.
"""

# %%
old, woman = encoder.queries.index("old"), encoder.keys.index("woman")
weights = torch.from_numpy(encoder.weights)[:, :, old, woman]
layer, head = divmod(int(weights.argmax()), len(encoder.heads))
plots.one_head(encoder, layer, head)

# %% [markdown]
"""
Does that head react to adjectives, or only to positions? In this sentence *woman* is the next
token after *old*, and a head that always attends to the next token would look the same. Compare the
weights of this head with that baseline: in how many rows does the next token have the largest
weight, and which token has it in the row of *red*?
"""

# %%
rows = torch.from_numpy(encoder.head(layer, head))[:-1]
following = rows.argmax(-1) == torch.arange(1, len(rows) + 1)
print(f"largest weight on the next token: {int(following.sum())} of {len(rows)} rows")
red = encoder.queries.index("red")
print("red attends most to", encoder.keys[int(rows[red].argmax())])

# %% [markdown]
"""
The more of these rows attend to the next token, the better the position alone explains the head.

The decoder attends to no later token. The whole translation is given here, but the look-ahead
mask hides the later tokens, because they do not exist yet when a translation is generated. All
weights above the diagonal are zero, in every layer and every head.
"""

# %%
assert not torch.from_numpy(decoder.weights).triu(1).any()
plots.all_layers(decoder)

# %% [markdown]
"""
## 2. Cross-attention: the source of each target token

A row is now a French token that is predicted, a column an English token. The orange line marks
the largest weight of every row. English has the adjective first, *red apples*, French has it
after the noun; and *ne … jamais* is one word in English.
"""

# %%
plots.alignment(cross, layer=cross.alignment_layer)

# %% [markdown]
"""
That is one layer, averaged over its heads. The heads differ:
"""

# %%
plots.all_heads(cross, layer=cross.alignment_layer)

# %% [markdown]
"""
Which layer shows the alignment best? One sentence is not enough to decide. The built-in grammar
generates both sentences from one tree, so the true alignment is known. The weights of each layer
are averaged over its heads; the alignment error rate of this average (0 is perfect) is:
"""

# %%
pairs = list(islice(generate("test"), 20 if FAST else 200))
errors = alignment_errors(translator.model, translator.tokenizer, pairs)
for layer, error in enumerate(errors.layers["output"]):
    print(f"layer {layer}: {error:.2f}")

# %% [markdown]
"""
In a deep decoder it is often the second to last layer; of the two layers here it is the last. A
plot of "the" attention of a model always shows one choice of layer and heads.

## 3. Explore it

Point at a token to see its weights, select a pair to see how its weight arises and which tokens the
model predicts there, choose layers and heads, open any head with a click. The
same page is saved by `AttentionView(...).save("attention.html")`, or on the command line by
`clearhead attention "TEXT" -o attention.html`; it needs no network.
"""

# %%
AttentionView(
    [encoder, decoder, cross],
    f"{text} → {pair.translation}",
    predictions=next_tokens(translator, pair),
)

# %% [markdown]
"""
## 4. Is attention an explanation?

A large weight shows where the model reads from. It does not show that the output depends on it:
Jain and Wallace (2019, *Attention is not Explanation*) find very different weights that give almost
the same output; Wiegreffe and Pinter (2019, *Attention is not not Explanation*) answer that this
depends on what an explanation should provide. Here are three other methods.

**Head ablation.** A head's part of the concatenation is set to zero. How much less likely does the
translation become?
"""

# %%
plots.head_effects(translator, pair)

# %% [markdown]
"""
Where a cell is pale, removing that head alone changes little; other heads may replace it. Where a
cell is blue, the translation becomes even more likely without that head. Next, all heads of a
cross-attention layer are removed at once, so that this layer reads nothing from the source:
"""

# %%
for layer in range(len(cross.layers)):
    heads = [Head("cross", layer, head) for head in cross.heads]
    effect = effect_of(translator, text, heads, pair.translation)
    print(f"without layer {layer}: {effect.change:+6.1f} nats  {effect.translation_without}")

# %% [markdown]
"""
**Gradient × input.** If the embedding of a source token were scaled, how would the log-probability
of the predicted token change? The gradient follows every path through the model, not only the
weights of one layer.
"""

# %%
gradients = saliency(translator.model, pair)
plots.saliency_beside_attention(cross, gradients, layer=cross.alignment_layer)

# %% [markdown]
"""
Compare the two: on which tokens do they agree? Where they differ, the plot of attention alone is
not a reliable explanation. Neither is the gradient, which describes only small changes of the
input.

**The logit lens.** The residual stream has the same width after every layer, so the final norm and
the projection can be applied after any of them. From the bottom up, the predictions approach the
translation:
"""

# %%
plots.logit_lens(logit_lens(translator.model, pair), translator.tokenizer)

# %% [markdown]
"""
At the bottom the stream still represents the token that was *read*, one position earlier; layer by
layer it changes to the token to be *written*.

## 5. Capturing changes nothing

All this was recorded while the model ran. Did that change its output? `capture` keeps any
tensor by the path of its module, and the outputs are bit-identical.
"""

# %%
model = Transformer.from_pretrained(find_model(None))  # of readable blocks
inputs = pair.tensors(model)
with torch.inference_mode():
    plain = model(*inputs)
    with capture(
        model, "encoder.layers.*", "decoder.layers.*.cross_attention_block.weights"
    ) as captured:
        output = model(*inputs)

print(*(f"{path}: {tuple(tensor.shape)}" for path, tensor in captured.items()), sep="\n")
assert torch.equal(plain, output)

# %% [markdown]
"""
The norms of the residual stream are computed from such a capture. In this pre-norm model every
layer adds to the stream; the norm of one token, the full stop or the EOS token, often grows far
beyond the others.
"""

# %%
plots.residual_norms(model, pair)

# %% [markdown]
"""
## Exercises

1. Put your own sentence at the top. Does a head of the encoder always do the same?
2. Give a *wrong* translation: `sentence_pair(translator, text, target="Le chat dort.")`. What does
   the decoder attend to for target tokens without a source?
3. Find the smallest set of heads without which the translation changes.
4. Choose the head with the sharpest weights. Ablate it. Was it important?
"""
