r"""The alignment error rate of cross-attention, head by head, against the grammar's truth.

.. math:: \text{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

(Och and Ney 2003, section 5.2). A are the links a head gives, S the sure links
and P the possible ones of the truth, sure ones included. The grammar derives both
sentences from one tree, so nearly all its links are sure; possible are those of
*est-ce que* and of *ne*, which English has no word for.

A head links each target word to the source word that its pieces, taken together,
look at most; the end sign is no word. Which row of the attention belongs to a
piece is a convention, and both are measured:

- **output**: the row that predicts the piece (its input is the piece before it);
- **input**: the row that has just read the piece (Chen et al. 2020, "Accurate Word
  Alignment Induction from Neural Machine Translation", there called Shift-Att).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.data.grammar import GrammarPair
from clearhead.decoding.forced import cross_attention_heads
from clearhead.errors import UserError
from clearhead.evaluation.links import LinkCount, links_as_matrix
from clearhead.evaluation.piece_words import membership
from clearhead.models import Transformer
from clearhead.text import Tokenizer


@dataclass(frozen=True)
class Head:
    """One head under one convention; layer and head count from 0."""

    rows: str
    layer: int
    head: int
    error: float


@dataclass(frozen=True)
class AlignmentErrors:
    """AER from 0 to 1 under both conventions, `"input"` and `"output"`.

    `heads` goes rows -> layer -> head; `layers`, rows -> layer, for the average of
    its heads. `floor` is what no head can go below on these sentences, because each
    target word gets one link and some have more in truth. `skipped` pairs were
    longer than the model's positions.
    """

    heads: dict[str, list[list[float]]]
    layers: dict[str, list[float]]
    floor: float
    sentences: int
    skipped: int

    @property
    def best(self) -> Head:
        """The head with the lowest error."""
        everyone = (
            Head(rows, layer, head, error)
            for rows, table in self.heads.items()
            for layer, errors in enumerate(table)
            for head, error in enumerate(errors)
        )
        return min(everyone, key=lambda head: head.error)


def alignment_errors(
    model: Transformer,
    tokenizer: Tokenizer,
    pairs: Sequence[GrammarPair],
    batch_tokens: int = 8192,
) -> AlignmentErrors:
    """Lead the model along the references and compare where it looks with the truth.

    Raises:
        UserError: no pair is short enough for the model.
    """
    sources = tokenizer.encode_batch([pair.source for pair in pairs])
    targets = tokenizer.encode_batch([pair.target for pair in pairs])
    short = _short_enough(model, sources, targets)
    counts = {"input": LinkCount(), "output": LinkCount()}
    best_possible = LinkCount()
    attention = cross_attention_heads(
        model,
        [[*sources[i], model.config.eos_id] for i in short],
        [targets[i] for i in short],
        batch_tokens,
    )
    for number, weights in attention:
        pair = pairs[short[number]]
        source, target = membership(tokenizer, pair.source), membership(tokenizer, pair.target)
        truth = links_as_matrix(pair.sure, pair.alignment, target.shape[1], source.shape[1])
        said = target.any(dim=0)
        # (layers, h, tgt_len + 1, src_len) -> (layers, h + 1, tgt_len + 1, source words)
        words = _with_average(weights[..., :-1] @ source)
        counts["input"].add(target.T @ words[..., 1:, :], truth, said)
        counts["output"].add(target.T @ words[..., :-1, :], truth, said)
        best_possible.add(truth, truth, said)
    errors = {rows: count.error().tolist() for rows, count in counts.items()}
    return AlignmentErrors(
        {rows: [layer[:-1] for layer in table] for rows, table in errors.items()},
        {rows: [layer[-1] for layer in table] for rows, table in errors.items()},
        best_possible.error().item(),
        len(short),
        len(pairs) - len(short),
    )


def _short_enough(
    model: Transformer, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[int]:
    """Numbers of the pairs that the model has positions for, with the sign each side gets."""
    config = model.config
    short = [
        number
        for number, (source, target) in enumerate(zip(sources, targets, strict=True))
        if len(source) < config.src_seq_len and len(target) < config.tgt_seq_len
    ]
    if not short:
        raise UserError(
            f"none of the {len(sources)} sentences fits the {config.src_seq_len} source and "
            f"{config.tgt_seq_len} target positions of this model; "
            "measure its alignment on shorter ones"
        )
    return short


def _with_average(weights: Tensor) -> Tensor:
    """The average of all heads as one head more."""
    return torch.cat([weights, weights.mean(dim=1, keepdim=True)], dim=1)
