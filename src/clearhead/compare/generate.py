"""`generate` of Hugging Face transformers, with the export of our own model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from clearhead.compare.engine import Engine, Ids, Search, Subject, groups
from clearhead.compare.peers import library
from clearhead.decoding.batching import padded
from clearhead.export.exporting import export
from clearhead.export.quiet import quiet
from clearhead.export.targets import TARGETS
from clearhead.models import TransformerConfig

NAME = "transformers generate"


class Generate:
    """Batches of sorted sentences through `generate`; implements `Engine`."""

    def __init__(self, directory: Path, config: TransformerConfig, dtype: torch.dtype) -> None:
        self.name = f"{NAME}, {str(dtype).removeprefix('torch.')}"
        auto = library("transformers").AutoModelForSeq2SeqLM
        library("transformers.utils.logging").disable_progress_bar()
        with quiet():
            self.inner: Any = auto.from_pretrained(directory, dtype=dtype).eval()
        self.config = config

    def translate(self, sources: Sequence[Ids], search: Search) -> list[Ids]:
        """As `Engine.translate`."""
        found: list[Ids] = [[] for _ in sources]
        for group in groups(sources, search.rows):
            src = padded([sources[i] for i in group], self.config.pad_id, self.inner.device)
            for i, ids in zip(group, self._generate(src, search), strict=True):
                found[i] = ids
        return found

    def _generate(self, src: torch.Tensor, search: Search) -> list[Ids]:
        with torch.inference_mode(), quiet():
            written = self.inner.generate(
                input_ids=src,
                attention_mask=(src != self.config.pad_id).long(),
                num_beams=search.beam,
                do_sample=False,
                max_new_tokens=search.limit,
                length_penalty=1.0,
                early_stopping=search.beam > 1,
            )
        return [self._cut(ids) for ids in written[:, 1:].tolist()]  # without the begin sign

    def _cut(self, ids: Ids) -> Ids:
        return ids[: ids.index(self.config.eos_id)] if self.config.eos_id in ids else ids


def engines(subject: Subject) -> Iterator[Engine]:
    """float32, its default."""
    directory = subject.folder / "huggingface"
    export(subject.directory, TARGETS["huggingface"], directory, "float32")
    yield Generate(directory, subject.model.config, torch.float32)
