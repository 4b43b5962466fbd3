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
# 18. DNA, proteins and cells

**The question.** A Transformer reads sequences of tokens. DNA is a sequence, but it has four
letters and no spaces. A protein has twenty letters. A cell is not a sequence at all: it is a set
of genes with their counts. What are the tokens, what is the order, and what of the previous
chapters still holds?
"""

# %%
import random

import numpy as np
import torch
from matplotlib.figure import Figure
from torch.nn import functional as F

from clearhead.biology.cells import fit_medians, ranked
from clearhead.biology.dna import kmers
from clearhead.biology.encoder import MotifConfig
from clearhead.biology.explaining import attention_of
from clearhead.biology.model import ModelConfig, SequenceModel
from clearhead.biology.vocabulary import Vocabulary
from clearhead.data.folds import clusters, grouped, stratified
from clearhead.data.h5ad import write_cell
from clearhead.learn.lesson import show_exercises, show_figure, show_source
from clearhead.plot_style import GREY

# %% [markdown]
"""
## The idea

Only the first step changes: a rule that turns the object into ids. After that a vector is a
vector, and the encoder of chapter 10, trained as in chapter 17, does the rest.

- **DNA** is cut into single bases, or into *k-mers*, words of k bases. They usually overlap.
- **Proteins** use one token for each of the 20 amino acids.
- **A cell** becomes a sentence by *sorting* its genes by their expression.
"""


# %% tags=["hide-input"]
def draw_tokens() -> Figure:
    """Nine bases and their overlapping 3-mers."""
    figure = Figure(figsize=(7, 2.6))
    axes, bases = figure.subplots(), "ATTGCATGA"
    for i, base in enumerate(bases):
        axes.text(i, 0, base, ha="center", va="center", family="monospace", fontsize=13)
    for start, piece in enumerate(kmers(bases, 3)):
        y = 1 + start % 3
        axes.plot([start - 0.4, start + 2.4], [y, y], color="C0", linewidth=3)
        axes.text(start + 1, y + 0.18, piece, ha="center", va="top", fontsize=9, color="C0")
    axes.set(xlim=(-0.7, 8.7), ylim=(3.9, -0.6))
    axes.axis("off")
    return figure


show_figure(draw_tokens)

# %% [markdown]
r"""
Every inner base is in three 3-mers. So predicting a single masked 3-mer is trivial: in the figure,
the neighbours of GCA spell it. A base is hidden only if all k tokens that contain it are masked, so
the library masks spans of k tokens (`clearhead.data.masking`).

## The formulas

A sequence of n bases has $n - k + 1$ overlapping k-mers, over a vocabulary of $4^k$ words. The
other strand carries the complement in the opposite direction: ATTGC and GCAAT are the same
molecule. For a cell, Geneformer (Theodoris et al. 2023) ranks the genes by

$$v_g = \frac{\text{count}_g}{\sum_h \text{count}_h} \cdot 10{,}000 \;/\; m_g$$

| symbol | what it is |
|---|---|
| $\text{count}_g$ | molecules of gene g that were counted in this cell |
| $\sum_h \text{count}_h$ | all molecules of the cell: how deeply it was sequenced |
| $m_g$ | the median of gene g's non-zero values over all *training* cells |

The position in the sentence then carries the expression; the counts themselves are discarded.

## The source
"""

# %%
show_source("clearhead.biology.encoder:MotifEmbeddings")
show_source("clearhead.biology.cells:ranked")

# %% [markdown]
"""
One base means little, so the embedding reads a window: each feature detects a motif, a
short pattern that biologists draw as a sequence logo. The Transformer above it relates the motifs
that were found.

## Experiment 1: sorting a cell

Three synthetic cell types. ACTB and GAPDH are *housekeeping* genes, high in every cell. CD3E marks
T cells, MS4A1 B cells, LYZ monocytes. The sequencing depth varies tenfold between cells.

**Predict:** which gene comes first in each type, sorted by plain counts and by count ÷ median?
"""

# %%
GENES = ["ACTB", "GAPDH", "CD3E", "MS4A1", "LYZ"]
MEANS = {"T": [300, 120, 40, 1, 2], "B": [280, 110, 1, 35, 2], "monocyte": [320, 130, 1, 1, 70]}
rng = np.random.default_rng(0)
cells = {name: [] for name in MEANS}
for name, means in MEANS.items():
    for _ in range(40):
        counts = rng.poisson(np.array(means) * rng.uniform(0.3, 3))
        cells[name].append(write_cell(GENES, counts / counts.sum() * 10_000))
medians = fit_medians(cell for same in cells.values() for cell in same)

equal = dict.fromkeys(GENES, 1.0)  # dividing by 1 sorts by the counts alone
for name, same in cells.items():
    by_count = {ranked(cell, equal)[0] for cell in same}
    by_median = {ranked(cell, medians)[0] for cell in same}
    print(f"{name:9} by count: {by_count}, by count ÷ median: {by_median}")

# %% [markdown]
"""
By counts every cell begins with ACTB, so the first word says nothing. Divided by the median, every
cell begins with the marker of its type. The depth of sequencing does not change the order: it
multiplies all counts of a cell by one factor. Each count is divided by the cell's total first
because the medians are taken over cells of different depths.

## Experiment 2: a perfect score from nothing

60 families of four DNA sequences: copies of an ancestor with 5 % of the bases drawn again. Each
*family* gets its label by the toss of a coin, so there is nothing to learn. The classifier copies
the label of the most similar training sequence.

**Predict** its accuracy with five random folds, and with folds that keep similar sequences
together.
"""

# %%
draw, labels, sequences = random.Random(1), [], []
for _ in range(60):
    ancestor, label = draw.choices("ACGT", k=80), draw.choice(["yes", "no"])
    for _ in range(4):
        labels.append(label)
        copy = [draw.choice("ACGT") if draw.random() < 0.05 else base for base in ancestor]
        sequences.append("".join(copy))
words = [set(kmers(sequence, 4)) for sequence in sequences]


def accuracy(folds: np.ndarray) -> float:
    """The share of sequences whose nearest neighbour in other folds has the same label."""
    right = 0
    for i, fold in enumerate(folds):
        others = np.flatnonzero(folds != fold)
        right += labels[max(others, key=lambda j: len(words[i] & words[j]))] == labels[i]
    return right / len(folds)


similar = clusters(sequences, 0.5)
print(f"random folds:           {accuracy(stratified(labels, 5, seed=0)):.0%}")
print(f"folds by {len(set(similar))} clusters:  {accuracy(grouped(similar, 5, seed=0)):.0%}")

# %% [markdown]
"""
The 60 clusters are the 60 families. With random folds each test sequence has relatives in
training, and copying *their* label is always right: 100 % for data without any signal. With whole
clusters in one fold the truth appears, a coin toss. Real data sets are full of families:
homologous proteins, neighbouring windows of a genome, cells of one donor.

## Experiment 3: the grammar of a promoter

In *E. coli*, transcription starts downstream of two short sequences (*boxes*): TTGACA, and TATAAT
about 17 bases after it. Here is a synthetic version. Both classes contain both boxes in random
DNA; in a "promoter" TTGACA comes first, in the other class TATAAT. So the *words* are the same and
only their order differs.

**Predict:** how well does a linear model of 3-mer counts do? And a Transformer with one layer?
"""

# %%
vocabulary = Vocabulary.of_bases()


def promoters(count: int, seed: int) -> tuple[list[str], torch.Tensor]:
    """Sequences of 40 bases and their class: 1 where TTGACA comes before TATAAT."""
    choose, found, classes = random.Random(seed), [], torch.arange(count) % 2
    for label in classes.tolist():
        bases, gap = choose.choices("ACGT", k=40), choose.randrange(4, 12)
        start = choose.randrange(29 - gap)
        for box in ("TTGACA", "TATAAT") if label else ("TATAAT", "TTGACA"):
            bases[start : start + 6] = box
            start += 6 + gap
        found.append("".join(bases))
    return found, classes


def ids(found: list[str], by: Vocabulary = vocabulary) -> torch.Tensor:
    """The tokens of all sequences, between two special tokens."""
    return torch.tensor([by.encode(sequence) for sequence in found])


def counts(found: list[str]) -> torch.Tensor:
    """(sequences, 69): how often each 3-mer, or special token, occurs."""
    return F.one_hot(ids(found, Vocabulary.of_kmers(3)), 69).sum(dim=1).float()


def train(model, inputs, classes) -> None:
    """150 steps of Adam on batches of 32, with a warm-up and a decay of the learning rate."""
    optimizer = torch.optim.Adam(model.parameters())
    shuffle = torch.Generator().manual_seed(0)
    for step in range(150):
        optimizer.param_groups[0]["lr"] = 5e-3 * min(1, (step + 1) / 20, 3 * (1 - step / 150))
        rows = torch.randint(len(inputs), (32,), generator=shuffle)
        loss = F.cross_entropy(model(inputs[rows]), classes[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


texts, classes = promoters(4000, seed=1)
new_texts, new_classes = promoters(500, seed=2)
torch.manual_seed(0)
linear = torch.nn.Linear(69, 2)
sizes = MotifConfig(len(vocabulary.tokens), 42, 32, layers=1, d_ff=64, dropout=0.0, motif=7)
transformer = SequenceModel(ModelConfig("dna", sizes, "pooled", labels=("other", "promoter")))
for name, model, encode in (("3-mer counts", linear, counts), ("Transformer", transformer, ids)):
    train(model, encode(texts), classes)
    with torch.no_grad():
        right = model.eval()(encode(new_texts)).argmax(dim=1) == new_classes
    print(f"{name:12} {right.float().mean():.0%}")

# %% [markdown]
"""
The counts are at chance level: both classes have the same words. One layer of attention is enough,
because its rotary positions carry the distance and the direction from a query to a key.

What has the model looked at? Two answers for a promoter in the middle: the attention that each
base receives, and the *effect* of masking it, the fall of the log-odds of "promoter".
"""

# %%
chosen = next(s for s in new_texts[1::2] if s.index("TTGACA") > 9 and s.index("TATAAT") < 25)
attention = attention_of(transformer, vocabulary.encode(chosen)).mean(axis=(0, 1, 2))[1:-1]
hidden = ids([chosen] * 41)
hidden[range(40), range(1, 41)] = vocabulary.specials["mask"]
with torch.no_grad():
    odds = transformer(hidden)[:, 1] - transformer(hidden)[:, 0]
bars = {"effect": (odds[-1] - odds[:-1]).numpy(), "attention": attention}
boxes = [chosen.index(box) + i for box in ("TTGACA", "TATAAT") for i in range(6)]


def draw_explanation() -> Figure:
    """Effect and attention of each base of one promoter; the boxes are coloured."""
    figure = Figure(figsize=(9, 3.2))
    colors = ["C0" if i in boxes else GREY for i in range(len(chosen))]
    for axes, (name, values) in zip(figure.subplots(2, 1), bars.items(), strict=True):
        axes.bar(range(len(chosen)), values, color=colors)
        axes.set_xticks(range(len(chosen)), list(chosen), family="monospace")
        axes.set_ylabel(name)
    return figure


show_figure(draw_explanation)

# %% [markdown]
"""
Most of the effect lies in the boxes. The attention gives a different picture: it shows what was
read, whereas the effect shows what the answer depends on.

## Exercises
"""

# %%
show_exercises(18)

# %% [markdown]
"""
## Common mistakes

- *Relatives in training and test.* Experiment 2; `clearhead bio dna benchmark --similarity`.
- *No simple baseline.* On a few hundred cells logistic regression is often as good: report both.
- *A shortcut in the data.* In a first version of experiment 3 the first box always began within
  ten bases of the start, so the position of TTGACA alone gave the class. The accuracy was 100 %.
  Only the effect showed the mistake: masking TATAAT changed almost nothing.

## Further reading

- Ji et al. 2021, *DNABERT*; Zhou et al. 2023, *DNABERT-2*: from k-mers to learned pieces.
- Lin et al. 2023, *Evolutionary-scale prediction of atomic-level protein structure* (ESM-2).
- Theodoris et al. 2023, *Transfer learning enables predictions in network biology* (Geneformer).
- Whalen et al. 2022, *Navigating the pitfalls of applying machine learning in genomics*.
- Jain and Wallace 2019, *Attention is not Explanation*.
"""
