"""The native engine: the same searches as the readable engine, in C and without torch."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Self

import numpy as np

from clearhead.decoding.engine import DecodingOptions, Hypothesis, check_layer, check_sources
from clearhead.models.config import TransformerConfig
from clearhead.models.native_files import read_translator
from clearhead.native.model import NativeModel
from clearhead.native.search import SLOTS, Found, SearchOptions, search, threads_of, unpadded
from clearhead.native.session import forced_attention
from clearhead.native.weights import Floats

ONLY_A_ROW = 12  # rows up to which float16 weights are faster than float32


class NativeEngine:
    """A model with prepacked weights and a search over its output; implements `Engine`.

    `threads` batches are decoded in parallel, one core each.
    """

    def __init__(
        self, config: TransformerConfig, model: NativeModel, threads: int | None = None
    ) -> None:
        self.config, self.model = config, model
        self.threads = threads_of(threads)

    @classmethod
    def from_directory(
        cls, directory: Path, int8: bool = False, threads: int | None = None, kernels: str = ""
    ) -> Self:
        """An engine for a model directory; torch is not imported.

        Raises:
            UserError: a file is missing or damaged, or the two contradict each other.
        """
        config, model = read_translator(directory, int8, kernels)
        return cls(config, model, threads)

    def decode(
        self, sources: Sequence[Sequence[int]], options: DecodingOptions | None = None
    ) -> list[list[Hypothesis]]:
        """As `Engine.decode`; a sentence's hypotheses are the same alone and in any batch.

        Raises:
            UserError: a source is empty, too long or holds an id outside the vocabulary.
        """
        options = options or DecodingOptions()
        sources = check_sources(sources, self.config.src_seq_len)
        if not sources:
            return []
        limits = [options.limit(len(source), self.config.tgt_seq_len) for source in sources]
        sources = [unpadded(source, self.config.pad_id) for source in sources]
        longest = max(len(source) for source in sources)
        sentences = options.batch_tokens // (options.beam_size * longest)
        sentences = max(1, min(sentences, options.batch_sentences or SLOTS))
        if min(sentences, len(sources)) * options.beam_size > ONLY_A_ROW:
            self.model.widen()  # many rows are faster with float32 weights, twice the memory
        same = {field.name for field in fields(SearchOptions)} & vars(options).keys()
        shared = {name: getattr(options, name) for name in same}
        settings = SearchOptions(sentences=sentences, **shared)
        return _hypotheses(search(self.model, sources, limits, settings, self.threads))

    def cross_attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], layer: int
    ) -> list[Floats]:
        """As `clearhead.decoding.forced.cross_attention`: (target tokens, source tokens) each."""
        check_layer(layer, self.config.decoder_layers)
        found: list[Floats] = []
        for source, target in zip(sources, targets, strict=True):
            read = unpadded(source, self.config.pad_id)
            every = forced_attention(self.model, read, [self.config.bos_id, *target[:-1]])
            weights = every[layer].mean(axis=0)[: len(target)]
            found.append(np.pad(weights, ((0, 0), (0, len(source) - len(read)))))
        return found


def _hypotheses(found: Found) -> list[list[Hypothesis]]:
    every = zip(
        found.ids, found.length.tolist(), found.score.tolist(), found.normalized.tolist(),
        found.finished.tolist(), strict=True,
    )  # fmt: skip
    return [
        [
            Hypothesis(own[:length].tolist(), one, rank, bool(done))
            for own, length, one, rank, done in zip(ids, lengths, scores, ranks, ends, strict=True)
            if length >= 0
        ]
        for ids, lengths, scores, ranks, ends in every
    ]
