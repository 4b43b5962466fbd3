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
# Generation, one token at a time

A GPT takes a sequence of tokens and computes, for each token of its vocabulary, the probability
that it comes next. To generate text, it does this repeatedly. This notebook trains a tiny GPT in
seconds, shows its probabilities, modifies them, samples from them, and measures what the cache
saves.
"""

# %%
# %matplotlib inline
import os
import time

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from clearhead.data.corpus import GrammarPairs
from clearhead.decoding import sampling
from clearhead.decoding.causal import CachedCausalSteps
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.sampling import Points, draw
from clearhead.models import Gpt, GptConfig
from clearhead.pipelines.text_generator import TextGenerator
from clearhead.text.learning import learn_byte_level

torch.manual_seed(0)
FAST = os.environ.get("CLEARHEAD_FAST") == "1"

# %% [markdown]
# ## 1. A small GPT
#
# The training text comes from a grammar of English sentences, split into tokens by byte-level BPE,
# as for GPT-2. All sentences are concatenated into one token stream with the EOS token between
# them. The label of each position is the next token.

# %%
sentences = [pair.source for pair in GrammarPairs("train", 6000)]
tokenizer = learn_byte_level(sentences, 1000)
eos = tokenizer.special_ids["eos"]
rows = tokenizer.encode_batch(sentences)
stream = torch.tensor([token for ids in rows for token in [eos, *ids]])
print(sentences[0], [tokenizer.piece(token) for token in rows[0]], sep="\n")

config = GptConfig(
    tokenizer.vocab_size, seq_len=128, d_model=64, layers=2, h=4, d_ff=256, dropout=0.0,
    attention_dropout=0.0, embedding_dropout=0.0, bos_id=eos, eos_id=eos,
)  # fmt: skip
model = Gpt.from_config(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(1, (201 if FAST else 601)):
    starts = torch.randint(0, len(stream) - 33, (48,))
    windows = torch.stack([stream[start : start + 33] for start in starts])
    logits = model.logits(model(windows[:, :-1]))
    loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 200 == 0:
        print(f"step {step}: {loss.item():.2f} nats per token")
model = model.eval()

# %% [markdown]
# ## 2. What comes next?
#
# The output projection maps the hidden state of the *last* token to 1,000 scores, the logits, and
# softmax turns them into probabilities. After some prompts the model is nearly certain; after
# others many words are possible. The entropy of the distribution measures this.


# %%
@torch.no_grad()
def next_logits(text: str) -> torch.Tensor:
    """The logits of the token after EOS and the text, (1, vocab)."""
    ids = torch.tensor([[eos, *tokenizer.encode(text)]])
    return model.logits(model(ids)[:, -1])


def bars(axis: plt.Axes, logits: torch.Tensor, title: str, count: int = 14) -> None:
    """The most probable tokens; excluded ones are pale."""
    plain = next_logits(text) if logits.isinf().any() else logits
    order = plain[0].argsort(descending=True)[:count]
    probabilities = logits.softmax(-1)[0, order]
    shown = torch.where(probabilities > 0, probabilities, plain.softmax(-1)[0, order])
    colours = ["#33658a" if p > 0 else "#d5dde3" for p in probabilities]
    axis.bar(range(count), shown, color=colours)
    names = [tokenizer.decode([int(token)]) or "EOS" for token in order]
    axis.set_xticks(range(count), names, rotation=70, fontsize=8)
    axis.set_title(title, fontsize=10)


beginnings = ["", "She isn", "The old woman", "The old woman never eats the"]
figure, axes = plt.subplots(1, 4, figsize=(14, 3), layout="constrained")
for axis, text in zip(axes, beginnings, strict=True):
    logits = next_logits(text)
    likely = logits.softmax(-1)
    entropy = -(likely * likely.log()).sum().item()
    bars(axis, logits, f"“{text} …”\nentropy {entropy:.1f} nats")
axes[0].set_ylabel("probability")
plt.show()

# %% [markdown]
# ## 3. Changing the distribution
#
# **Temperature** divides the logits: below 1 the distribution becomes sharper, above 1 flatter.
# **Top-k** keeps the k most probable tokens. **Top-p** keeps the smallest set of most probable
# tokens whose probabilities sum to at least p: few tokens where the model is certain, many where it
# is not. **Min-p** keeps the tokens whose probability is at least the given fraction of the highest
# one. Excluded tokens are pale in the figure; their probability goes to the others.

# %%
text = "The old woman"
plain = next_logits(text)
bent = {
    "unchanged": plain,
    "temperature 0.5": sampling.temperature(plain, 0.5),
    "temperature 2": sampling.temperature(plain, 2.0),
    "top-k 5": sampling.top_k(plain, 5),
    "top-p 0.8": sampling.top_p(plain, 0.8),
    "min-p 0.2": sampling.min_p(plain, 0.2),
}
figure, axes = plt.subplots(2, 3, figsize=(14, 6), sharey=True, layout="constrained")
for axis, (title, logits) in zip(axes.flat, bent.items(), strict=True):
    bars(axis, logits, title)
figure.suptitle(f"Next token after “{text}”")
plt.show()

# %% [markdown]
# ## 4. From probabilities to a token
#
# Divide the interval from 0 to 1 into one segment per token. The length of a segment is the
# probability of its token. Draw a random point: the token whose segment contains the point is
# chosen. A seed determines the sequence of points and therefore the text. The frequencies of many
# draws approach the probabilities:

# %%
points = Points([7])
uniform = torch.cat([points.next([0], plain.device) for _ in range(2000)])
drawn = draw(plain.expand(2000, -1), uniform).bincount(minlength=config.vocab_size) / 2000
best = plain[0].argsort(descending=True)[:5]
for token in best.tolist():
    share = plain.softmax(-1)[0, token].item()
    print(f"{tokenizer.decode([token]):>12}  probability {share:.3f}  drawn {drawn[token]:.3f}")

# %% [markdown]
# ## 5. The loop
#
# Generation repeats three steps: compute the logits, choose a token, append it. Greedy search
# always chooses the most probable token and gives the same text each time. Sampling also chooses
# less probable tokens; a low temperature lies between the two.


# %%
def write(text: str, temperature: float, seed: int, count: int = 24) -> tuple[str, list[float]]:
    """The continued text and the probability of each chosen token."""
    ids, points, chosen = tokenizer.encode(text), Points([seed]), []
    for _ in range(count):
        logits = next_logits(tokenizer.decode(ids))
        if temperature == 0:
            token = int(logits.argmax())
        else:
            token = int(draw(logits / temperature, points.next([0], logits.device)))
        chosen.append(logits.softmax(-1)[0, token].item())
        if token == eos:
            break
        ids.append(token)
    return tokenizer.decode(ids), chosen


figure, axis = plt.subplots(figsize=(10, 3), layout="constrained")
for temperature, seed in ((0, 0), (0.5, 1), (1.0, 2), (1.0, 3), (2.0, 4)):
    written, chosen = write("The", temperature, seed)
    label = "greedy" if temperature == 0 else f"temperature {temperature}, seed {seed}"
    print(f"{label:26} {written!r}")
    axis.plot(chosen, marker="o", label=label)
axis.set(
    yscale="log", xlabel="token", ylabel="probability", title="Probability of each chosen token"
)
axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# ## 6. The cache
#
# The loop above processes the whole text again for each token. But no position attends to later
# ones, so the keys and values of earlier positions never change. If they are stored, each step
# processes only one position. The measurement uses a larger model with random weights.

# %%
wide = Gpt.from_config(GptConfig(500, seq_len=512, d_model=256, layers=4, h=4, d_ff=1024)).eval()
lengths = [16, 64, 128] if FAST else [16, 64, 128, 256, 480]


@torch.no_grad()
def milliseconds(length: int, cached: bool, steps: int = 5) -> float:
    """The time of one further token after `length` tokens."""
    ids = torch.randint(0, 500, (1, length))
    text = CachedCausalSteps(wide)
    text.step(ids)
    times = []
    for _ in range(steps):
        began = time.perf_counter()
        if cached:
            text.step(ids[:, -1:])
        else:
            wide.logits(wide(ids)[:, -1])
        times.append(1000 * (time.perf_counter() - began))
    return sorted(times)[steps // 2]


figure, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
for cached in (False, True):
    found = [milliseconds(length, cached) for length in lengths]
    label = "with cache" if cached else "without cache"
    axis.plot(lengths, found, marker="o", label=label)
    print(f"{label:18}", [f"{ms:.1f} ms" for ms in found])
axis.set(xlabel="length of the text (tokens)", ylabel="time of the next token (ms)", ylim=0)
axis.legend()
plt.show()
c = wide.config
print(f"stored per token: {2 * c.layers * c.d_model * 4 / 1024:.0f} KB of keys and values")

# %% [markdown]
# The cache changes no result: the logits are equal up to rounding.

# %%
with torch.no_grad():
    ids = torch.randint(0, 500, (1, 40))
    text = CachedCausalSteps(wide)
    logits = text.step(ids[:, :30])
    for position in range(30, 40):
        logits = text.step(ids[:, [position]])
    difference = (logits - wide.logits(wide(ids)[:, -1])).abs().max().item()
print(f"largest difference after ten steps: {difference:.1e}")

# %% [markdown]
# ## 7. Everything together
#
# `TextGenerator` is this loop with a cache and batches. It streams whole characters and stops
# before a stop string. `clearhead generate` and `pipeline("text-generation")` use it.

# %%
writer = TextGenerator(model, tokenizer)
options = SamplingOptions(max_new_tokens=40, temperature=0.8, top_k=20)
for piece in writer.stream("The old", options, stop=["."], seed=3):
    print(piece, end="|")
print()
for one in writer.generate(["The cat", "My", ""], options, seeds=[1, 2, 3]):
    print(one)
