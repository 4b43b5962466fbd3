"""The cross-entropy of a causal language model above the lowest possible one.

    clearhead train causal --run-dir runs/causal
    python -m benchmarks.grammar_entropy runs/causal/best

The sentences of `measured:COUNT` are drawn from a grammar in which the probability p of each
sentence is known. The mean of -log p is the entropy, the lowest cross-entropy that a model can
reach. Grammar and model score the same new sentences, because the difference of the two means
has a much smaller error than either mean. The model's value is an upper bound: it counts only
the tokenization that the tokenizer produces.
"""

import argparse
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import torch

from benchmarks.grammar_probability import english, probability
from clearhead.data.weighted_english import Measured
from clearhead.models import Gpt
from clearhead.pretrained import load

TARGET = 0.03
SEED = 2026  # training and its dev set have seed 0 by default


def main() -> None:
    """Score and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path, help="directory of a causal model: RUN/best")
    parser.add_argument("--sentences", type=int, default=1000, help="number of new sentences")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the new sentences")
    arguments = parser.parse_args()
    began = time.perf_counter()
    sentences = list(Measured(arguments.sentences, arguments.seed))
    model, tokenizer = load(arguments.model)
    if not isinstance(model, Gpt):
        parser.error(f"{arguments.model} holds a {type(model).__name__}, expected a causal model")
    ids = tokenizer.encode_batch(sentences)
    eos_id = tokenizer.special_ids["eos"]
    theirs = nats_of(model, [[*row, eos_id] for row in ids], eos_id)
    truth = [-math.log(probability(sentence)) for sentence in sentences]
    for line in table(truth, theirs, sum(len(row) + 1 for row in ids)):
        print(line)
    print(f"{len(sentences):,} sentences in {time.perf_counter() - began:.0f} s")


@torch.inference_mode()
def nats_of(model: Gpt, texts: Sequence[list[int]], eos_id: int) -> list[float]:
    """The negative log-probability of each text with its EOS token.

    As in training, a row contains several whole texts with EOS tokens between them.
    """
    found: list[float] = []
    for rows in _groups(_rows(texts, model.config.seq_len), 32):
        ids = torch.full((len(rows), 1 + max(sum(map(len, row)) for row in rows)), eos_id)
        for line, row in zip(ids, rows, strict=True):
            flat = [i for text in row for i in text]
            line[1 : len(flat) + 1] = torch.tensor(flat)
        chances = model.project(model(ids[:, :-1]))  # (rows, seq_len, vocab), logarithms
        said = chances.gather(2, ids[:, 1:, None]).squeeze(2).double()
        for line, row in zip(said, rows, strict=True):
            parts = line[: sum(map(len, row))].split([len(text) for text in row])
            found += [-float(part.sum()) for part in parts]
    return found


def _rows(texts: Sequence[list[int]], longest: int) -> Iterator[list[list[int]]]:
    """As many texts in a row as fit."""
    row: list[list[int]] = []
    for text in texts:
        if row and sum(map(len, row)) + len(text) > longest:
            yield row
            row = []
        row.append(text)
    yield row


def table(truth: Sequence[float], theirs: Sequence[float], tokens: int) -> Iterator[str]:
    """The entropy, the model's cross-entropy, and how far apart they are."""
    gaps = [ours - best for ours, best in zip(theirs, truth, strict=True)]
    entropy, gap = statistics.fmean(truth), statistics.fmean(gaps)
    count = len(truth)
    yield "| nats per sentence | mean | standard error |"
    yield "|---|---|---|"
    yield f"| entropy of derivations, exact | {english().derivation_entropy:.3f} | 0 |"
    yield f"| the grammar on these sentences | {entropy:.3f} | {_error(truth):.3f} |"
    mean = statistics.fmean(theirs)
    yield f"| the model on these sentences | {mean:.3f} | {_error(theirs):.3f} |"
    yield f"| the model's excess | {gap:.3f} | {_error(gaps):.3f} |"
    yield ""
    per_token = count / tokens
    yield (
        f"perplexity per token: {math.exp((entropy + gap) * per_token):.3f}, "
        f"at best {math.exp(entropy * per_token):.3f}"
    )
    low, share = gap / entropy, f"{100 * gap / entropy:.2f} % ± {100 * _error(gaps) / entropy:.2f}"
    result = "within" if low <= TARGET else "beyond"
    yield f"above the entropy by {share} %: {result} the target of {100 * TARGET:.0f} %"


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values))


def _groups(rows: Iterator[list[list[int]]], size: int) -> Iterator[list[list[list[int]]]]:
    while group := list(islice(rows, size)):
        yield group


if __name__ == "__main__":
    main()
