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

A GPT does one thing: it reads some tokens and says, for every token of its vocabulary, how
likely that one comes next. Writing is asking again and again. This notebook trains a tiny GPT in
seconds, looks at what it says, bends it, draws from it, and finds out what the cache is for.
"""

# %%
# %matplotlib inline
import os
import time

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from clearhead.data.grammar_pairs import GrammarPairs
from clearhead.decoding import warpers
from clearhead.decoding.draw import Points, draw
from clearhead.decoding.sampling_options import SamplingOptions
from clearhead.fast.incremental_gpt import IncrementalGpt
from clearhead.models import Gpt, GptConfig
from clearhead.pipelines.text_generator import TextGenerator
from clearhead.text.learning import learn_byte_level

FAST = os.environ.get("CLEARHEAD_FAST") == "1"
torch.manual_seed(0)

# %% [markdown]
# ## 1. A GPT of our own
#
# Its text comes from a grammar of English sentences, cut into byte-level pieces as GPT-2's is. All
# texts stand in one ribbon, with the end sign between them; every position learns to say the next.

# %%
sentences = [pair.source for pair in GrammarPairs("train", 6000)]
tokenizer = learn_byte_level(sentences, 1000)
end = tokenizer.signs["eos"]
rows = tokenizer.encode_batch(sentences)
ribbon = torch.tensor([token for ids in rows for token in [end, *ids]])
print(sentences[0], [tokenizer.piece(token) for token in rows[0]], sep="\n")

config = GptConfig(
    tokenizer.vocab_size, seq_len=128, d_model=64, layers=2, h=4, d_ff=256, dropout=0.0,
    attention_dropout=0.0, embedding_dropout=0.0, bos_id=end, eos_id=end,
)  # fmt: skip
model = Gpt.from_config(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(1, (201 if FAST else 601)):
    starts = torch.randint(0, len(ribbon) - 33, (48,))
    windows = torch.stack([ribbon[start : start + 33] for start in starts])
    logits = model.logits(model(windows[:, :-1]))
    loss = F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 200 == 0:
        print(f"step {step}: {loss.item():.2f} nats a token")
model = model.eval()

# %% [markdown]
# ## 2. What comes next?
#
# The hidden state of the *last* token goes to the vocabulary: 1,000 scores, the logits. Softmax
# makes probabilities of them. After some beginnings the model is nearly certain, after others
# many words are possible: a sentence that has just begun may be about anything.


# %%
@torch.no_grad()
def next_logits(text: str) -> torch.Tensor:
    """(1, vocab): what the model says after a text, which begins with the sign."""
    ids = torch.tensor([[end, *tokenizer.encode(text)]])
    return model.logits(model(ids)[:, -1])


def bars(axis: plt.Axes, logits: torch.Tensor, title: str, count: int = 14) -> None:
    """The likeliest tokens; pale are those that may not come."""
    plain = next_logits(text) if logits.isinf().any() else logits
    order = plain[0].argsort(descending=True)[:count]
    probabilities = logits.softmax(-1)[0, order]
    shown = torch.where(probabilities > 0, probabilities, plain.softmax(-1)[0, order])
    colours = ["#33658a" if p > 0 else "#d5dde3" for p in probabilities]
    axis.bar(range(count), shown, color=colours)
    names = [tokenizer.decode([int(token)]) or "end" for token in order]
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
# ## 3. Bending the distribution
#
# **Temperature** divides the logits: below 1 the likely become likelier, above 1 all draw nearer.
# **Top-k** keeps the k likeliest, whatever they weigh; **top-p** as many as make up the share p,
# few where the model is sure and many where it is not; **min-p** those at least so many times as
# likely as the best. What is pale below is out, and its share goes to the others.

# %%
text = "The old woman"
plain = next_logits(text)
bent = {
    "as it is": plain,
    "temperature 0.5": warpers.temperature(plain, 0.5),
    "temperature 2": warpers.temperature(plain, 2.0),
    "top-k 5": warpers.top_k(plain, 5),
    "top-p 0.8": warpers.top_p(plain, 0.8),
    "min-p 0.2": warpers.min_p(plain, 0.2),
}
figure, axes = plt.subplots(2, 3, figsize=(14, 6), sharey=True, layout="constrained")
for axis, (title, logits) in zip(axes.flat, bent.items(), strict=True):
    bars(axis, logits, title)
figure.suptitle(f"What may follow “{text}”")
plt.show()

# %% [markdown]
# ## 4. From probabilities to a token
#
# Lay the probabilities side by side on a line from 0 to 1 and throw a point on it: the token is the
# stretch that it falls on. A seed is a list of such points, so the same seed gives the same text.
# Thrown often enough, the points give back the probabilities:

# %%
points = Points([7])
throws = torch.cat([points.next(plain.device) for _ in range(2000)])
drawn = draw(plain.expand(2000, -1), throws).bincount(minlength=config.vocab_size) / 2000
best = plain[0].argsort(descending=True)[:5]
for token in best.tolist():
    share = plain.softmax(-1)[0, token].item()
    print(f"{tokenizer.decode([token]):>12}  probability {share:.3f}  drawn {drawn[token]:.3f}")

# %% [markdown]
# ## 5. The loop
#
# That is all there is to writing: ask, choose, append. Greedy always takes the likeliest token: it
# says the same every time. Sampling says what the model has learned to be possible, now and
# then something unlikely, too; a low temperature lies between the two.


# %%
def write(text: str, temperature: float, seed: int, count: int = 24) -> tuple[str, list[float]]:
    """The text continued, and the probability of each token that was chosen."""
    ids, points, chosen = tokenizer.encode(text), Points([seed]), []
    for _ in range(count):
        logits = next_logits(tokenizer.decode(ids))
        if temperature == 0:
            token = int(logits.argmax())
        else:
            token = int(draw(logits / temperature, points.next(logits.device)))
        chosen.append(logits.softmax(-1)[0, token].item())
        if token == end:
            break
        ids.append(token)
    return tokenizer.decode(ids), chosen


figure, axis = plt.subplots(figsize=(10, 3), layout="constrained")
for temperature, seed in ((0, 0), (0.5, 1), (1.0, 2), (1.0, 3), (2.0, 4)):
    written, chosen = write("The", temperature, seed)
    label = "greedy" if temperature == 0 else f"temperature {temperature}, seed {seed}"
    print(f"{label:26} {written!r}")
    axis.plot(chosen, marker="o", label=label)
axis.set(yscale="log", xlabel="token", ylabel="its probability", title="How bold was each choice?")
axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# ## 6. The cache
#
# The loop above reads the whole text again for every token. But nobody looks ahead: what stands
# before a position never changes, nor do its keys and values. Keep them, and a step is one
# position of work. Below, a larger model with random weights, for which time is all that counts.

# %%
wide = Gpt.from_config(GptConfig(500, seq_len=512, d_model=256, layers=4, h=4, d_ff=1024)).eval()
lengths = [16, 64, 128] if FAST else [16, 64, 128, 256, 480]


@torch.no_grad()
def milliseconds(length: int, cached: bool, steps: int = 5) -> float:
    """Of the next token after so many."""
    ids = torch.randint(0, 500, (1, length))
    incremental = IncrementalGpt(wide)
    incremental.start(ids, torch.ones_like(ids, dtype=torch.bool), steps)
    times = []
    for _ in range(steps):
        began = time.perf_counter()
        hidden = incremental.step(ids[:, -1]) if cached else wide(ids)[:, -1]
        wide.logits(hidden)
        times.append(1000 * (time.perf_counter() - began))
    return sorted(times)[steps // 2]


figure, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
for cached in (False, True):
    found = [milliseconds(length, cached) for length in lengths]
    label = "with the cache" if cached else "reading all again"
    axis.plot(lengths, found, marker="o", label=label)
    print(f"{label:18}", [f"{ms:.1f} ms" for ms in found])
axis.set(xlabel="tokens so far", ylabel="ms for the next one", ylim=0)
axis.legend()
plt.show()
c = wide.config
print(f"kept for each token: {2 * c.layers * c.d_model * 4 / 1024:.0f} KB of keys and values")

# %% [markdown]
# It says the same to the last digits, which is what makes it a cache and not a shortcut:

# %%
with torch.no_grad():
    ids = torch.randint(0, 500, (1, 40))
    incremental = IncrementalGpt(wide)
    hidden = incremental.start(ids[:, :30], torch.ones(1, 30, dtype=torch.bool), 10)
    for place in range(30, 40):
        hidden = incremental.step(ids[:, place])
    difference = (hidden - wide(ids)[:, -1]).abs().max().item()
print(f"largest difference after ten steps: {difference:.1e}")

# %% [markdown]
# ## 7. All together
#
# `TextGenerator` is the loop with the cache, in a batch, in whole characters as they come, and it
# ends before a stop string. It is what `clearhead generate` and `pipeline("text-generation")` use.

# %%
writer = TextGenerator(model, tokenizer)
options = SamplingOptions(max_new_tokens=40, temperature=0.8, top_k=20)
for piece in writer.stream("The old", options, stop=["."], seed=3):
    print(piece, end="|")
print()
for one in writer.generate(["The cat", "My", ""], options, seeds=[1, 2, 3]):
    print(one)
