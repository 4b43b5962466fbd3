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
# Looking at attention, and beyond looking

An attention head gives every token a row of weights: how much it takes from each of the others.
The rows can be drawn, and a drawn row looks like a reason. This notebook draws them in every
way that helps, with a translator that runs on your machine; then it asks what the drawing
is worth, by turning heads off, by asking for gradients, and by reading the middle layers.

It takes a few seconds.
"""

# %%
import os
from itertools import islice

import torch

from clearhead import Transformer, Translator
from clearhead.data.grammar import generate
from clearhead.evaluation.alignment_error import alignment_errors
from clearhead.explain import pictures
from clearhead.explain.capture import capture
from clearhead.explain.heads_off import Head, effect_of
from clearhead.explain.logit_lens import logit_lens
from clearhead.explain.look import look, sentence
from clearhead.explain.saliency import saliency
from clearhead.explain.view import AttentionView
from clearhead.translation.location import find_model

FAST = os.environ.get("CLEARHEAD_FAST") == "1"
translator = Translator.from_pretrained()
text = "The old woman never eats the red apples in the garden."
known = sentence(
    translator, text, target="La vieille femme ne mange jamais les pommes rouges dans le jardin."
)
print(translator.translate([text])[0])

# %% [markdown]
"""
## 1. A row is a set of weights

`look` leads the model along the sentence and its translation once and keeps what every head
looked at: in the encoder, in the decoder, and from the decoder into the encoder (cross-attention).
Every row is a softmax, so its weights are at least 0 and sum to 1.
"""

# %%
encoder, decoder, cross = look(translator, known)
print(encoder.weights.shape, "= (layers, h, query, key)")
sums = encoder.weights.sum(-1)
print("smallest and largest sum of a row:", sums.min(), sums.max())

# %% [markdown]
"""
Does some head of the encoder know that *old* describes *woman*? Look for the one that gives
*woman* the largest weight in the row of *old*. Nobody told it to; it made translations likelier.
"""

# %%
old, woman = encoder.queries.index("old"), encoder.keys.index("woman")
weights = torch.from_numpy(encoder.weights)[:, :, old, woman]
layer, head = divmod(int(weights.argmax()), len(encoder.heads))
pictures.one_head(encoder, layer, head)

# %% [markdown]
"""
The decoder may not look ahead: when it writes a word, the next one does not exist yet. Above the
diagonal there is nothing, in any layer and any head.
"""

# %%
assert not torch.from_numpy(decoder.weights).triu(1).any()
pictures.all_layers(decoder)

# %% [markdown]
"""
## 2. Cross-attention: where a word was taken from

A row is now a French token that is being written, a column an English one. The orange path goes
through the largest weight of every row. Follow it: English puts the adjective first, *red
apples*, French after the noun; and *ne … jamais* is one word in English.
"""

# %%
pictures.alignment(cross, layer=-2)

# %% [markdown]
"""
That is one layer, with its heads averaged. Its heads differ:
"""

# %%
pictures.all_heads(cross, layer=-2)

# %% [markdown]
"""
Which layer shows the alignment best? Do not guess, and do not trust one sentence. The built-in
grammar makes both sentences from one tree, so it knows the true links. The error rate (0 is
perfect) of each layer, with its heads averaged:
"""

# %%
pairs = list(islice(generate("test"), 20 if FAST else 200))
errors = alignment_errors(translator.model, translator.tokenizer, pairs)
for layer, error in enumerate(errors.layers["output"]):
    print(f"layer {layer}: {error:.2f}")

# %% [markdown]
"""
Is the last layer the best one? Often it is not, and one sentence cannot tell. A picture of
"the" attention of a model is a picture of a choice.

## 3. Explore it yourself

Point at a word to see its weights, choose layers and heads, open any head with a click. The same
page can be saved with `AttentionView(...).save("attention.html")`, or from the command line with
`clearhead attention "TEXT" -o attention.html`; it needs no network.
"""

# %%
AttentionView([encoder, decoder, cross], f"{text} → {known.translation}")

# %% [markdown]
"""
## 4. Is that an explanation?

A large weight says where the model looked. It does not say that the answer hangs on it: Jain and
Wallace (2019, *Attention is not Explanation*) find other weights that give the same answer;
Wiegreffe and Pinter (2019, *Attention is not not Explanation*) answer that this depends on what
one asks of an explanation. So let us ask in other ways.

**Turn a head off.** Its part of the concatenation is set to zero, so nobody hears it. How much
less likely does the translation become?
"""

# %%
pictures.head_effects(translator, known)

# %% [markdown]
"""
Where a cell is pale, nobody misses the head in this sentence; a blue one stood in the way. Now
several at once: all heads of a cross-attention layer, and the model has to do without looking at
the source there.
"""

# %%
for layer in range(len(cross.layers)):
    heads = [Head("cross", layer, head) for head in cross.heads]
    effect = effect_of(translator, text, heads, known.translation)
    print(f"without layer {layer}: {effect.change:+6.1f} nats  {effect.translation_without}")

# %% [markdown]
"""
**Ask the gradient.** If the embedding of a source token were a little longer, how would the
log-probability of the written token change? That is gradient × input: it follows every path
through the model, not one layer's weights.
"""

# %%
pictures.saliency_beside_attention(cross, saliency(translator.model, known), layer=-2)

# %% [markdown]
"""
They agree on many words and not on all. Where they differ, the picture of attention alone would
have misled you.

**Read the middle.** The residual stream has one shape from the first layer to the last, so the
last norm and the projection can read it anywhere. From the bottom up, see the translation come
into focus:
"""

# %%
pictures.logit_lens(logit_lens(translator.model, known), translator.tokenizer)

# %% [markdown]
"""
At the bottom the stream still holds the token that was just *read*, one place behind; somewhere
in the middle it turns into the token to be *written*.

## 5. Watching changes nothing

All this was recorded while the model ran. Did it run differently because we looked? `capture`
keeps any tensor by its readable path, and the outputs are the same to the last bit.
"""

# %%
model = Transformer.from_pretrained(find_model(None))  # of readable blocks
inputs = known.tensors(model)
with torch.inference_mode():
    unwatched = model(*inputs)
    with capture(
        model, "encoder.layers.*", "decoder.layers.*.cross_attention_block.weights"
    ) as seen:
        watched = model(*inputs)

print(*(f"{path}: {tuple(tensor.shape)}" for path, tensor in seen.items()), sep="\n")
assert torch.equal(unwatched, watched)

# %% [markdown]
"""
The lengths of the residual stream are such a capture. In this pre-norm model every layer adds to
the sum; one token, the full stop or the end sign, often grows far beyond the others.
"""

# %%
pictures.residual_norms(model, known)

# %% [markdown]
"""
## Try it

1. Put a sentence of your own at the top. Does a head of the encoder always do the same job?
2. Give a *wrong* translation: `sentence(translator, text, target="Le chat dort.")`. Where does
   the decoder look when it is led along words that have no source?
3. Find the smallest set of heads without which the translation changes.
4. Choose the head with the sharpest picture. Turn it off. Was it important?
"""
