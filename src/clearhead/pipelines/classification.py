"""Classification of texts, and of tokens or words, with a fine-tuned model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor

from clearhead.errors import UserError
from clearhead.pipelines.engines import Positions, Text
from clearhead.pipelines.factory import known_arguments
from clearhead.pipelines.text_model import TextPipeline
from clearhead.text.esm_alphabet import EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer, kept_of_pair
from clearhead.text.inputs import check_texts, texts_of
from clearhead.text.word_labels import Place

Pair = Mapping[str, str]  # "text" and "text_pair", as in `transformers`
Answer = dict[str, Any]
Strategy = Literal["none", "simple", "first", "max", "average"]
NOTHING = "O"
# (tokens of one word, labels) -> (labels,): the scores of the word
OF_WORD: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda pieces: pieces[0],
    "max": lambda pieces: pieces[int(pieces.amax(dim=1).argmax())],
    "average": lambda pieces: pieces.mean(dim=0),
}
STRATEGIES = ("none", "simple", *OF_WORD)


class TextClassificationPipeline(TextPipeline):
    """Called with a text or texts; returns the results of the pipeline of `transformers`.

        classify = pipeline("text-classification", model=DIRECTORY)
        classify("A fine day.")  # [{"label": ..., "score": ...}], the most likely label

    Scores are probabilities. They sum to 1 if labels exclude each other; with several labels per
    text, or a single one, they are independent. Scores of a regression are its values.
    """

    needs = ("sequence", "text-classification")

    @known_arguments
    def __call__(
        self,
        inputs: str | Pair | Sequence[str | Pair],
        top_k: int | None = 1,
        truncation: bool = False,
    ) -> list[Any]:
        """The `top_k` most likely labels, best first; None means all.

        One text gives a list of results; several texts a list with one entry each: the result
        itself or, if `top_k` is not 1, a list of results.

        Raises:
            UserError: a text is longer than the model's positions and `truncation` is off, or
                `top_k` is below 1.
        """
        if top_k is not None and (type(top_k) is not int or top_k < 1):
            raise UserError(
                f"top_k={top_k} is not a number of labels; give 1 or more, or None for all"
            )
        alone = isinstance(inputs, str | Mapping)
        answers = [ranked[:top_k] for ranked in self.ranked(inputs, truncation)]
        if alone:
            return answers[0]
        return [best[0] for best in answers] if top_k == 1 else answers

    def ranked(
        self, inputs: str | Pair | Sequence[str | Pair], truncate: bool = False
    ) -> list[list[Answer]]:
        """All labels of every text, most likely first."""
        texts = _texts_and_pairs(inputs)
        positions = Positions(self.reader.model.config.seq_len, self.truncate or truncate)
        rows = [self._row(text, positions) for text in texts]
        scores = self.reader.read(rows, lambda _, hidden: list(self.scores(self.head(hidden))))
        positions.warn()
        return [
            [
                {"label": self.labels[index], "score": float(row[index])}
                for index in row.argsort(descending=True, stable=True).tolist()
            ]
            for row in scores
        ]

    def scores(self, logits: Tensor) -> Tensor:
        """(texts, labels) -> (texts, labels), by the task that the model was trained for."""
        problem = self.reader.settings.get("problem_type")
        logits = logits.float().cpu()
        if problem == "regression":
            return logits
        if problem == "multi_label_classification" or len(self.labels) == 1:
            return torch.sigmoid(logits)
        return logits.softmax(dim=-1)

    def _row(self, text: str | Pair, positions: Positions) -> Text:
        tokenizer = self.reader.tokenizer
        if not isinstance(text, Mapping):
            return Text(positions.fit(tokenizer.encode(self.reader.spelled(text)), text[:40]))
        if not isinstance(tokenizer, FastTokenizer) or set(text) != {"text", "text_pair"}:
            raise UserError(
                f"a pair of texts is {{'text': …, 'text_pair': …}} for a BERT; got the keys "
                f"{', '.join(text)} for a {type(self.reader.model).__name__}"
            )
        first, other = check_texts([text["text"], text["text_pair"]])
        ids, segments = tokenizer.encode_pair(first, other)
        kept = kept_of_pair(segments, positions.limit)
        positions.fit(ids, first[:40])  # refuses, or counts, what is cut
        return Text([ids[i] for i in kept], [segments[i] for i in kept])


def _texts_and_pairs(inputs: Any) -> list[str | Pair]:
    if isinstance(inputs, Mapping):
        return [inputs]
    if isinstance(inputs, str) or not isinstance(inputs, Iterable):
        return list(texts_of(inputs))
    every = list(inputs)
    check_texts("" if isinstance(one, Mapping) else one for one in every)
    return every


class Tagged(NamedTuple):
    """A token or a word: its label, probability and span."""

    label: str
    score: float
    start: int
    end: int
    place: int


class TokenClassificationPipeline(TextPipeline):
    """Called with a text or texts; returns the results of the pipeline of `transformers`.

        tag = pipeline("token-classification", model=DIRECTORY)
        tag("Ada lives in London.", aggregation_strategy="first")

    ``none`` returns single tokens, ``simple`` joins neighbours of the same entity (B-X, I-X, I-X);
    ``first``, ``max`` and ``average`` first give all tokens of a word one label. Tokens with label
    O are left out. A group's ``word`` is copied from the text (in `transformers` it is decoded from
    the tokens, possibly in lower case).
    """

    needs = ("token", "token-classification")

    @known_arguments
    def __call__(
        self,
        inputs: str | Sequence[str],
        aggregation_strategy: Strategy = "none",
        truncation: bool = False,
    ) -> list[Any]:
        """A list of results for one text, in its order; a list of such lists for several texts.

        Raises:
            UserError: a text is longer than the model's positions and `truncation` is off, or the
                strategy is unknown.
        """
        if aggregation_strategy not in STRATEGIES:
            raise UserError(
                f"aggregation_strategy {aggregation_strategy!r} is unknown; give "
                f"{', '.join(STRATEGIES)}"
            )
        texts = texts_of(inputs)
        tokenizer = cast(EsmAlphabet | FastTokenizer, self.reader.tokenizer)
        positions = Positions(self.reader.model.config.seq_len, self.truncate or truncation)
        read = [tokenizer.encode_places(self.reader.spelled(text)) for text in texts]
        placed = [
            (positions.fit(ids, text[:40]), positions.same_part(places))
            for text, (ids, places) in zip(texts, read, strict=True)
        ]
        scores = self.reader.read([Text(ids) for ids, _ in placed], self._scores)
        positions.warn()
        answers = [
            self._answers(text, *own, found, aggregation_strategy)
            for text, own, found in zip(texts, placed, scores, strict=True)
        ]
        return answers[0] if isinstance(inputs, str) else answers

    def _scores(self, ids: Tensor, hidden: Tensor) -> list[Tensor]:
        """(texts, length, d_model) -> for each text (length, labels), probabilities."""
        return list(self.head(hidden).float().softmax(dim=-1).cpu())

    def _answers(
        self,
        text: str,
        ids: list[int],
        places: list[Place | None],
        scores: Tensor,
        strategy: Strategy,
    ) -> list[Answer]:
        real = [(number, place) for number, place in enumerate(places) if place is not None]
        by_word = strategy in OF_WORD
        units = groupby(real, key=lambda pair: pair[1].word if by_word else pair[0])
        tagged = [self._tagged(list(unit), scores, strategy) for _, unit in units]
        if strategy == "none":
            return [
                self._token(one, ids[one.place], text) for one in tagged if one.label != NOTHING
            ]
        return [group_of(own, text) for own in joined(tagged) if own[0].label != NOTHING]

    def _tagged(self, unit: list[tuple[int, Place]], scores: Tensor, strategy: Strategy) -> Tagged:
        numbers = [number for number, _ in unit]
        own = OF_WORD.get(strategy, OF_WORD["first"])(scores[numbers])
        best = int(own.argmax())
        start, end = unit[0][1].start, unit[-1][1].end
        return Tagged(self.labels[best], float(own[best]), start, end, numbers[0])

    def _token(self, one: Tagged, token_id: int, text: str) -> Answer:
        """Unknown tokens are shown as in the text."""
        unknown = token_id == self.reader.tokenizer.special_ids.get("unk")
        return {
            "entity": one.label,
            "score": one.score,
            "index": one.place,
            "word": text[one.start : one.end] if unknown else self.reader.tokenizer.piece(token_id),
            "start": one.start,
            "end": one.end,
        }


def group_of(own: Sequence[Tagged], text: str) -> Answer:
    """Neighbours of one entity as one result; its score is their mean."""
    start, end = own[0].start, own[-1].end
    return {
        "entity_group": own[0].label.split("-", 1)[-1],
        "score": sum(one.score for one in own) / len(own),
        "word": text[start:end],
        "start": start,
        "end": end,
    }


def joined(tagged: Sequence[Tagged]) -> list[list[Tagged]]:
    """Groups of neighbours of one entity; B- begins a new group."""
    groups: list[list[Tagged]] = []
    for one in tagged:
        if groups and not one.label.startswith("B-") and kind(one.label) == kind(
            groups[-1][-1].label
        ):  # fmt: skip
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def kind(label: str) -> str:
    """X of B-X and I-X; other labels unchanged."""
    return label[2:] if label[:2] in ("B-", "I-") else label
