"""Feature extraction and sentence similarity behind the interface of `transformers`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from clearhead.pipelines.embedding import Embedder, Named, normalised
from clearhead.pipelines.factory import ModelPipeline, known_arguments
from clearhead.text.inputs import texts_of


class FeatureExtractionPipeline(ModelPipeline):
    """The last hidden state of every token, as nested lists: [1][length][d_model] for a text.

    For one vector per text, as an array, use `clearhead.pipelines.embedding.Embedder`.
    """

    loader = staticmethod(partial(Embedder.from_pretrained, pooling="none", normalise=False))

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @known_arguments
    def __call__(self, inputs: str | Sequence[str]) -> list[Any]:
        """The features of one text; a list of them for several texts."""
        texts = texts_of(inputs)
        named = [Named(str(number), text) for number, text in enumerate(texts)]
        found = [[one.vectors.tolist()] for one in self.embedder.stream(named)]
        return found[0] if isinstance(inputs, str) else found


class SentenceSimilarityPipeline(ModelPipeline):
    """Similarity of texts: the cosine of their vectors, from -1 to 1.

    The vectors are pooled as the model's directory says, by default by their mean.
    """

    loader = Embedder.from_pretrained

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @known_arguments
    def __call__(self, source_sentence: str, sentences: Sequence[str]) -> list[float]:
        """The cosine of `source_sentence` with each of the others."""
        first, *others = normalised(self.embedder.encode([source_sentence, *sentences]))
        return [float(first @ other) for other in others]
