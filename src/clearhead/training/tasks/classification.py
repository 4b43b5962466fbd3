"""Fine-tuning on labels: of texts or pairs of texts, and of the words of a sentence (tagging)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.data.labelled import LabelledText, LabelledWords
from clearhead.data.labelled_batches import NOTHING, Example
from clearhead.data.labelled_readers import (
    PREFIX,
    Columns,
    labelled_roles,
    labelled_sentences,
    read_labelled_texts,
    read_labelled_words,
)
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer
from clearhead.text.esm_alphabet import EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.word_labels import gather, spread
from clearhead.training.classification_metrics import are_span_labels, span_f1
from clearhead.training.finetuning_recipe import (
    ClassificationRecipe,
    TaggingRecipe,
    TextData,
    WordData,
)
from clearhead.training.tasks.finetuning import FineTuning
from clearhead.training.tasks.labelled_examples import Examples, read_examples

SHOWN_CHARACTERS = 100  # of a text in the log
SHOWN_WORDS = 30  # of a sentence there


class Classification(FineTuning):
    """Predicts the label of each text from the first token."""

    head, item, title, dev_unit = "sequence", LabelledText, "Text classifier", "texts"
    default_metric = "macro_f1"

    @classmethod
    def read(cls, recipe: ClassificationRecipe) -> Examples[LabelledText]:
        """The rows of the recipe's files, or the grammar's sentences."""
        return read_examples(recipe.data, recipe.run.seed, partial(read_texts, recipe.data))

    @classmethod
    def refuse(
        cls, recipe: ClassificationRecipe, labels: Sequence[str], tokenizer: PretrainedTokenizer
    ) -> None:
        """Refuse pairs of texts if the model's input is one text."""
        refuse_pairs(recipe.data, tokenizer)

    def encode(self, items: Sequence[LabelledText]) -> list[Example]:
        """Ids, segments if there are pairs, and the label's index."""
        return encode_texts(items, self.examples.labels, self.tokenizer)

    def sample(self, item: LabelledText, example: Example, predicted: list[str]) -> str:
        """The text, its label and the prediction."""
        text = item.content.replace("\t", " | ")
        shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
        return f"{shown}\n= {item.label}\n→ {predicted[0]}"


def refuse_pairs(data: TextData, tokenizer: PretrainedTokenizer) -> None:
    """Refuse pairs of texts if the model's input is one text.

    Raises:
        UserError: it is, and `data.pair` names a column.
    """
    if data.pair is not None and not isinstance(tokenizer, FastTokenizer):
        raise UserError(
            f"this model's input is one text, so data.pair={data.pair!r} cannot be used; "
            "give a BERT, or leave it out"
        )


def read_texts(data: TextData, spec: str) -> list[LabelledText]:
    """The rows of a file with these columns, or `grammar:SPLIT:COUNT`."""
    if spec.startswith(PREFIX):
        return labelled_sentences(spec)
    return read_labelled_texts(spec, data.text, data.label, data.pair)


def encode_texts(
    items: Sequence[LabelledText], labels: Sequence[str], tokenizer: PretrainedTokenizer
) -> list[Example]:
    """Ids, segments if there are pairs (see `refuse_pairs`), and the label's index."""
    index = {label: number for number, label in enumerate(labels)}
    targets = [[index[item.label]] for item in items]
    if all(item.pair is None for item in items):
        found = tokenizer.encode_batch([item.text for item in items])
        return [Example(ids, None, target) for ids, target in zip(found, targets, strict=True)]
    assert isinstance(tokenizer, FastTokenizer)
    pairs = [tokenizer.encode_pair(item.text, item.pair or "") for item in items]
    return [Example(*pair, target) for pair, target in zip(pairs, targets, strict=True)]


class Tagging(FineTuning):
    """Predicts the label of each word at the first token of the word."""

    head, item, title, dev_unit = "token", LabelledWords, "Tagger", "sentences"
    default_metric = "accuracy"

    @classmethod
    def read(cls, recipe: TaggingRecipe) -> Examples[LabelledWords]:
        """The sentences of the recipe's files, or the grammar's."""
        return read_examples(recipe.data, recipe.run.seed, partial(read_words, recipe.data))

    @classmethod
    def refuse(
        cls, recipe: TaggingRecipe, labels: Sequence[str], tokenizer: PretrainedTokenizer
    ) -> None:
        """Refuse the F1 of spans if the labels do not mark spans."""
        if recipe.run.metric == "span_f1" and not are_span_labels(labels):
            raise UserError(
                "run.metric=span_f1 needs labels that mark spans (O, B-NAME, I-NAME), and these "
                f"are {', '.join(labels[:8])}; give run.metric=accuracy"
            )

    def encode(self, items: Sequence[LabelledWords]) -> list[Example]:
        """Ids, and the label's index at the first token of each word."""
        return encode_words(items, self.examples.labels, self.tokenizer)

    def more_scores(self, predicted: list[Any]) -> dict[str, float]:
        """The F1 of whole spans, if the labels mark spans."""
        f1 = score_spans(self.examples.dev, predicted, self.examples.labels, self.tokenizer)
        return {} if f1 is None else {"span_f1": f1}

    def sample(self, item: LabelledWords, example: Example, predicted: list[str]) -> str:
        """The first words, each with its label and, if it is wrong, the prediction."""
        shown = []
        by_word = labels_of_words(item, predicted, self.tokenizer)
        for word, tag, found in zip(item.words, item.tags, by_word, strict=True):
            if tag is not None:
                wrong = "" if found == tag else f"→{found or '?'}"
                shown.append(f"{word}/{tag}{wrong}")
        return " ".join(shown[:SHOWN_WORDS]) + (" …" if len(shown) > SHOWN_WORDS else "")


def read_words(data: WordData, spec: str) -> list[LabelledWords]:
    """The sentences of a file with these columns, or `grammar:SPLIT:COUNT`."""
    if spec.startswith(PREFIX):
        return labelled_roles(spec)
    return read_labelled_words(spec, Columns(data.words, data.tags, data.mask))


def encode_words(
    items: Sequence[LabelledWords], labels: Sequence[str], tokenizer: PretrainedTokenizer
) -> list[Example]:
    """Ids, and the label's index at the first token of each word."""
    index = {label: number for number, label in enumerate(labels)}
    found = []
    for item in items:
        ids, owners = _tokens_of(item, tokenizer)
        tags = [NOTHING if tag is None else index[tag] for tag in item.tags]
        found.append(Example(ids, None, spread(tags, owners, NOTHING)))
    return found


def labels_of_words(
    item: LabelledWords, predicted: Sequence[str], tokenizer: PretrainedTokenizer
) -> list[str | None]:
    """The predicted label of each word; None if the word is ignored or was cut off."""
    # The last position is a special token's, also in a text that was cut.
    found = gather(predicted[:-1], _tokens_of(item, tokenizer)[1], len(item.words))
    return [None if tag is None else label for tag, label in zip(item.tags, found, strict=True)]


def score_spans(
    items: Sequence[LabelledWords],
    predicted: Sequence[NDArray[np.int64]],
    labels: Sequence[str],
    tokenizer: PretrainedTokenizer,
) -> float | None:
    """The F1 of whole spans, if the labels mark spans; `predicted` has a label for each token."""
    if not are_span_labels(labels):
        return None
    words = [
        labels_of_words(item, [labels[i] for i in row.tolist()], tokenizer)
        for item, row in zip(items, predicted, strict=True)
    ]
    return span_f1([item.tags for item in items], words)


def _tokens_of(
    item: LabelledWords, tokenizer: PretrainedTokenizer
) -> tuple[list[int], list[int | None]]:
    """The ids of a sentence, and the index of the word to which each belongs."""
    assert isinstance(tokenizer, FastTokenizer | EsmAlphabet)  # of models with such a head
    return tokenizer.encode_words(item.words)
