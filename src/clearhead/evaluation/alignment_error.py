r"""The alignment error rate of each cross-attention head, against the grammar's gold links.

.. math:: \text{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

(Och and Ney 2003, section 5.2). A are the links of a head, S the sure gold links, and P the
possible ones, which include the sure ones. The grammar derives both sentences from one tree, so
nearly all links are sure; possible are those of *est-ce que* and *ne*, which English has no word
for.

A head links each target word to the source word with the largest attention from the target word's
tokens; EOS is not a word. Two conventions say which row of the attention belongs to a token, and
both are measured:

- **output**: the row that predicts the token (its input is the previous token);
- **input**: the row whose input is the token (Chen et al. 2020, "Accurate Word Alignment
  Induction from Neural Machine Translation", there called Shift-Att).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.data.grammar import GrammarPair, word_spans
from clearhead.decoding.forced import cross_attention_heads
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.text import Tokenizer

Span = tuple[int, int]  # (start, end) characters
Links = Iterable[tuple[int, int]]


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

    `heads` maps convention -> layer -> head; `layers`, convention -> layer, for the average of its
    heads. `floor` is the lowest possible error on these sentences, since each target word gets one
    link and some have more. `skipped` pairs were longer than the model's positions.
    """

    heads: dict[str, list[list[float]]]
    layers: dict[str, list[float]]
    floor: float
    sentences: int
    skipped: int

    @property
    def best(self) -> Head:
        """The head with the lowest error."""
        heads = (
            Head(rows, layer, head, error)
            for rows, table in self.heads.items()
            for layer, errors in enumerate(table)
            for head, error in enumerate(errors)
        )
        return min(heads, key=lambda head: head.error)


class LinkCount:
    """|A ∩ S| + |A ∩ P|, |A| and |S| over a corpus, for many aligners in parallel.

    A link counts 2 if it is sure (and therefore possible), 1 if it is only possible, else 0.
    """

    def __init__(self) -> None:
        self.right, self.found, self.sure = torch.zeros(()), 0, 0

    def add(self, attention: Tensor, gold: Tensor, present: Tensor) -> None:
        """Count one sentence; each `present` target word is linked to its largest attention.

        A target word without tokens is not present and gets no link.

        Shapes: attention (..., target words, source words), gold (target words, source words) of
        0, 1 and 2, present (target words,) bool
        """
        self.sure += int((gold == 2).sum())
        if gold.numel():
            chosen = attention.argmax(dim=-1, keepdim=True)  # (..., target words, 1)
            right = gold.expand(attention.shape).gather(-1, chosen).squeeze(-1)
            self.right = self.right + (right * present).sum(dim=-1)
            self.found += int(present.sum())

    def error(self) -> Tensor:
        """AER of each aligner, from 0 to 1; 0 if there are no links at all."""
        links = self.found + self.sure
        return 1 - self.right / links if links else torch.zeros(())


def alignment_errors(
    model: Transformer, tokenizer: Tokenizer, pairs: Sequence[GrammarPair], batch_tokens: int = 8192
) -> AlignmentErrors:
    """Compare the cross-attention of the teacher-forced references with the gold links.

    Raises:
        UserError: no pair is short enough for the model.
    """
    sources = tokenizer.encode_batch([pair.source for pair in pairs])
    targets = tokenizer.encode_batch([pair.target for pair in pairs])
    fitting = _fitting(model, sources, targets)
    counts = {"input": LinkCount(), "output": LinkCount()}
    best_possible = LinkCount()
    attention = cross_attention_heads(
        model,
        [[*sources[i], model.config.eos_id] for i in fitting],
        [targets[i] for i in fitting],
        batch_tokens,
    )
    for number, weights in attention:
        pair = pairs[fitting[number]]
        source = words_of_tokens(tokenizer, pair.source)
        target = words_of_tokens(tokenizer, pair.target)
        gold = link_matrix(pair.sure, pair.alignment, target.shape[1], source.shape[1])
        present = target.any(dim=0)
        # (layers, h, tgt_len + 1, src_len) -> (layers, h, tgt_len + 1, source words)
        words = weights[..., :-1] @ source
        # The average of all heads is an additional head.
        words = torch.cat([words, words.mean(dim=1, keepdim=True)], dim=1)
        counts["input"].add(target.T @ words[..., 1:, :], gold, present)
        counts["output"].add(target.T @ words[..., :-1, :], gold, present)
        best_possible.add(gold, gold, present)
    errors = {rows: count.error().tolist() for rows, count in counts.items()}
    return AlignmentErrors(
        {rows: [layer[:-1] for layer in table] for rows, table in errors.items()},
        {rows: [layer[-1] for layer in table] for rows, table in errors.items()},
        best_possible.error().item(),
        len(fitting),
        len(pairs) - len(fitting),
    )


def _fitting(
    model: Transformer, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[int]:
    """Indices of the pairs that fit into the model's positions with EOS and BOS."""
    config = model.config
    fitting = [
        i
        for i, (source, target) in enumerate(zip(sources, targets, strict=True))
        if len(source) < config.src_seq_len and len(target) < config.tgt_seq_len
    ]
    if not fitting:
        raise UserError(
            f"none of the {len(sources)} sentences fits the {config.src_seq_len} source and "
            f"{config.tgt_seq_len} target positions of this model; "
            "measure its alignment on shorter ones"
        )
    return fitting


def link_matrix(sure: Links, possible: Links, target_words: int, source_words: int) -> Tensor:
    """(source word, target word) links as a matrix: 2 = sure, 1 = only possible, 0 = no link.

    Shape: -> (target words, source words), float32
    """
    matrix = torch.zeros(target_words, source_words)
    for value, links in ((1.0, possible), (2.0, sure)):
        for source, target in links:
            matrix[target, source] = value
    return matrix


def words_of_tokens(tokenizer: Tokenizer, text: str) -> Tensor:
    """The word of `word_spans` that each token belongs to: one 1 in every row.

    Shape: -> (tokens, words), float32
    """
    tokens = [span for _, span in tokenizer.pieces(text)]
    words = word_spans(text)
    matrix = torch.zeros(len(tokens), len(words))
    for token, word in enumerate(word_indices(tokens, words)):
        matrix[token, word] = 1.0
    return matrix


def word_indices(tokens: Sequence[Span], words: Sequence[Span]) -> list[int]:
    """For each token, the index of the word with which it shares most characters.

    Of two words with equal shares it is the later one: where the tokenizer splits after an
    elision, the token " a" of "n'a" starts at the apostrophe. A token that shares no character is a
    space and belongs to the next word, or to the last one. Without words the list is empty.
    """
    return [_word_index(token, words) for token in tokens] if words else []


def _word_index(token: Span, words: Sequence[Span]) -> int:
    shared = [min(token[1], end) - max(token[0], start) for start, end in words]
    best = max(range(len(words)), key=lambda word: (shared[word], word))
    if shared[best] > 0:
        return best
    return next((i for i, (_, end) in enumerate(words) if end > token[0]), len(words) - 1)
