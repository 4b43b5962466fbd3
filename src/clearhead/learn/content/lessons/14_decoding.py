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
# 14. Decoding

**The question.** The trained model gives the probability of any translation. There are 8,000²⁰
translations of 20 tokens. Which one should be written, and how is it found without looking at the
others?
"""

# %%
import matplotlib as mpl
import torch
from matplotlib.figure import Figure

from clearhead import build_transformer
from clearhead.decoding import DecodingOptions
from clearhead.decoding.search import beam_search, greedy_search
from clearhead.decoding.steps import CachedSteps, UncachedSteps
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.models import TransformerConfig

# %% [markdown]
"""
## The idea

Write from left to right. **Greedy search** takes the most probable token and never looks back.
**Beam search** keeps the K best unfinished translations, extends all of them by all tokens, and
keeps the K best again. It can help where the best first word does not begin the best sentence:
"""

# %% tags=["hide-input"]
TREE = {
    "": {"un": 0.5, "une": 0.4, "le": 0.1},
    "un": {"homme": 0.4, "chien": 0.36, "arbre": 0.24},
    "une": {"femme": 0.9, "rue": 0.1},
    "le": {"soir": 1.0},
}


def draw_tree() -> Figure:
    """A tree of two words: the greedy path un homme has 0.20, the best, une femme, 0.36."""
    figure = Figure(figsize=(8, 3.6))
    axes = figure.subplots()
    quiet = mpl.rcParams["axes.edgecolor"]
    y_first, y_second = {"un": 1, "une": 3.5, "le": 5}, 0
    axes.text(-0.05, 2.7, "<s>", ha="right", va="center")
    for first, p in TREE[""].items():
        y = y_first[first]
        axes.plot([0, 0.9], [2.7, y], color=quiet, linewidth=5 * p)
        axes.text(0.95, y, f"{first}  {p}", va="center")
        for second, q in TREE[first].items():
            best, greedy = second == "femme", second == "homme"
            color = "C0" if best else "C1" if greedy else quiet
            axes.plot([1.45, 2.4], [y, y_second], color=color, linewidth=5 * p * q + 0.5)
            note = "  the best" if best else "  greedy" if greedy else ""
            label = f"{second}  {q}   →  {p * q:.2f}{note}"
            axes.text(2.45, y_second, label, va="center", color=color)
            y_second += 1
    axes.set(xlim=(-0.4, 4.4), ylim=(5.5, -0.5))
    axes.axis("off")
    return figure


show_figure(draw_tree)

# %% [markdown]
r"""
## The formula

The score of a hypothesis is a sum, and hypotheses of different lengths are compared by a
normalized score:

$$\text{score}(y) = \sum_{i=1}^{n} \log P(y_i \mid y_{<i}, x), \qquad
\text{normalized}(y) = \frac{\text{score}(y)}{n^{\alpha}}$$

| symbol | what it is |
|---|---|
| $n$ | length in tokens, EOS included |
| $\alpha$ | the length penalty: 0 compares sums, 1 compares means per token |
| K | beam size: hypotheses kept for each sentence; 1 is greedy search |

Every log-probability is at most 0, so **a sum can only fall**. With α = 0 each further word costs
something, and short translations are preferred.

Wu et al. 2016 divide by ((5 + n)/6)^α instead: a length penalty of 0.6 in one program is not 0.6
in another.

## The source

Greedy search over a batch. A *row* is one translation being written; rows that are finished leave
the batch.
"""

# %%
show_source("clearhead.decoding.search:greedy_search")

# %% [markdown]
"""
One step of beam search: all K · vocab continuations of a sentence compete in one `topk`. It returns
2K of them: up to K may end in EOS, and K unfinished ones must remain. A hypothesis is finished only
if its EOS is among the first K.
"""

# %%
show_source("clearhead.decoding.search:Beams._candidates")

# %% [markdown]
"""
The search never sees a Transformer. It needs an object with three methods: `step` gives the
log-probabilities of the next token, `reorder` and `keep` say which rows survive. So we can run the
library's search on the tree above.

## Experiment 1: where greedy search fails

**Predict:** what do greedy search and a beam of 2 write?
"""

# %%
WORDS = ["<pad>", "<s>", "</s>", "un", "une", "le"]
WORDS += ["homme", "chien", "arbre", "femme", "rue", "soir"]
config = TransformerConfig(len(WORDS), len(WORDS), d_model=2, h=1)  # only its special ids are used


class TreeSteps:
    """The tree as a model: the next word depends on the last one alone."""

    def step(self, last):
        """(rows,) ids -> (rows, vocab) log-probabilities of the next token."""
        p = torch.zeros(len(last), len(WORDS))
        for row, word in enumerate(WORDS[i] for i in last.tolist()):
            for follower, q in TREE.get(word.replace("<s>", ""), {"</s>": 1.0}).items():
                p[row, WORDS.index(follower)] = q
        return p.log()

    def keep(self, rows):
        """Nothing to do: no row has a memory."""

    reorder = keep


for K in (1, 2, 3):
    search = greedy_search if K == 1 else beam_search
    options = DecodingOptions(beam_size=K, n_best=K, length_penalty=0.0)
    found = search(TreeSteps(), torch.tensor([4]), config, options)[0]
    for rank, hypothesis in enumerate(found, start=1):
        text = " ".join(WORDS[i] for i in hypothesis.ids)
        probability = torch.tensor(hypothesis.score).exp()
        print(f"K = {K}  {rank}.  {text:10} p = {probability:.2f}")

# %% [markdown]
"""
Greedy search commits to *un* and can only reach 0.20. A beam of size 2 is enough to find *une
femme*, 0.36. Beam search is no guarantee either: a prefix that is worse than K others is gone for
good, however good its continuation.

## Experiment 2: the search is too good

More search should give better translations. Here is a model of a twelve-word sentence. At each
position the right word has probability 0.7, four wrong words share 0.28, and the EOS token has
0.02: it is improbable everywhere.

**Predict:** for which beam sizes is the result the whole sentence, with α = 0 and with α = 1?
"""

# %%
LENGTH, SIZES = 12, (1, 2, 4, 5, 6, 10, 30)
sentence = TransformerConfig(8, 8, d_model=2, h=1)  # ids 3: the right word, 4 to 7: wrong words


class SentenceSteps:
    """The right word 0.7, wrong ones 0.07 each, EOS 0.02; after twelve words EOS is certain."""

    def __init__(self) -> None:
        self.length = 0

    def step(self, last):
        """The same distribution for every row."""
        inside = torch.tensor([0, 0, 0.02, 0.7, 0.07, 0.07, 0.07, 0.07])
        after = torch.tensor([0, 0, 1.0, 0, 0, 0, 0, 0])
        p = inside if self.length < LENGTH else after
        self.length += 1
        return p.log().repeat(len(last), 1)

    keep = reorder = TreeSteps.keep


print("length of the best hypothesis, in words")
print("beam size  " + "".join(f"{K:>5}" for K in SIZES))
for alpha in (0.0, 1.0):
    lengths = []
    for K in SIZES:
        search = greedy_search if K == 1 else beam_search
        options = DecodingOptions(beam_size=K, length_penalty=alpha, min_length=0)
        best = search(SentenceSteps(), torch.tensor([LENGTH + 1]), sentence, options)[0][0]
        lengths.append(len(best.ids))
    print(f"alpha = {alpha}  " + "".join(f"{n:>5}" for n in lengths))
print(f"p(empty) = 0.02, p(whole sentence) = {0.7**LENGTH:.3f}")

# %% [markdown]
"""
The empty translation has probability 0.02, the whole sentence 0.7¹² = 0.014. The *model* prefers
to write nothing, and up to beam 5 the search hides this: after the BOS token, EOS is only the
sixth most probable token, so it is not among the K best continuations, which the search keeps.
With a beam of six it is kept. This is a real and well-known effect: larger beams make translations
shorter and worse, because the errors of the search had hidden an error of the model.

Dividing by the length repairs it. Per token, the whole sentence has −0.33 and the empty one ln
0.02 = −3.91.

## Experiment 3: the cache

Position t attends to the keys and values of positions 0 to t. The look-ahead mask hides t from the
earlier positions, so their keys and values **never change**: they are computed once and kept. The
library does this without a second model. It replaces `w_k` and `w_v` by projections that remember.
"""

# %%
show_source("clearhead.decoding.steps:GrowingProjection")

# %% [markdown]
"""
**Predict:** we write 30 tokens with the cache and without it. How many positions pass through the
decoder in each case? How far do the log-probabilities differ?
"""

# %%
torch.manual_seed(0)
model = build_transformer(50, 50, 40, 40, d_model=48, N=2, h=4, d_ff=96).eval()
src = torch.randint(3, 50, (1, 12))
tokens = torch.randint(3, 50, (30,))
tokens[0] = 1  # BOS

outputs = {}
for kind in (UncachedSteps, CachedSteps):
    seen = []
    count = model.decoder.layers[0].feed_forward_block.register_forward_hook(
        lambda block, inputs, output, seen=seen: seen.append(inputs[0].shape[1])
    )
    with torch.inference_mode():
        steps = kind(model, src)
        scores = [steps.step(token[None]) for token in tokens]
    count.remove()
    outputs[kind] = torch.cat(scores)
    print(f"{kind.__name__:14} {sum(seen):4} positions")
equal = torch.allclose(outputs[CachedSteps], outputs[UncachedSteps], atol=1e-4)
print("log-probabilities equal up to rounding:", equal)

# %% [markdown]
"""
Without the cache 1 + 2 + … + 30 = 465 positions are computed, with it 30. The keys and values of
the source are computed once, in the first step.

The two agree up to float32 rounding, which is the best possible test of a cache, and of the masks:
a decoder that sees the future in training gives *different* numbers here, because when it writes
there is no future to see.

## Exercises
"""

# %%
show_exercises(14)

# %% [markdown]
"""
## Common mistakes

- *`model.eval()` forgotten.* Dropout is active, so two runs give two translations. How to notice:
  translate the same sentence twice.
- *Another mask than in training.* A famous tutorial inverts the look-ahead mask in its translation
  script only. The loss was right, the translations are not. How to notice: feed a reference
  translation once as in training and once token by token; the log-probabilities must be equal.
- *Raw sums compared.* Translations get shorter as the beam grows. How to notice: print the ratio
  of lengths, hypothesis to reference (chapter 15).
- *The search stops too early.* The first finished hypothesis need not be the best one. Stop when
  no unfinished hypothesis can still overtake it.
- *The result depends on the batch.* The padding mask is missing somewhere (chapter 12). How to
  notice: decode each sentence alone and all together, and compare ids.

## Further reading

- Sutskever, Vinyals and Le 2014, *Sequence to Sequence Learning*, section 3.2: beam search for
  translation.
- Wu et al. 2016, *Google's Neural Machine Translation System*, section 7: length normalization.
- Stahlberg and Byrne 2019, *On NMT Search Errors and Model Errors: Cat Got Your Tongue?*: the most
  probable translation of many sentences is the empty one.
"""
