"""What a model's answer depends on: attention, and the effect of hiding each token."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from clearhead.biology.answering import scores_of, states_of
from clearhead.biology.dna import reverse_complement
from clearhead.biology.model import Loaded, SequenceModel
from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.decoding.forced import recording_attention
from clearhead.errors import UserError
from clearhead.evaluation.labelled import probabilities
from clearhead.explain.capture import private_copy

Floats = NDArray[np.float64]
MOST = 2048  # tokens of a sequence: the effort grows with the third power of the length
MOST_PAIRED = 4096  # tokens whose attention is kept: 128 MB a head


class Explanation(NamedTuple):
    """Of one sequence: its tokens, and two numbers for each of them, (tokens,)."""

    pieces: list[str]
    effect: Floats  # how much the answer's calibrated probability falls if the token is masked
    attention: Floats  # mean weight that the token receives from all queries, heads and layers


@torch.no_grad()
def attention_of(model: SequenceModel, ids: list[int]) -> Floats:
    """Attention weights of one sequence, (layers, h, query, key).

    Raises:
        UserError: the model has no attention, or the sequence is too long to keep it all.
    """
    if len(ids) > MOST_PAIRED:
        raise UserError(
            f"the sequence has {len(ids):,} tokens, and its attention weights would not fit into "
            f"memory; shorten it to at most {MOST_PAIRED:,} tokens"
        )
    model = private_copy(model)
    blocks = [part for part in model.modules() if isinstance(part, MultiHeadAttentionBlock)]
    if not blocks:
        raise UserError("this model has no attention; explain a Transformer")
    with recording_attention(blocks):
        model.hidden(torch.tensor([ids]))
        found = [block.attention_scores for block in blocks]
    return np.stack([weights[0].double().numpy() for weights in found if weights is not None])


def explain(loaded: Loaded, sequence: str) -> Explanation:
    """Both views of the answer for one sequence; the members are averaged.

    Raises:
        UserError: the model gives no classes of whole sequences, or the sequence is too long.
    """
    config, vocabulary = loaded.config, loaded.vocabulary
    if not config.labels or config.head == "token":
        raise UserError("--explain needs a model with one class per sequence; give such a model")
    before, after = vocabulary.edges
    ids, pieces = vocabulary.encode(sequence), vocabulary.pieces(sequence)
    if config.domain == "cells":
        ids = vocabulary.fitted(ids, config.longest)
    inner = slice(before, len(ids) - after)
    if len(ids[inner]) > MOST:
        raise UserError(
            f"the sequence has {len(ids[inner]):,} tokens, and --explain runs once for each; "
            f"cut it to at most {MOST:,} tokens"
        )
    read, states = states_of(config, len(ids))
    attention = np.zeros(len(ids))
    for model in loaded.models:
        received = attention_of(model, ids).mean(axis=(0, 1, 2))
        attention[read] += (received / np.bincount(states))[states] / len(loaded.models)
    chances = _occlusion(loaded, ids, inner)
    if config.strands:
        other, cut = vocabulary.encode(reverse_complement(sequence)), vocabulary.cut
        turned = _occlusion(loaded, other, slice(before, len(other) - after))
        # Learned tokens, and k-mers with a step, are cut elsewhere there: none of them is hidden.
        alike = cut.kind != "bpe" and cut.step == 1
        hidden = turned[:0:-1] if alike else turned[:1]
        chances = np.vstack([chances[:1] + turned[:1], chances[1:] + hidden]) / 2
    answer = int(chances[0].argmax())
    effect = chances[0, answer] - chances[1:, answer]
    return Explanation(pieces[: len(effect)], effect, attention[inner])


def strongest(explanation: Explanation, count: int) -> Explanation:
    """The tokens of the largest effect, up or down, in the order of the sequence."""
    chosen = np.sort(np.argsort(-np.abs(explanation.effect), kind="stable")[:count])
    pieces = [explanation.pieces[token] for token in chosen]
    return Explanation(pieces, explanation.effect[chosen], explanation.attention[chosen])


def _occlusion(loaded: Loaded, ids: list[int], inner: slice) -> Floats:
    """Calibrated probabilities, with no token hidden and with each: (1 + tokens, classes)."""
    rows = [ids, *(loaded.vocabulary.masked(ids, t) for t in range(*inner.indices(len(ids))))]
    every = [probabilities(np.array(scores_of(m, rows)), loaded.temperature) for m in loaded.models]
    chances: Floats = np.mean(every, axis=0)
    return chances
