"""Feature extraction and sentence similarity behind the interface of `transformers`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from clearhead.decoding.choice import EngineName
from clearhead.pipelines.embedding import Embedder, Named, normalised
from clearhead.pipelines.factory import known_arguments
from clearhead.text.inputs import texts_of


class FeatureExtractionPipeline:
    """The last hidden state of every token, as nested lists: [1][length][d_model] for a text.

    For one vector per text, as an array, use `clearhead.pipelines.embedding.Embedder`.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path,
        device: str = "auto",
        threads: int | None = None,
        engine: EngineName = "auto",
    ) -> Self:
        """From a directory or a name.

        Raises:
            UserError: as `Embedder.from_pretrained`.
        """
        return cls(
            Embedder.from_pretrained(
                model, device, threads, pooling="none", normalise=False, engine=engine
            )
        )

    @known_arguments
    def __call__(self, inputs: str | Sequence[str]) -> list[Any]:
        """The features of one text; a list of them for several texts."""
        texts = texts_of(inputs)
        named = [Named(str(number), text) for number, text in enumerate(texts)]
        found = [[one.vectors.tolist()] for one in self.embedder.stream(named)]
        return found[0] if isinstance(inputs, str) else found


class SentenceSimilarityPipeline:
    """Similarity of texts: the cosine of their vectors, from -1 to 1."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path,
        device: str = "auto",
        threads: int | None = None,
        engine: EngineName = "auto",
    ) -> Self:
        """From a directory or a name; with the directory's pooling, by default the mean.

        Raises:
            UserError: as `Embedder.from_pretrained`.
        """
        return cls(Embedder.from_pretrained(model, device, threads, engine=engine))

    @known_arguments
    def __call__(self, source_sentence: str, sentences: Sequence[str]) -> list[float]:
        """The cosine of `source_sentence` with each of the others."""
        first, *others = normalised(self.embedder.encode([source_sentence, *sentences]))
        return [float(first @ other) for other in others]
