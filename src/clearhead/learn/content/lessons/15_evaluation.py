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
# 15. Evaluation

**The question.** Two systems translate 3,000 sentences. Reading 6,000 translations after every
change to a model is not possible. Which one number says which system is better, and when should
you not believe it?
"""

# %%
import random
from collections import Counter
from itertools import islice

import matplotlib as mpl
from matplotlib.figure import Figure
from sacrebleu.metrics.bleu import BLEU

from clearhead.data.grammar import generate
from clearhead.evaluation.scores import compare, score
from clearhead.learn.lesson import show_exercises, show_figure, show_source

# %% [markdown]
"""
## The idea

Compare each translation with one that a human wrote, the *reference*. Do not compare whole
sentences, because there is more than one right translation. Compare **n-grams**: runs of 1, 2, 3
and 4 words. Single words show whether the vocabulary is right; runs of four show whether the words
are put together as in French.
"""

# %% tags=["hide-input"]
REFERENCE = "le chat noir dort sur le tapis rouge ."
HYPOTHESIS = "le chat noir est assis sur le tapis ."


def draw_matches() -> Figure:
    """The n-grams of a hypothesis, those that the reference contains in colour."""
    hypothesis, reference = HYPOTHESIS.split(), REFERENCE.split()
    figure = Figure(figsize=(8, 3))
    axes = figure.subplots()
    for n in range(1, 5):
        left = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
        matches, starts = 0, len(hypothesis) - n + 1
        for start in range(starts):
            gram = tuple(hypothesis[start : start + n])
            found = left[gram] > 0
            left[gram] -= found
            matches += found
            y = n + 0.5 * (start % n) / n - 0.2
            color = "C0" if found else mpl.rcParams["grid.color"]
            axes.plot([start - 0.32, start + n - 0.68], [y, y], color=color, linewidth=4)
        axes.text(9, n, f"{matches} of {starts}", va="center")
    for column, word in enumerate(hypothesis):
        axes.text(column, 0.4, word, ha="center", va="center")
    axes.set(xlim=(-0.6, 10), ylim=(4.6, 0))
    axes.set_yticks(range(1, 5), [f"{n}-grams" for n in range(1, 5)])
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


print("reference: ", REFERENCE)
print("hypothesis:", HYPOTHESIS)
show_figure(draw_matches)

# %% [markdown]
r"""
## The formula

Papineni et al. 2002:

$$\text{BLEU} = 100 \cdot BP \cdot \exp\left(\frac{1}{4} \sum_{n=1}^{4} \log p_n\right), \qquad
BP = \min(1,\; e^{1 - r/c})$$

| symbol | what it is |
|---|---|
| $p_n$ | clipped precision: the share of the hypothesis' n-grams that also occur in the reference |
| $c$, $r$ | length of all hypotheses and of all references, in tokens |
| $BP$ | brevity penalty: precision alone would reward writing very little |

*Clipped*: an n-gram counts at most as often as the reference has it. The sums run over the **whole
test set** before the division: BLEU is a score of a corpus. A sentence without any matching 4-gram
has $p_4 = 0$, so a BLEU of single sentences needs smoothing and means little.

**chrF** (Popović 2015) counts n-grams of characters, 1 to 6, and combines precision and recall.
For French, where *grand* and *grandes* differ in two letters, it is the fairer of the two.

## The source

The library does not compute BLEU itself. It calls sacreBLEU, so that its scores are those that
others report, and it keeps the *signature*.
"""

# %%
show_source("clearhead.evaluation.scores:score")
show_source("clearhead.evaluation.scores:compare")

# %% [markdown]
"""
## Experiment 1: BLEU by hand

**Predict:** from the four fractions in the figure, what is BLEU, roughly? And what is the 1-gram
precision of "le le le le le le le le ." with clipping?
"""

# %%
metric = BLEU(tokenize="none")
for text in (HYPOTHESIS, "le le le le le le le le ."):
    found = metric.corpus_score([text], [[REFERENCE]])
    parts = ", ".join(f"{a}/{b}" for a, b in zip(found.counts, found.totals, strict=True))
    print(f"{text:40} precisions {parts}, BP {found.bp:.2f}, BLEU {found.score:.1f}")

# %% [markdown]
"""
The precisions 7/9, 4/8, 2/7 and 0/6 have a geometric mean of 0, because no 4-gram matches.
sacreBLEU replaces a zero by a small value ("smooth:exp" in its signature) and reports 31.0. On a
whole test set there is always a matching 4-gram, and smoothing does nothing.

"le le le …" gets 3/9, not 9/9: the reference contains *le* twice and the full stop once. Without
clipping, a system could reach precision 1 by repeating the commonest word of French.

## Experiment 2: what BLEU cannot see

The reference says that the doctor did *not* see the patient. Three translations: one without the
negation, one correct in other words, and one that is a jumble of the right words.

**Predict** which one gets the highest BLEU.
"""

# %%
reference = "Le médecin n'a pas vu le patient hier soir à l'hôpital."
candidates = {
    "wrong: no negation": "Le médecin a vu le patient hier soir à l'hôpital.",
    "right: other words": "Hier soir, à l'hôpital, le docteur n'a pas vu le malade.",
    "jumble": "Hier vu pas le soir patient a le médecin l'hôpital à n'.",
}
sentence_bleu = BLEU(effective_order=True)
for name, text in candidates.items():
    bleu = sentence_bleu.sentence_score(text, [reference]).score
    chrf = score([text], [reference]).chrf.value
    print(f"{name:20} BLEU {bleu:5.1f}   chrF {chrf:5.1f}   {text}")

# %% [markdown]
"""
The translation that says the opposite gets 67.7, the correct one 22.7. Both metrics count matching
n-grams, BLEU of words and chrF of characters. *n'* and *pas* are two short words among many, while
a paraphrase changes most of the n-grams. chrF even prefers the jumble to the correct translation.
So a high score is no proof of meaning, and a low score of one sentence is no proof of a mistake.
The metrics work on corpora, where systems of the same kind make mistakes of the same kind.

## Experiment 3: four scores of the same translations

We take 600 sentences from the library's grammar and damage their French: each word is replaced
with probability 0.1, and one sentence in five loses its capital letter. The translations stay as
they are; only the settings of the metric change. **Predict** the range of the scores.
"""

# %%
pairs = list(islice(generate("test", seed=1), 600))
references = [pair.target for pair in pairs]
vocabulary = sorted({word for line in references for word in line.split()})


def damaged(line: str, rate: float, rng: random.Random) -> str:
    """The line with words replaced at random, some without their capital letter."""
    words = [rng.choice(vocabulary) if rng.random() < rate else w for w in line.split()]
    text = " ".join(words)
    return text[0].lower() + text[1:] if rng.random() < 0.2 else text


rng = random.Random(0)
system = [damaged(line, 0.1, rng) for line in references]
settings = {
    "13a, the default": BLEU(),
    "lower-cased": BLEU(lowercase=True),
    "split at spaces": BLEU(tokenize="none"),
    "characters": BLEU(tokenize="char"),
}
for name, metric in settings.items():
    value = metric.corpus_score(system, [references]).score
    print(f"{name:18}{value:6.1f}   {metric.get_signature()}")

# %% [markdown]
"""
The same translations get 74.6 to 84.9. Lower-casing hides the lost capitals, and n-grams of
characters match where whole words do not. None of these numbers is wrong, but only equal
signatures can be compared: `case`, `tok`, `smooth` and the number of references are all part of
the score. The default is 13a with case, on plain text.

## Experiment 4: better, or lucky?

System B is system A with one more damaged word in some sentences, so A is better by construction.
We score both on the first 60, 200 and 600 sentences. **Predict:** on which size can you tell?

`compare` resamples the test set 1,000 times with replacement and estimates how often such a
difference arises by chance (Koehn 2004).
"""

# %%
system_b = []
for line in system:
    words = line.split()
    if rng.random() < 0.08:
        words[rng.randrange(len(words))] = rng.choice(vocabulary)
    system_b.append(" ".join(words))

results = {}
for size in (60, 200, 600):
    bleu = compare(system[:size], system_b[:size], references[:size])[0]
    results[size] = bleu
    print(
        f"{size:4} sentences: A {bleu.value:.1f} ± {bleu.margin:.1f}, "
        f"B {bleu.other:.1f} ± {bleu.other_margin:.1f}, "
        f"difference {bleu.difference:+.2f}, p = {bleu.p_value:.3f}"
    )


# %% tags=["hide-input"]
def draw_intervals() -> Figure:
    """BLEU of both systems with 95 % intervals on 60, 200 and 600 sentences."""
    figure = Figure(figsize=(7, 3))
    axes = figure.subplots()
    for row, c in enumerate(results.values()):
        for shift, value, margin, name in (
            (-0.12, c.value, c.margin, "A"), (0.12, c.other, c.other_margin, "B"),
        ):  # fmt: skip
            color = "C0" if name == "A" else "C1"
            axes.errorbar(value, row + shift, xerr=margin, fmt="o", color=color, capsize=3)
            axes.text(value + margin + 0.4, row + shift, name, color=color, va="center")
    axes.set_yticks(range(3), [f"{size} sentences" for size in results])
    axes.set(ylim=(2.4, -0.4), xlabel="BLEU, 95 % interval")
    return figure


show_figure(draw_intervals)

# %% [markdown]
"""
On 60 sentences the difference could be luck (p = 0.104). On 200 it is significant, although the
intervals of A and B still overlap: 70.9 to 78.5 and 68.8 to 76.4. The intervals say how much a
score moves when *other sentences* are drawn, and both systems move together, since a hard sentence
is hard for both. The **paired** test looks at the difference on the same sentences, where that
common part cancels. Overlapping intervals do not mean "no difference".

Significance is not importance, either. With enough sentences a difference of 0.1 BLEU is
significant, and no reader will notice it.

## Exercises
"""

# %%
show_exercises(15)

# %% [markdown]
"""
## Common mistakes

- *Tokenized text is scored.* Output with spaces before the full stops was tokenized by the model's
  own tools; sacreBLEU warns about it. Detokenize first, and score what a reader would see.
- *BLEU without a signature.* Two papers' numbers may differ by several points for the same output.
  Quote the signature, or the numbers cannot be compared.
- *The test set was in the training data.* Web corpora contain well-known test sets. How to notice:
  count test sentences that occur in the training data, exactly and after normalization.
- *A checkpoint chosen on the test set.* Choose on a development set, and use the test set once.
- *One number for everything.* Sentences with negation, numbers or names can be wrong while BLEU
  rises. `clearhead evaluate` on the grammar reports exact matches for each phenomenon separately.

## Further reading

- Papineni et al. 2002, *BLEU: a Method for Automatic Evaluation of Machine Translation*.
- Post 2018, *A Call for Clarity in Reporting BLEU Scores*: sacreBLEU and its signature.
- Popović 2015, *chrF: character n-gram F-score for automatic MT evaluation*.
- Koehn 2004, *Statistical Significance Tests for Machine Translation Evaluation*.
- Freitag et al. 2022, *Results of WMT22 Metrics Shared Task: Stop Using BLEU*.
"""
