"""The engines of the decoding benchmark: clearhead, CTranslate2 and transformers' `generate`.

All translate with the weights of one of our models, which is exported for the other two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from clearhead.compare.timing import kept_threads, library
from clearhead.compare.workloads import BenchmarkModel, Ids
from clearhead.decoding import DecodingOptions, ReadableEngine
from clearhead.decoding.engine import Engine as OwnEngine
from clearhead.decoding.native import NativeEngine
from clearhead.decoding.readable import batches_by_tokens, padded
from clearhead.export.exporting import TARGETS, export, quiet
from clearhead.models import TransformerConfig
from clearhead.native.choice import missing_library

CLEARHEAD, CTRANSLATE2, GENERATE = "clearhead", "ctranslate2", "transformers generate"
# CTranslate2's other formats are mixtures of these; it refuses those without hardware support.
CTRANSLATE2_PRECISIONS = ("float32", "bfloat16", "int8")


@dataclass(frozen=True)
class Search:
    """Search settings that every engine uses.

    `rows` sentences per batch; `beam` hypotheses each, ranked by score / length, until `beam` of
    them have ended; `limit` tokens at most, EOS included.
    """

    beam: int
    rows: int
    limit: int


class Engine(Protocol):
    """One model in one engine and one precision."""

    name: str

    def translate(self, sources: Sequence[Ids], search: Search) -> list[Ids]:
        """The best translation of each source; sources end with EOS, translations do not."""
        ...


class Clearhead:
    """An engine of ours, called as `clearhead translate` calls it."""

    def __init__(self, name: str, inner: OwnEngine, threads: int) -> None:
        self.name, self.inner, self.threads = f"{CLEARHEAD}, {name}", inner, threads
        self.precision = "int8" if name == "int8" else "float32"

    def translate(self, sources: Sequence[Ids], search: Search) -> list[Ids]:
        """As `Engine.translate`.

        With one row and one thread, sentences are translated one by one; with more threads, as
        many at a time as there are threads.
        """
        options = DecodingOptions(
            beam_size=search.beam,
            max_length=search.limit,
            early_stopping=True,
            batch_sentences=search.rows,
            # So large that `batch_sentences` alone limits a batch.
            batch_tokens=search.rows * search.beam * max(map(len, sources)),
            scores=False,
        )
        if search.rows > 1 or self.threads > 1:
            return [best[0].ids for best in self.inner.decode(sources, options)]
        return [self.inner.decode([source], options)[0][0].ids for source in sources]


def own_engines(model: BenchmarkModel, kernels: str = "") -> Iterator[Clearhead]:
    """The native engine in float32 and int8 if it is installed, then the readable engine."""
    for precision in () if missing_library() else ("float32", "int8"):
        native = NativeEngine.from_directory(
            model.directory, precision == "int8", model.threads, kernels
        )
        yield Clearhead(precision, native, model.threads)
    yield Clearhead("readable engine", ReadableEngine.of(model.model), 1)


def before_eos(eos_id: int, ids: Ids) -> Ids:
    """The ids before the first EOS token."""
    return ids[: ids.index(eos_id)] if eos_id in ids else ids


class CTranslate2:
    """`ctranslate2.Translator`, with `workers` batches in parallel on threads / workers cores."""

    def __init__(self, directory: Path, precision: str, threads: int, workers: int = 1) -> None:
        self.workers = workers
        parallel = f", {workers} batches in parallel" if workers > 1 else ""
        self.name = f"{CTRANSLATE2}, {precision}{parallel}"
        # Its constructor sets OpenMP's thread count for the whole process, torch included.
        with kept_threads():
            self.inner: Any = library("clearhead.export.ctranslate2").Loaded(
                directory, precision, workers, threads // workers
            )

    def translate(self, sources: Sequence[Ids], search: Search) -> list[Ids]:
        """As `Engine.translate`; CTranslate2 itself sorts by length and makes batches."""
        pieces = [[self.inner.source[i] for i in ids] for ids in sources]
        if search.rows > 1 or self.workers > 1:
            return self._run(pieces, search)
        # One call per sentence: in use, the next sentence is not known before this one is done.
        return [self._run([sentence], search)[0] for sentence in pieces]

    def _run(self, pieces: list[list[str]], search: Search) -> list[Ids]:
        results = self.inner.engine.translate_batch(
            pieces,
            beam_size=search.beam,
            max_decoding_length=search.limit,
            max_batch_size=search.rows,
            return_end_token=True,  # so that EOS counts in the length, as in our engines
        )
        return [before_eos(self.inner.eos_id, self.inner.ids_of(result)) for result in results]


def ctranslate2_engines(model: BenchmarkModel) -> Iterator[Engine]:
    """In every supported precision; on all cores together, and with one batch per core."""
    directory = model.folder / CTRANSLATE2
    export(model.directory, TARGETS["ctranslate2"], directory, "float32")
    supported = library("ctranslate2").get_supported_compute_types("cpu")
    for precision in CTRANSLATE2_PRECISIONS:
        if precision in supported:
            yield CTranslate2(directory, precision, model.threads)
            if model.threads > 1:
                yield CTranslate2(directory, precision, model.threads, model.threads)


class Generate:
    """`generate` of transformers, on batches of sentences sorted by length."""

    def __init__(self, directory: Path, config: TransformerConfig, dtype: torch.dtype) -> None:
        self.name = f"{GENERATE}, {str(dtype).removeprefix('torch.')}"
        auto = library("transformers").AutoModelForSeq2SeqLM
        library("transformers.utils.logging").disable_progress_bar()
        with quiet():
            self.inner: Any = auto.from_pretrained(directory, dtype=dtype).eval()
        self.config = config

    def translate(self, sources: Sequence[Ids], search: Search) -> list[Ids]:
        """As `Engine.translate`."""
        found: list[Ids] = [[] for _ in sources]
        lengths = [len(source) for source in sources]
        for indices in batches_by_tokens(lengths, batch_sentences=search.rows):
            src = padded([sources[i] for i in indices], self.config.pad_id, self.inner.device)
            for i, ids in zip(indices, self._generate(src, search), strict=True):
                found[i] = ids
        return found

    def _generate(self, src: torch.Tensor, search: Search) -> list[Ids]:
        with torch.inference_mode(), quiet():
            output = self.inner.generate(
                input_ids=src,
                attention_mask=(src != self.config.pad_id).long(),
                num_beams=search.beam,
                do_sample=False,
                max_new_tokens=search.limit,
                length_penalty=1.0,
                early_stopping=search.beam > 1,
            )
        without_bos = output[:, 1:].tolist()
        return [before_eos(self.config.eos_id, ids) for ids in without_bos]


def generate_engines(model: BenchmarkModel) -> Iterator[Engine]:
    """float32, the default of transformers."""
    directory = model.folder / "huggingface"
    export(model.directory, TARGETS["huggingface"], directory, "float32")
    yield Generate(directory, model.model.config, torch.float32)
