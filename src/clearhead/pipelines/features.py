"""Vectors under the names that users of `transformers` and of the hub know."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from clearhead.pipelines.embedding import Embedder, Named, normalised


class FeatureExtractionPipeline:
    """Every token's last hidden state, as nested lists: for a text [1][length][d_model].

    One vector for a text, as an array, and fast for many: `clearhead.pipelines.embedding.Embedder`.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @classmethod
    def from_pretrained(
        cls, model: str | Path, device: str = "auto", threads: int | None = None
    ) -> Self:
        """From a directory or a name.

        Raises:
            UserError: as `Embedder.from_pretrained`.
        """
        return cls(
            Embedder.from_pretrained(model, device, threads, pooling="none", normalise=False)
        )

    def __call__(self, inputs: str | Sequence[str]) -> list[Any]:
        """The features of a text; a list of these for several texts."""
        texts = [inputs] if isinstance(inputs, str) else list(inputs)
        named = [Named(str(number), text) for number, text in enumerate(texts)]
        found = [[one.vectors.tolist()] for one in self.embedder.stream(named)]
        return found[0] if isinstance(inputs, str) else found


class SentenceSimilarityPipeline:
    """How alike texts are in meaning: the cosine of their vectors, from -1 to 1."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @classmethod
    def from_pretrained(
        cls, model: str | Path, device: str = "auto", threads: int | None = None
    ) -> Self:
        """From a directory or a name; pooled as the directory says, else by the mean.

        Raises:
            UserError: as `Embedder.from_pretrained`.
        """
        return cls(Embedder.from_pretrained(model, device, threads))

    def __call__(self, source_sentence: str, sentences: Sequence[str]) -> list[float]:
        """The cosine of the first with each of the others."""
        first, *others = normalised(self.embedder.encode([source_sentence, *sentences]))
        return [float(first @ other) for other in others]
