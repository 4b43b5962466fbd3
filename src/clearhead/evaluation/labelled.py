"""Evaluation of a fine-tuned model on labelled data."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearhead.data.labelled import check_labels
from clearhead.errors import UserError
from clearhead.pretrained import load
from clearhead.pretrained.new_heads import label_names
from clearhead.training.classification_metrics import ConfusionMatrix
from clearhead.training.finetuning_recipe import TextData, WordData
from clearhead.training.tasks.classification import encode_texts, read_texts
from clearhead.training.tasks.finetuning_model import counted_pairs, predict
from clearhead.training.tasks.labelled_examples import shortened
from clearhead.training.tasks.tagging import encode_words, read_words, score_spans


@dataclass(frozen=True)
class LabelEvaluation:
    """All scores follow from the confusion matrix; span F1 if the labels mark spans."""

    confusion: ConfusionMatrix
    loss: float  # nats per label
    span_f1: float | None

    def as_json(self) -> str:
        """Shares from 0 to 1, nothing rounded."""
        found = self.confusion
        values: dict[str, Any] = {
            "examples": found.examples,
            "accuracy": found.accuracy,
            "macro_f1": found.macro_f1,
            "matthews": found.matthews,
            "majority": found.majority,
            "loss": self.loss,
            "by_label": [score._asdict() for score in found.by_class()],
            "labels": list(found.labels),
            "confusion": found.counts.tolist(),
        }
        if self.span_f1 is not None:
            values["span_f1"] = self.span_f1
        return json.dumps(values, indent=2, ensure_ascii=False)


def evaluate_labelled(
    directory: str | Path, spec: str, columns: TextData | WordData | None = None
) -> LabelEvaluation:
    """Evaluate a fine-tuned model on a file with labels, or on `grammar:test:COUNT`.

    The model's head decides whether it labels texts or words; `columns` names the file's columns.

    Raises:
        UserError: the model has no classifier, the file is malformed, or a label is unknown to the
            model.
    """
    model, tokenizer = load(directory)
    labels, heads = label_names(model), set(getattr(model, "heads", ()))
    longest: int = getattr(model.config, "seq_len", 0)
    if "sequence" in heads:
        data = columns if isinstance(columns, TextData) else TextData()
        texts = read_texts(data, spec)
        check_labels(texts, labels)
        examples = shortened(encode_texts(texts, labels, tokenizer), longest)
        predicted, loss = predict(model, "sequence", examples)
        return LabelEvaluation(
            ConfusionMatrix.of(labels, *counted_pairs(examples, predicted)), loss, None
        )
    if "token" not in heads:
        raise UserError(f"{directory} has no classifier; fine-tune it first: clearhead train …")
    words = read_words(columns if isinstance(columns, WordData) else WordData(), spec)
    check_labels(words, labels)
    examples = shortened(encode_words(words, labels, tokenizer), longest)
    predicted, loss = predict(model, "token", examples)
    found = ConfusionMatrix.of(labels, *counted_pairs(examples, predicted))
    return LabelEvaluation(found, loss, score_spans(words, predicted, labels, tokenizer))
