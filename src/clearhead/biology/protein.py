"""Proteins: the effect of substitutions, and contacts as far as attention shows them.

Masked marginals (Meier et al. 2021): hide a position, and compare the probability of another
residue there with that of the residue that stood there.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clearhead.biology.answering import scores_of
from clearhead.biology.domains import checked
from clearhead.biology.model import Loaded
from clearhead.data.sequences import Record
from clearhead.errors import UserError
from clearhead.evaluation.labelled import probabilities

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
_FORM = re.compile(r"([A-Z])(\d+)([A-Z])")
Floats = NDArray[np.float64]


def masked_marginals(loaded: Loaded, sequence: str) -> Floats:
    r"""Log-odds of every residue at every position.

    .. math:: \log p(x_t = a \mid x_{\setminus t}) - \log p(x_t = w_t \mid x_{\setminus t})

    with :math:`w_t` the residue of the wild type.

    Shape: -> (positions, 20), columns in the order of `RESIDUES`; the wild type has 0

    Raises:
        UserError: the model predicts no masked tokens, or the sequence is empty or longer than it
            reads, or has an unknown letter.
    """
    sequence = checked(Record("the sequence", "", sequence), "protein").sequence
    config, vocabulary = loaded.config, loaded.vocabulary
    if config.head != "masked" or config.facts.get("untrained_head"):
        raise UserError("not a masked language model; give ESM-2 or a run of bio protein pretrain")
    ids, before = vocabulary.encode(sequence), vocabulary.edges[0]
    if len(ids) > config.encoder.seq_len:
        raise UserError(
            f"the sequence has {len(ids)} tokens and the model reads {config.encoder.seq_len}; "
            "shorten it, for example to one domain of the protein"
        )
    hidden = [vocabulary.masked(ids, t) for t in range(before, before + len(sequence))]
    found = scores_of(loaded.models[0], hidden)
    at_mask = np.stack([row[before + t] for t, row in enumerate(found)])
    logs = np.log(np.maximum(probabilities(at_mask), 1e-300))
    columns = [vocabulary.ids[residue] for residue in RESIDUES]
    wild = logs[np.arange(len(sequence)), ids[before : before + len(sequence)]]
    return logs[:, columns] - wild[:, None]


def score_of(marginals: Floats, sequence: str, mutant: str) -> float:
    """The score of a mutant such as `A24G` or `A24G:T31S`, positions counted from 1: a sum.

    Raises:
        UserError: another form, the sequence has another residue at that position, or a position
            occurs twice.
    """
    total, positions = 0.0, re.findall(r"\d+", mutant)
    if len(set(positions)) < len(positions):
        raise UserError(f"{mutant} substitutes one residue twice; name each position once")
    for part in mutant.split(":"):
        match = _FORM.fullmatch(part.strip())
        if not match or match[3] not in RESIDUES:
            raise UserError(f"{part!r} is not a substitution; write A24G, several as A24G:T31S")
        position = int(match[2])
        if not 1 <= position <= len(sequence) or sequence[position - 1] != match[1]:
            there = sequence[position - 1] if 1 <= position <= len(sequence) else "missing"
            found = f"residue {position} of {len(sequence)} is {there}, not {match[1]}"
            raise UserError(f"{part}: {found}; positions count from 1")
        total += float(marginals[position - 1, RESIDUES.index(match[3])])
    return total


def table(marginals: Floats, sequence: str) -> Sequence[list[str]]:
    """One row a position: number, wild type, the twenty scores."""
    return [
        [str(number), residue, *(f"{score:.3f}" for score in row)]
        for number, (residue, row) in enumerate(zip(sequence, marginals, strict=True), start=1)
    ]


def contacts(attention: Floats, inner: slice) -> Floats:
    r"""A map of pairs from attention: symmetrised, background removed, mean over all heads.

    .. math:: F_{ij} = A_{ij} - \frac{A_{i\cdot} A_{\cdot j}}{A_{\cdot\cdot}}

    The average product correction (Dunn et al. 2008), as ESM's contact prediction applies it.

    Shape: (layers, h, query, key) -> (positions, positions)
    """
    heads = attention.reshape(-1, *attention.shape[2:])
    total = np.zeros_like(heads[0, inner, inner])
    for weights in heads[:, inner, inner]:  # one after the other, to hold few maps at a time
        pairs = weights + weights.T
        total += pairs - np.outer(pairs.sum(1), pairs.sum(0)) / pairs.sum()
    mean: Floats = total / len(heads)
    return mean
