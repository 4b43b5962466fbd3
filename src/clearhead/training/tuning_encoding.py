"""Labelled texts and words as ids and label numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clearhead.data.labelled import LabelledText, LabelledWords
from clearhead.data.labelled_batches import NOTHING, Example
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer
from clearhead.text.esm_alphabet import EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.word_labels import gather, spread
from clearhead.training.span_score import are_span_labels, span_f1


def encode_texts(
    items: Sequence[LabelledText], labels: Sequence[str], tokenizer: PretrainedTokenizer
) -> list[Example]:
    """Ids, segments where there are pairs, and the label's number.

    Raises:
        UserError: pairs for a model that reads one text.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    targets = [[numbers[item.label]] for item in items]
    if all(item.pair is None for item in items):
        found = tokenizer.encode_batch([item.text for item in items])
        return [Example(ids, None, target) for ids, target in zip(found, targets, strict=True)]
    if not isinstance(tokenizer, FastTokenizer):
        raise UserError(
            "this model reads one text at a time, so a second one (data.pair) does not do; "
            "give a BERT, or leave data.pair out"
        )
    pairs = [tokenizer.encode_pair(item.text, item.pair or "") for item in items]
    return [Example(*pair, target) for pair, target in zip(pairs, targets, strict=True)]


def encode_words(
    items: Sequence[LabelledWords], labels: Sequence[str], tokenizer: PretrainedTokenizer
) -> list[Example]:
    """Ids, and the number of its label at every word's first piece."""
    numbers = {label: number for number, label in enumerate(labels)}
    found = []
    for item in items:
        ids, owners = pieces_of(item, tokenizer)
        tags = [NOTHING if tag is None else numbers[tag] for tag in item.tags]
        found.append(Example(ids, None, spread(tags, owners, NOTHING)))
    return found


def pieces_of(
    item: LabelledWords, tokenizer: PretrainedTokenizer
) -> tuple[list[int], list[int | None]]:
    """Ids of a sentence, and of which word each is a piece."""
    assert isinstance(tokenizer, FastTokenizer | EsmAlphabet)  # those of models with such a head
    return tokenizer.encode_words(item.words)


def said_of_words(
    item: LabelledWords, said: Sequence[str], tokenizer: PretrainedTokenizer
) -> list[str | None]:
    """The answer for every word that counts; none for a word that was cut off."""
    # The last place is a sign's, also in a text that was cut.
    found = gather(said[:-1], pieces_of(item, tokenizer)[1], len(item.words))
    return [None if tag is None else answer for tag, answer in zip(item.tags, found, strict=True)]


def score_spans(
    items: Sequence[LabelledWords],
    said: Sequence[NDArray[np.int64]],
    labels: Sequence[str],
    tokenizer: PretrainedTokenizer,
) -> float | None:
    """The F1 of whole spans, if the labels tell spans; `said` has a label number a piece."""
    if not are_span_labels(labels):
        return None
    words = [
        said_of_words(item, [labels[i] for i in row.tolist()], tokenizer)
        for item, row in zip(items, said, strict=True)
    ]
    return span_f1([item.tags for item in items], words)
