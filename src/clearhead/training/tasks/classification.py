"""Fine-tuning on labels: of texts or pairs of texts, and of the words of a sentence (tagging)."""

from collections.abc import Sequence

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

SHOWN_CHARACTERS = 100  # of a text in the log
SHOWN_WORDS = 30  # of a sentence there


class Classification(FineTuning):
    """Predicts the label of each text from the first token."""

    head, item, title, dev_unit = "sequence", LabelledText, "Text classifier", "texts"
    default_metric = "macro_f1"

    @classmethod
    def read_file(cls, data: TextData, spec: str) -> list[LabelledText]:
        """The rows of a file with these columns, or `grammar:SPLIT:COUNT`."""
        if spec.startswith(PREFIX):
            return labelled_sentences(spec)
        return read_labelled_texts(spec, data.text, data.label, data.pair)

    @classmethod
    def refuse(
        cls, recipe: ClassificationRecipe, labels: Sequence[str], tokenizer: PretrainedTokenizer
    ) -> None:
        """Refuse pairs of texts if the model's input is one text."""
        pair = recipe.data.pair
        if pair is not None and not isinstance(tokenizer, FastTokenizer):
            raise UserError(
                f"this model's input is one text, so data.pair={pair!r} cannot be used; "
                "give a BERT, or leave it out"
            )

    def encode(self, items: Sequence[LabelledText]) -> list[Example]:
        """Ids, segments if there are pairs, and the label's index."""
        targets = [[self.index[item.label]] for item in items]
        if all(item.pair is None for item in items):
            found = self.tokenizer.encode_batch([item.text for item in items])
            return [Example(ids, None, target) for ids, target in zip(found, targets, strict=True)]
        assert isinstance(self.tokenizer, FastTokenizer)  # others are refused
        pairs = [self.tokenizer.encode_pair(item.text, item.pair or "") for item in items]
        return [Example(*pair, target) for pair, target in zip(pairs, targets, strict=True)]

    def sample(self, item: LabelledText, predicted: list[str]) -> str:
        """The text, its label and the prediction."""
        text = item.content.replace("\t", " | ")
        shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
        return f"{shown}\n= {item.label}\n→ {predicted[0]}"


class Tagging(FineTuning):
    """Predicts the label of each word at the first token of the word."""

    head, item, title, dev_unit = "token", LabelledWords, "Tagger", "sentences"
    default_metric = "accuracy"

    @classmethod
    def read_file(cls, data: WordData, spec: str) -> list[LabelledWords]:
        """The sentences of a file with these columns, or `grammar:SPLIT:COUNT`."""
        if spec.startswith(PREFIX):
            return labelled_roles(spec)
        return read_labelled_words(spec, Columns(data.words, data.tags, data.mask))

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
        found = []
        for item in items:
            ids, owners = self._tokens_of(item)
            tags = [NOTHING if tag is None else self.index[tag] for tag in item.tags]
            found.append(Example(ids, None, spread(tags, owners, NOTHING)))
        return found

    def more_scores(self, predicted: list[NDArray[np.int64]]) -> dict[str, float]:
        """The F1 of whole spans, if the labels mark spans."""
        items, labels = self.examples.dev, self.examples.labels
        if not are_span_labels(labels):
            return {}
        words = [
            self._labels_of_words(item, [labels[i] for i in row.tolist()])
            for item, row in zip(items, predicted, strict=True)
        ]
        return {"span_f1": span_f1([item.tags for item in items], words)}

    def sample(self, item: LabelledWords, predicted: list[str]) -> str:
        """The first words, each with its label and, if it is wrong, the prediction."""
        shown = []
        by_word = self._labels_of_words(item, predicted)
        for word, tag, found in zip(item.words, item.tags, by_word, strict=True):
            if tag is not None:
                wrong = "" if found == tag else f"→{found or '?'}"
                shown.append(f"{word}/{tag}{wrong}")
        return " ".join(shown[:SHOWN_WORDS]) + (" …" if len(shown) > SHOWN_WORDS else "")

    def _labels_of_words(self, item: LabelledWords, predicted: Sequence[str]) -> list[str | None]:
        """The predicted label of each word; None if the word is ignored or was cut off."""
        # The last position is a special token's, also in a text that was cut.
        found = gather(predicted[:-1], self._tokens_of(item)[1], len(item.words))
        return [None if tag is None else label for tag, label in zip(item.tags, found, strict=True)]

    def _tokens_of(self, item: LabelledWords) -> tuple[list[int], list[int | None]]:
        """The ids of a sentence, and the index of the word to which each belongs."""
        assert isinstance(self.tokenizer, FastTokenizer | EsmAlphabet)  # of models with such a head
        return self.tokenizer.encode_words(item.words)
