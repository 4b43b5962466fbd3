"""What a text is, in the labels that a model was fine-tuned for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

import torch
from torch import Tensor

from clearhead.errors import UserError
from clearhead.pipelines.encoding import Text
from clearhead.pipelines.positions import Positions
from clearhead.pipelines.text_model import TextModel
from clearhead.text.fast_tokenizer import FastTokenizer

Pair = Mapping[str, str]  # "text" and "text_pair", as in `transformers`
Answer = dict[str, Any]


class TextClassificationPipeline:
    """Called with a text or texts; answers as the pipeline of `transformers` does.

        classify = pipeline("text-classification", model=DIRECTORY)
        classify("A fine day.")  # [{"label": ..., "score": ...}], the likeliest

    Scores are probabilities: of labels that exclude each other, they sum to 1; of a model that
    was trained for several at once (or for one), each stands for itself; of a regression they are
    its numbers.
    """

    def __init__(self, reader: TextModel, truncate: bool = False) -> None:
        self.reader, self.truncate = reader, truncate
        self.head = reader.head("sequence", "text-classification")
        self.labels = labels_of(reader)

    @classmethod
    def from_pretrained(
        cls, model: str | Path, device: str = "auto", threads: int | None = None
    ) -> Self:
        """From a directory, a training run, or a name.

        Raises:
            UserError: as `TextModel.from_pretrained`, or the model has no labels for texts.
        """
        return cls(TextModel.from_pretrained(model, device, threads))

    def __call__(
        self, inputs: str | Pair | Sequence[str | Pair], top_k: int | None = 1
    ) -> list[Any]:
        """The `top_k` likeliest labels, best first; None means all.

        One text gives a list of its answers; several texts a list with one entry each: the answer
        itself, or, where `top_k` is not 1, the list of its answers.

        Raises:
            UserError: a text over the positions, or `top_k` below 1.
        """
        if top_k is not None and top_k < 1:
            raise UserError(
                f"top_k={top_k} is no number of labels; give 1 or more, or None for all"
            )
        alone = isinstance(inputs, str | Mapping)
        texts = cast(Sequence[str | Pair], [inputs] if alone else inputs)
        answers = [ranked[:top_k] for ranked in self.ranked(texts)]
        if alone:
            return answers[0]
        return [best[0] for best in answers] if top_k == 1 else answers

    def ranked(self, texts: Sequence[str | Pair]) -> list[list[Answer]]:
        """All labels of every text, likeliest first."""
        positions = Positions(self.reader.model.config.seq_len, self.truncate)
        rows = [self._row(text, str(n), positions) for n, text in enumerate(texts)]
        scores = self.reader.read(rows, lambda _, hidden: list(self.scores(self.head(hidden))))
        positions.say()
        return [
            [
                {"label": self.labels[index], "score": float(row[index])}
                for index in row.argsort(descending=True, stable=True).tolist()
            ]
            for row in scores
        ]

    def scores(self, logits: Tensor) -> Tensor:
        """(texts, labels) -> as many numbers, by what the model was trained for."""
        told = self.reader.settings.get("problem_type")
        logits = logits.float().cpu()
        if told == "regression":
            return logits
        if told == "multi_label_classification" or len(self.labels) == 1:
            return torch.sigmoid(logits)
        return logits.softmax(dim=-1)

    def _row(self, text: str | Pair, name: str, positions: Positions) -> Text:
        tokenizer = self.reader.tokenizer
        if isinstance(text, str):
            return Text(positions.fit(tokenizer.encode(text), name))
        if not isinstance(tokenizer, FastTokenizer) or set(text) != {"text", "text_pair"}:
            raise UserError(
                f"a pair of texts is {{'text': …, 'text_pair': …}} for a BERT; got the keys "
                f"{', '.join(text)} for a {type(self.reader.model).__name__}"
            )
        ids, segments = tokenizer.encode_pair(text["text"], text["text_pair"])
        fitting = positions.fit(ids, name)
        return Text(fitting, positions.fit(segments, name) if len(fitting) < len(ids) else segments)


def labels_of(reader: TextModel) -> list[str]:
    """The names in config.json, by number; without them LABEL_0, LABEL_1 and so on."""
    named = reader.settings.get("id2label") or {}
    count = reader.model.config.labels
    return [str(named.get(str(number), f"LABEL_{number}")) for number in range(count)]
