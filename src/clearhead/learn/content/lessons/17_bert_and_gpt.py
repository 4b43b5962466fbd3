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
# 17. BERT and GPT

**The question.** A translator learns from pairs of sentences, and pairs are scarce. Text in one
language is unlimited, but it has no labels. How can a Transformer learn from text alone, and what
is left of the model when there is nothing to translate?
"""

# %%
import torch
from matplotlib.figure import Figure

from clearhead.blocks import look_ahead_mask
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.decoding.sampling import temperature, top_k, top_p
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.models import Bert, BertConfig, Gpt, GptConfig
from clearhead.plot_style import GREY, WEIGHTS

# %% [markdown]
"""
## The idea

Text labels itself: hide a part of it and predict what was hidden. There are two ways to hide, and
each takes one half of the translator.

- **BERT** keeps the encoder. Some tokens are replaced by `[MASK]`, and the model fills them in. It
  sees the text on both sides.
- **GPT** keeps the decoder, without cross-attention. It predicts each token from the tokens before
  it, so it can write.

The essential difference between the two models is one mask:
"""


# %% tags=["hide-input"]
def draw_masks() -> Figure:
    """Which keys each query sees: all of them in BERT, itself and those before it in GPT."""
    figure = Figure(figsize=(6, 3))
    masks = {"BERT": torch.ones(5, 5), "GPT": look_ahead_mask(5)[0, 0].float()}
    for axes, (title, mask) in zip(figure.subplots(1, 2), masks.items(), strict=True):
        cells = {"cmap": WEIGHTS, "vmin": 0, "vmax": 1, "edgecolors": GREY, "linewidth": 0.6}
        axes.pcolormesh(mask * 0.5, **cells)
        axes.set(title=title, xlabel="key", ylabel="query", aspect="equal", ylim=(5, 0))
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    return figure


show_figure(draw_masks)

# %% [markdown]
r"""
A decoder block is self-attention, cross-attention and a feed-forward network. Without a source,
cross-attention goes, and what is left is *an encoder block*. Both models are a stack of encoder
blocks.

## The formulas

Both minimize a cross-entropy (chapter 13) without any translation:

$$L_{GPT} = -\sum_{t} \log P(x_t \mid x_1 \dots x_{t-1}), \qquad
L_{BERT} = -\sum_{t \in M} \log P(x_t \mid \tilde{x})$$

| symbol | what it is |
|---|---|
| $x_1 \dots x_n$ | the tokens of a text, (batch, seq_len) ids |
| $M$ | the chosen positions, 15 % of all |
| $\tilde{x}$ | the text with the chosen tokens hidden |

The factors of the first loss multiply to the probability of the whole text: $P(x)=e^{-L_{GPT}}$.
So GPT is a *language model*: it can score a text and sample one. $L_{BERT}$ has no such meaning;
BERT assigns no probability to a text. In exchange every prediction uses both sides, and so does
the vector that BERT gives each token. GPT learns from each token of a batch, BERT from 15 %.

**80/10/10.** Of the chosen tokens BERT replaces 80 % by `[MASK]`, 10 % by a random token, and
leaves 10 % as they are. When the model is used, its input contains no `[MASK]` token. If the loss
had counted only positions with `[MASK]`, the output vectors at ordinary tokens would never have
been trained to predict anything.

## The source
"""

# %%
show_source("clearhead.models.bert:Bert.forward")
show_source("clearhead.models.gpt:Gpt.forward")
show_source("clearhead.data.masking:mask_tokens")

# %% [markdown]
"""
Compare the two `forward` methods: embeddings, a stack, and a mask, which BERT receives as an
argument and GPT computes. Two more differences from the translator: learned positions instead of
sinusoids, and GELU instead of ReLU. They differ from each other in the norm: BERT has
post-norm, as in the paper's figure, and GPT-2 pre-norm. The table in `docs/family.md` lists all
differences.

## Experiment 1: what each position sees

We need a small language with known probabilities. A sentence is `determiner noun verb adjective`:
*la pomme est verte*. There are 5 masculine and 5 feminine nouns, 2 verbs and 4 adjectives, drawn
independently; determiner and adjective agree with the noun.
"""

# %%
MASCULINE = ["chat", "livre", "train", "jardin", "sac"]
FEMININE = ["pomme", "rue", "lampe", "mer", "clef"]
VERBS, ADJECTIVES = ["est", "semble"], ["vert", "grand", "petit", "lourd"]
WORDS = ["<pad>", "<s>", "</s>", "[MASK]", "le", "la", *MASCULINE, *FEMININE, *VERBS]
WORDS += ADJECTIVES + [adjective + "e" for adjective in ADJECTIVES]


def sentences(count: int, generator: torch.Generator) -> torch.Tensor:
    """(count, 6) ids: <s> determiner noun verb adjective </s>."""
    draw = [torch.randint(n, (count,), generator=generator).tolist() for n in (2, 5, 2, 4)]
    rows = []
    for feminine, noun, verb, adjective in zip(*draw, strict=True):
        words = [
            "la" if feminine else "le",
            (FEMININE if feminine else MASCULINE)[noun],
            VERBS[verb],
            ADJECTIVES[adjective] + "e" * feminine,
        ]
        rows.append([1, *(WORDS.index(word) for word in words), 2])
    return torch.tensor(rows)


# %% [markdown]
"""
Two untrained models, of the same stack. We replace the last word of a sentence. **Predict:** at
which positions does the output of each model change?
"""

# %%
sizes = {"d_model": 32, "layers": 2, "h": 4, "d_ff": 64, "dropout": 0.0, "attention_dropout": 0.0}
gpt_sizes = {**sizes, "seq_len": 8, "bos_id": 1, "eos_id": 2, "embedding_dropout": 0.0}
torch.manual_seed(0)
gpt = Gpt.from_config(GptConfig(len(WORDS), **gpt_sizes))
bert = Bert.from_config(BertConfig(len(WORDS), seq_len=8, heads=("masked_lm",), **sizes))

text = sentences(1, torch.Generator().manual_seed(0))
other = text.clone()
other[0, 4] = WORDS.index("lourd" if WORDS[text[0, 4]] != "lourd" else "vert")
for name, model in (("BERT", bert), ("GPT", gpt)):
    change = (model(text) - model(other)).abs().amax(dim=-1)[0]
    print(f"{name:5}", ["changes" if c > 1e-6 else "equal" for c in change.tolist()])

# %% [markdown]
"""
In GPT the outputs before the replaced word stay the same, so a text can be extended without
computing it again (the cache of chapter 14). In BERT every vector changes: nothing can be kept
when a word is added.

## Experiment 2: the best possible prediction

**Predict** for each word: with what probability can the best possible GPT predict it, and the best
possible BERT?
"""

# %%
COLUMNS = ["determiner", "noun", "verb", "adjective"]


def gpt_losses(model: Gpt, ids: torch.Tensor) -> torch.Tensor:
    """(batch, 5): −log p of each word and of </s>, from the words before it."""
    log_p = model.project(model(ids))
    return -log_p[:, :-1].gather(2, ids[:, 1:, None])[..., 0]


def bert_losses(model: Bert, ids: torch.Tensor) -> torch.Tensor:
    """(batch, 4): −log p of each word when it alone is masked."""
    found = []
    for position in range(1, 5):
        masked = ids.clone()
        masked[:, position] = WORDS.index("[MASK]")
        log_p = model.heads["masked_lm"](model(masked)).log_softmax(dim=-1)
        found.append(-log_p[:, position].gather(1, ids[:, position, None]))
    return torch.cat(found, dim=1)


def train(model, losses, steps: int) -> list[float]:
    """Train on endless sentences; then exp(−loss) of each position on new ones."""
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    generator = torch.Generator().manual_seed(1)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 5e-3 * min(1, (step + 1) / 10, 2 * (1 - step / steps))
        loss = losses(model, sentences(32, generator)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return losses(model.eval(), sentences(500, generator)).mean(dim=0).neg().exp().tolist()


by_gpt, by_bert = train(gpt, gpt_losses, 150), train(bert, bert_losses, 120)
best = {"GPT": [1 / 2, 1 / 5, 1 / 2, 1 / 4], "BERT": [1, 1 / 5, 1 / 2, 1 / 4]}
print(f"{'':12}{'GPT':>6}{'best':>7}{'BERT':>8}{'best':>7}")
for row in zip(COLUMNS, by_gpt[:4], best["GPT"], by_bert, best["BERT"], strict=True):
    print(f"{row[0]:12}{row[1]:6.2f}{row[2]:7.2f}{row[3]:8.2f}{row[4]:7.2f}")

# %% [markdown]
"""
Each number is exp(−loss), the geometric mean of the probability that the right word received. The
determiner comes first, so GPT can only toss a coin; BERT sees the noun after it. For the other
three words the right context adds no information: the noun is one of five of its gender, the
adjective one of four, and both models reach the ceiling. A model that is *above* such a ceiling
has seen its label.

This is the trade. BERT uses more of the text at each position, and is the better choice for
classification, tagging and search. GPT uses less, and can continue a text.

## Experiment 3: writing

GPT writes by drawing each token from its own distribution. We let the small model write 200
sentences and check the grammar.
"""

# %%
options = SamplingOptions(max_new_tokens=5, top_k=0)
written = [tuple(text.ids) for text in generate(gpt, [[1]] * 200, options)]
for ids in written[:4]:
    print(" ".join(WORDS[i] for i in ids))
language = {tuple(row[1:5]) for row in sentences(5000, torch.Generator()).tolist()}
print(f"{sum(ids in language for ids in written)} of 200 are sentences of the language")
print(f"{len(language & set(written))} of its {len(language)} sentences occur")

# %% [markdown]
"""
Almost every sentence is right, and nearly all that exist occur. The model was given no rule of
agreement. It has learned that feminine nouns follow *la*, and that the adjective, three words
after it, must agree; attention gives it access to the determiner and the noun.

Three settings reshape the distribution before a token is drawn. Here are probabilities of five
tokens. **Predict:** which tokens are left with top_k = 2, and with top_p = 0.8?
"""

# %%
p = torch.tensor([[0.5, 0.25, 0.15, 0.07, 0.03]])
filters = {
    "as they are": p.log(),
    "temperature 0.5": temperature(p.log(), 0.5),
    "temperature 2": temperature(p.log(), 2.0),
    "top_k = 2": top_k(p.log(), 2),
    "top_p = 0.8": top_p(p.log(), 0.8),
}
for name, logits in filters.items():
    print(f"{name:16}", "  ".join(f"{x:.2f}" for x in logits.softmax(dim=-1)[0].tolist()))

# %% [markdown]
"""
A temperature of 0.5 squares the probabilities and renormalizes them, so the distribution becomes
sharper; 2 takes their square root. top_k keeps a fixed number of tokens. top_p keeps the smallest
set that reaches the given probability, here three tokens (0.5 + 0.25 is not enough), so it adapts:
one token where the model is certain, hundreds where it is not.

The same two classes load published models: `clearhead.pretrained.from_pretrained(DIRECTORY)` reads
BERT, GPT-2, ESM-2 and Marian in the Hugging Face layout.

## Exercises
"""

# %%
show_exercises(17)

# %% [markdown]
"""
## Common mistakes

- *Labels that are not shifted.* The loss of a GPT falls to 0 within minutes, because each position
  sees its label as its input (chapter 13). How to notice: a loss far below what the text allows;
  here, an exp(−loss) above the best possible value of the table.
- *The loss over all positions of a BERT.* At visible positions the model copies its input, and the
  loss looks excellent. Only the chosen positions may count.
- *The mean over padding.* A sentence vector must be the mean of the real tokens. How to notice: it
  must not change when the batch is padded more.
- *Greedy decoding of long texts.* The most probable token every time leads into loops. Sample, or
  use beam search where the output is nearly determined, as in translation.

## Further reading

- Devlin et al. 2018, *BERT: Pre-training of Deep Bidirectional Transformers*.
- Radford et al. 2018 and 2019, the GPT and GPT-2 reports.
- Holtzman et al. 2019, *The Curious Case of Neural Text Degeneration*: why sampling needs top-p.
- Liu et al. 2019, *RoBERTa*: which parts of BERT's training mattered.
- Karpathy, *nanoGPT*, and Alammar 2018, *The Illustrated BERT*.
"""
