"""A training task with a small model whose sizes all differ."""

from pathlib import Path

import torch

from clearhead.compare.workloads import TrainingTask, full_batch
from clearhead.models import TransformerConfig

ROWS, LENGTH = 5, 7
CONFIG = TransformerConfig(
    src_vocab_size=29,
    tgt_vocab_size=31,
    src_seq_len=11,
    tgt_seq_len=13,
    d_model=12,
    encoder_layers=2,
    decoder_layers=1,
    h=3,
    d_ff=20,
)


def make_task(folder: Path) -> TrainingTask:
    """5 × 7 source and target tokens, on the CPU."""
    return full_batch(CONFIG, ROWS, LENGTH, folder, torch.device("cpu"))
