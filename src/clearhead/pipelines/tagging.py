"""What each word of a text is, in the labels that a model was fine-tuned for (names, parts …)."""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, cast

from torch import Tensor

from clearhead.errors import UserError
from clearhead.pipelines.classification import labels_of
from clearhead.pipelines.encoding import Text
from clearhead.pipelines.positions import Positions
from clearhead.pipelines.text_model import TextModel
from clearhead.text.pieces import Place

Strategy = Literal["none", "simple", "first", "max", "average"]
Answer = dict[str, Any]
NOTHING = "O"

# (pieces of one word, labels) -> (labels,): whose scores count for the word
OF_WORD: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda pieces: pieces[0],
    "max": lambda pieces: pieces[int(pieces.amax(dim=1).argmax())],
    "average": lambda pieces: pieces.mean(dim=0),
}
STRATEGIES = ("none", "simple", *OF_WORD)


class PlacingTokenizer(Protocol):
    """A tokenizer that knows where its tokens stand."""

    def encode_places(self, text: str) -> tuple[list[int], list[Place | None]]:
        """Ids of a text, and where each stands in it."""


class Tagged(NamedTuple):
    """A token, or a word of several: its label, how sure the model is, and where it stands."""

    label: str
    score: float
    start: int
    end: int
    place: int


class TokenClassificationPipeline:
    """Called with a text or texts; answers as the pipeline of `transformers` does.

        tag = pipeline("token-classification", model=DIRECTORY)
        tag("Ada lives in London.", aggregation_strategy="first")

    ``none`` answers token by token, ``simple`` joins neighbours whose labels go on (B-X, I-X,
    I-X); ``first``, ``max`` and ``average`` let all pieces of a word agree before. What is
    labelled O is left out. A group's ``word`` is what stands in the text (`transformers` gives it
    as the tokenizer spells it, in lower case if that is its way).
    """

    def __init__(self, reader: TextModel) -> None:
        self.reader = reader
        self.head = reader.head("token", "token-classification")
        self.labels = labels_of(reader)

    @classmethod
    def from_pretrained(
        cls, model: str | Path, device: str = "auto", threads: int | None = None
    ) -> Self:
        """From a directory, a training run, or a name.

        Raises:
            UserError: as `TextModel.from_pretrained`, or the model has no labels for tokens.
        """
        return cls(TextModel.from_pretrained(model, device, threads))

    def __call__(
        self, inputs: str | Sequence[str], aggregation_strategy: Strategy = "none"
    ) -> list[Any]:
        """One list of answers for a text, in its order; a list of these for several texts.

        Raises:
            UserError: a text over the positions, or a strategy that there is not.
        """
        if aggregation_strategy not in STRATEGIES:
            raise UserError(
                f"aggregation_strategy {aggregation_strategy!r} is unknown; give "
                f"{', '.join(STRATEGIES)}"
            )
        texts = [inputs] if isinstance(inputs, str) else list(inputs)
        tokenizer = cast(PlacingTokenizer, self.reader.tokenizer)
        placed = [tokenizer.encode_places(text) for text in texts]
        positions = Positions(self.reader.model.config.seq_len)
        rows = [Text(positions.fit(ids, str(n))) for n, (ids, _) in enumerate(placed)]
        scores = self.reader.read(rows, self._scores)
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
        """What the vocabulary does not know is shown as it stands in the text."""
        unknown = token_id == self.reader.tokenizer.signs.get("unk")
        return {
            "entity": one.label,
            "score": one.score,
            "index": one.place,
            "word": text[one.start : one.end] if unknown else self.reader.tokenizer.piece(token_id),
            "start": one.start,
            "end": one.end,
        }


def group_of(own: Sequence[Tagged], text: str) -> Answer:
    """Neighbours of one kind as one answer; its score is their mean."""
    start, end = own[0].start, own[-1].end
    return {
        "entity_group": own[0].label.split("-", 1)[-1],
        "score": sum(one.score for one in own) / len(own),
        "word": text[start:end],
        "start": start,
        "end": end,
    }


def joined(tagged: Sequence[Tagged]) -> list[list[Tagged]]:
    """Neighbours of one kind, as long as none of them begins anew with B-."""
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
    """X of B-X and I-X; a label without these is its own kind."""
    return label[2:] if label[:2] in ("B-", "I-") else label
