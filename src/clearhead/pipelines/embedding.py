"""Embeddings of texts, as a stream: sorted by length within a window, returned in order.

Feature extraction and sentence similarity behind the interface of `transformers` are at the end.
Pooling and normalization follow the directory of a model of sentence-transformers.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from clearhead.errors import UserError
from clearhead.native.choice import AnyPrecision, EngineName
from clearhead.pipelines.engines import Positions, Text
from clearhead.pipelines.factory import ModelPipeline, known_arguments
from clearhead.pipelines.text_model import TextModel
from clearhead.pretrained.files import directory_of
from clearhead.text.inputs import check_texts, texts_of
from clearhead.text.model_files import read_json, read_text

Pooling = Literal["mean", "inner", "cls", "none"]
MODULES, LENGTHS = "modules.json", "sentence_bert_config.json"
OURS = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
# Tokens per window: enough to sort; unpooled they are 200 MB for a BERT base.
WINDOW_TOKENS = 65_536
CHUNK = 256  # texts that are tokenized together
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class SentenceSettings:
    """Pooling, normalization to length 1, and the maximum length of a text."""

    pooling: Pooling = "mean"
    normalize: bool = False
    limit: int | None = None

    @classmethod
    def of(cls, directory: Path, pooling: Pooling | None = None) -> "SentenceSettings":
        """From its files; without them the mean. Another pooling is not normalized.

        Raises:
            UserError: the directory requires a module or pooling that is not supported.
        """
        if pooling or not (directory / MODULES).is_file():
            return cls(pooling or "mean", limit=_limit(directory))
        found = {"pooling": "mean", "normalize": False}
        for module in _modules(directory / MODULES):
            kind = str(module.get("type")).rsplit(".", 1)[-1]
            if kind == "Pooling":
                found["pooling"] = _pooling(directory / str(module.get("path")) / "config.json")
            elif kind == "Normalize":
                found["normalize"] = True
            elif kind != "Transformer":
                raise UserError(
                    f"{directory / MODULES} lists the module {kind!r}, which is not supported "
                    "(Transformer, Pooling, Normalize are); give another model, or set --pooling"
                )
        return cls(**found, limit=_limit(directory))  # type: ignore[arg-type]


def _limit(directory: Path) -> int | None:
    """The longest text, in tokens, of a model of sentence-transformers."""
    if not (directory / MODULES).is_file():
        return None
    limit = read_json(directory / LENGTHS, {}).get("max_seq_length")
    if limit is None:  # newer versions write it into the tokenizer's settings
        limit = read_json(directory / "tokenizer_config.json", {}).get("model_max_length")
    return limit if isinstance(limit, int) else None


def _modules(path: Path) -> list[dict[str, object]]:
    """The list in modules.json (a list, where our other files hold objects)."""
    try:
        modules = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not a JSON file ({error}); copy the model again") from error
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise UserError(f"{path} holds no list of modules; copy the model again")
    return modules


def _pooling(path: Path) -> str:
    """`pooling_mode` in new files, one true `pooling_mode_…` in old ones."""
    settings = read_json(path)
    modes = [settings["pooling_mode"]] if "pooling_mode" in settings else [
        key.removeprefix("pooling_mode_") for key, value in settings.items()
        if key.startswith("pooling_mode_") and value is True
    ]  # fmt: skip
    if len(modes) != 1 or not isinstance(modes[0], str) or modes[0] not in OURS:
        raise UserError(
            f"{path} specifies the pooling {' and '.join(map(str, modes)) or 'none'}, which is not "
            "supported (supported: mean, cls); set --pooling"
        )
    return OURS[modes[0]]


class Named(NamedTuple):
    """A text with its name; from FASTA also the complete header."""

    name: str
    text: str
    header: str = ""


class Embedded(NamedTuple):
    """The embedding of a text: (d_model,), or unpooled (ids, d_model)."""

    named: Named
    ids: list[int]
    vectors: Floats


class Embedder:
    """An encoder that maps a text to a vector; the dot product of two unit vectors is their cosine.

        vectors = Embedder.from_pretrained(DIRECTORY).encode(["One text.", "Another."])

    Pooling: ``mean`` of all tokens including the special tokens at both ends (as in
    sentence-transformers); ``inner`` without these two (as in ESM); ``cls``, the first token;
    ``none``, every token's vector. A directory of sentence-transformers specifies its own.
    """

    def __init__(
        self, reader: TextModel, settings: SentenceSettings | None = None, truncate: bool = False
    ) -> None:
        self.reader, self.settings = reader, settings or SentenceSettings()
        positions = reader.model.config.seq_len
        self.limit = min(positions, self.settings.limit or positions)
        self.truncate = truncate
        if self.settings.pooling not in POOLINGS:
            raise UserError(
                f"pooling {self.settings.pooling!r} is unknown; give {', '.join(POOLINGS)}"
            )

    @classmethod
    def from_pretrained(  # noqa: PLR0913 - each is an option of the command line
        cls,
        model: str | Path,
        device: str = "auto",
        threads: int | None = None,
        precision: AnyPrecision = "float32",
        pooling: Pooling | None = None,
        normalize: bool | None = None,
        truncate: bool = False,
        engine: EngineName = "auto",
    ) -> Self:
        """From a directory or a name; by default with the directory's pooling and normalization.

        Raises:
            UserError: as `TextModel.from_pretrained`, or the pooling is unknown.
        """
        directory = directory_of(model)
        settings = SentenceSettings.of(directory, pooling)
        if normalize is not None:
            settings = replace(settings, normalize=normalize)
        return cls(
            TextModel.from_pretrained(directory, device, threads, precision, engine),
            settings,
            truncate,
        )

    @property
    def width(self) -> int:
        """The number of dimensions, d_model."""
        return int(self.reader.model.config.d_model)

    def encode(self, texts: Sequence[str]) -> Floats:
        """(texts, d_model), in order.

        Raises:
            UserError: a single text is given, one is too long, or pooling is ``none``.
        """
        texts = check_texts(texts)
        if self.settings.pooling == "none":
            raise UserError("without pooling a text has many vectors; take stream() or a pooling")
        named = (Named(str(number), text) for number, text in enumerate(texts))
        rows = [embedded.vectors for embedded in self.stream(named)]
        return np.stack(rows) if rows else np.zeros((0, self.width), np.float32)

    def stream(self, texts: Iterable[Named], truncate: bool = False) -> Iterator[Embedded]:
        """One result per text, in order; one window of them is in memory.

        `truncate` applies to these texts, in addition to the embedder's own setting.

        Raises:
            UserError: while iterating, if a text is too long and truncation is off.
        """
        positions = Positions(self.limit, self.truncate or truncate)
        window: list[tuple[Named, list[int]]] = []
        tokens = 0
        for chunk in _chunks(texts):
            spelled = [self.reader.spelled(named.text) for named in chunk]
            every = self.reader.tokenizer.encode_batch(spelled)
            for named, ids in zip(chunk, every, strict=True):
                window.append((named, positions.fit(ids, named.name)))
                tokens += len(window[-1][1])
            if tokens >= WINDOW_TOKENS:
                yield from self._embed(window)
                window, tokens = [], 0
        yield from self._embed(window)
        positions.warn()

    def _embed(self, window: list[tuple[Named, list[int]]]) -> Iterator[Embedded]:
        found = self.reader.read([Text(ids) for _, ids in window], POOLINGS[self.settings.pooling])
        for (named, ids), vectors in zip(window, found, strict=True):
            yield Embedded(named, ids, normalized(vectors) if self.settings.normalize else vectors)


def normalized(vectors: Floats) -> Floats:
    """(..., d_model), scaled to length 1; zeros remain zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors / np.maximum(lengths, 1e-12)
    return scaled


def _chunks(texts: Iterable[Named]) -> Iterator[list[Named]]:
    every = iter(texts)
    while chunk := list(islice(every, CHUNK)):
        yield chunk


def _rows(vectors: Tensor) -> list[Floats]:
    # Copies, since views would keep all hidden states in memory.
    return [np.array(row) for row in vectors.float().cpu().numpy()]


def _inner(ids: Tensor, hidden: Tensor) -> list[Floats]:
    return _rows(hidden[:, 1:-1].sum(dim=1) / max(1, hidden.shape[1] - 2))


# (texts, length) ids, (texts, length, d_model) hidden states, no padding -> one array per text
POOLINGS: dict[str, Callable[[Tensor, Tensor], list[Floats]]] = {
    "mean": lambda ids, hidden: _rows(hidden.mean(dim=1)),
    "inner": _inner,
    "cls": lambda ids, hidden: _rows(hidden[:, 0]),
    "none": lambda ids, hidden: _rows(hidden),
}


class FeatureExtractionPipeline(ModelPipeline):
    """The last hidden state of every token, as nested lists: [1][length][d_model] for a text.

    For one vector per text, as an array, use `Embedder`.
    """

    loader = staticmethod(partial(Embedder.from_pretrained, pooling="none", normalize=False))

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @known_arguments
    def __call__(self, inputs: str | Sequence[str], truncation: bool = False) -> list[Any]:
        """The features of one text; a list of them for several texts.

        Raises:
            UserError: a text is longer than the model's positions, and `truncation` is off.
        """
        texts = texts_of(inputs)
        named = [Named(str(number), text) for number, text in enumerate(texts)]
        found = [[one.vectors.tolist()] for one in self.embedder.stream(named, truncation)]
        return found[0] if isinstance(inputs, str) else found


class SentenceSimilarityPipeline(ModelPipeline):
    """Similarity of texts: the cosine of their vectors, from -1 to 1.

    The vectors are pooled as the model's directory says, by default by their mean.
    """

    loader = Embedder.from_pretrained

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @known_arguments
    def __call__(
        self, source_sentence: str, sentences: str | Sequence[str], truncation: bool = False
    ) -> list[float]:
        """The cosine of `source_sentence` with each of the others.

        Raises:
            UserError: a text is longer than the model's positions, and `truncation` is off.
        """
        texts = check_texts([source_sentence, *texts_of(sentences)])
        named = [Named(text[:40], text) for text in texts]
        found = [one.vectors for one in self.embedder.stream(named, truncation)]
        first, *others = normalized(np.stack(found))
        return [float(first @ other) for other in others]
