"""What every contestant of the training race is given: sizes, and one batch for ever."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.pairs import Pair
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.models import TransformerConfig

SMOOTHING = 0.1
LEARNING_RATE = 1e-4


@dataclass(frozen=True)
class Task:
    """A corpus of one full batch.

    Shapes: source, target: (batch, length) ids without padding; each target ends with eos.
    """

    config: TransformerConfig
    corpus: EncodedCorpus
    plan: BatchPlan
    device: torch.device

    def batches(self) -> TokenBatches:
        """An endless walk; where the corpus is one batch, the same batch for ever."""
        return TokenBatches(self.corpus, self.plan)

    def batch(self) -> tuple[Tensor, Tensor]:
        """Source and labels of the first batch."""
        first = next(self.batches())
        source, target = torch.from_numpy(first.source), torch.from_numpy(first.target)
        return source.to(self.device), target.to(self.device)

    def settle(self) -> None:
        """Wait until the device has done what was begun."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    @property
    def has_bf16(self) -> bool:
        """Whether the device multiplies bfloat16 natively."""
        return multiplies_bfloat16(self.device)


def full_batch(
    config: TransformerConfig, rows: int, length: int, folder: Path, device: torch.device
) -> Task:
    """Random sentences, all of the same length, end sign included: (rows, length) a side."""
    size = min(config.src_vocab_size, config.tgt_vocab_size)
    first = max(config.pad_id, config.bos_id, config.eos_id) + 1
    ids = np.random.default_rng(1).integers(first, size, (2, rows, length - 1))
    pairs = [Pair(_text(s), _text(t)) for s, t in zip(ids[0], ids[1], strict=True)]
    corpus = EncodedCorpus.build(pairs, read_numbers, folder, length)
    plan = BatchPlan(rows * length, window=rows, pad_id=config.pad_id, eos_id=config.eos_id)
    return Task(config, corpus, plan, device)


def read_numbers(texts: list[str]) -> list[list[int]]:
    """A corpus whose words are its ids."""
    return [[int(word) for word in text.split()] for text in texts]


def _text(ids: Sequence[int]) -> str:
    return " ".join(map(str, ids))
