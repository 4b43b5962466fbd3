"""How good a fine-tuned model directory is on labelled data that it never saw."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearhead.data.labelled import check_labels
from clearhead.errors import UserError
from clearhead.pretrained import load
from clearhead.pretrained.new_heads import label_names
from clearhead.training.confusion import Confusion
from clearhead.training.tasks.classification import read_texts
from clearhead.training.tasks.tagging import read_words
from clearhead.training.tuning_data import shortened
from clearhead.training.tuning_encoding import encode_texts, encode_words, score_spans
from clearhead.training.tuning_judge import answers, counted_pairs
from clearhead.training.tuning_recipe import TextData, WordData


@dataclass(frozen=True)
class LabelVerdict:
    """All scores follow from the confusions; spans are judged where labels tell spans."""

    confusion: Confusion
    loss: float  # nats a label
    span_f1: float | None

    def as_json(self) -> str:
        """For programs: shares of 1, nothing rounded."""
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


def judge_labelled(
    directory: str | Path, spec: str, columns: TextData | WordData | None = None
) -> LabelVerdict:
    """Ask a fine-tuned model about a file with labels, or about `grammar:test:COUNT`.

    Whether it reads texts or words the model's head says; `columns` names the file's columns.

    Raises:
        UserError: a model without such a head, a file that is not as it should be, or a label
            that the model does not know.
    """
    model, tokenizer = load(directory)
    labels, heads = label_names(model), set(getattr(model, "heads", ()))
    longest: int = getattr(model.config, "seq_len", 0)
    if "sequence" in heads:
        data = columns if isinstance(columns, TextData) else TextData()
        texts = read_texts(data, spec)
        check_labels(texts, labels)
        examples = shortened(encode_texts(texts, labels, tokenizer), longest)
        said, loss = answers(model, "sequence", examples)
        return LabelVerdict(Confusion.of(labels, *counted_pairs(examples, said)), loss, None)
    if "token" not in heads:
        raise UserError(f"{directory} has no classifier; fine-tune it first: clearhead train …")
    words = read_words(columns if isinstance(columns, WordData) else WordData(), spec)
    check_labels(words, labels)
    examples = shortened(encode_words(words, labels, tokenizer), longest)
    said, loss = answers(model, "token", examples)
    found = Confusion.of(labels, *counted_pairs(examples, said))
    return LabelVerdict(found, loss, score_spans(words, said, labels, tokenizer))
