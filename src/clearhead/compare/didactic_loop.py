"""The training loop as the teaching sources write it: every sentence padded to one fixed length."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from clearhead.compare.didactic import DidacticStep
from clearhead.data.encoded import EncodedCorpus
from clearhead.models import TransformerConfig


class FixedLength(Dataset[tuple[Tensor, Tensor]]):
    """Pairs of ids with end sign and padding, (seq_len,) each; texts are ids already."""

    def __init__(self, corpus: EncodedCorpus, config: TransformerConfig, seq_len: int) -> None:
        self.corpus, self.config, self.seq_len = corpus, config, seq_len

    def __len__(self) -> int:
        return len(self.corpus)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        source, target = self.corpus.get(np.array([number]))[0]
        return self._filled(source.tolist()), self._filled(target.tolist())

    def _filled(self, ids: list[int]) -> Tensor:
        padding = self.seq_len - len(ids) - 1
        config = self.config
        return torch.tensor([*ids, config.eos_id, *[config.pad_id] * padding], dtype=torch.long)


class DidacticLoop:
    """Epoch after epoch; `step` learns from one more batch and returns its target tokens."""

    def __init__(
        self, corpus: EncodedCorpus, config: TransformerConfig, rows: int, seq_len: int
    ) -> None:
        self.loader = DataLoader(
            FixedLength(corpus, config, seq_len), batch_size=rows, shuffle=True
        )
        self.train = DidacticStep(config, torch.device("cpu"))
        self.pad_id = config.pad_id
        self.batches = self._walk()

    def step(self) -> float:
        """Padding is no token."""
        source, labels = next(self.batches)
        self.train(source, labels)
        return float((labels != self.pad_id).sum())

    def _walk(self) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from self.loader
