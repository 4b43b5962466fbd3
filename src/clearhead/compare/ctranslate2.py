"""CTranslate2 with the export of our own model: the engine that production translators run on."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from clearhead.compare.engine import Engine, Ids, Search, Subject
from clearhead.compare.peers import library
from clearhead.decoding.side_by_side import on_cores
from clearhead.export.exporting import export
from clearhead.export.targets import TARGETS

NAME = "ctranslate2"
# Its other formats are mixtures of these; it refuses those that a processor cannot multiply.
PRECISIONS = ("float32", "bfloat16", "int8")


class CTranslate2:
    """Its `Translator`, with `workers` batches side by side on threads / workers cores each."""

    def __init__(self, directory: Path, precision: str, threads: int, workers: int = 1) -> None:
        aside = f", {workers} batches side by side" if workers > 1 else ""
        self.name = f"{NAME}, {precision}{aside}"
        self.source = vocabulary(directory, "source")
        self.ids = {piece: i for i, piece in enumerate(vocabulary(directory, "target"))}
        # Whoever makes one is left with its intra_threads: OpenMP has one number for all who race.
        with on_cores(torch.get_num_threads()):
            self.inner: Any = library("ctranslate2").Translator(
                str(directory),
                device="cpu",
                compute_type=precision,
                inter_threads=workers,
                intra_threads=threads // workers,
            )
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        self.eos_id = self.ids[config["eos_token"]]

    def translate(self, sources: Sequence[Ids], search: Search) -> list[Ids]:
        """As `Engine.translate`; it sorts by length and cuts into batches itself."""
        pieces = [[self.source[number] for number in ids] for ids in sources]
        if search.rows > 1:
            return [self._ids(result) for result in self._run(pieces, search)]
        # Sentence by sentence, as they come: the next is not known before this one is done.
        return [self._ids(self._run([sentence], search)[0]) for sentence in pieces]

    def _run(self, pieces: list[list[str]], search: Search) -> list[Any]:
        return self.inner.translate_batch(
            pieces,
            beam_size=search.beam,
            max_decoding_length=search.limit,
            max_batch_size=search.rows,
            return_end_token=True,  # so that the end sign counts in the length, as with us
        )

    def _ids(self, result: Any) -> Ids:
        ids = [self.ids[piece] for piece in result.hypotheses[0]]
        return ids[:-1] if ids[-1:] == [self.eos_id] else ids


def vocabulary(directory: Path, side: str) -> list[str]:
    """The pieces of one side by their ids."""
    own, shared = directory / f"{side}_vocabulary.json", directory / "shared_vocabulary.json"
    return list(json.loads((own if own.exists() else shared).read_text(encoding="utf-8")))


def engines(subject: Subject) -> Iterator[Engine]:
    """In every number format that it offers here; on all cores together, and a batch a core."""
    directory = subject.folder / NAME
    export(subject.directory, TARGETS["ctranslate2"], directory, "float32")
    offered = library("ctranslate2").get_supported_compute_types("cpu")
    for precision in PRECISIONS:
        if precision in offered:
            yield CTranslate2(directory, precision, subject.threads)
            if subject.threads > 1:
                yield CTranslate2(directory, precision, subject.threads, subject.threads)
