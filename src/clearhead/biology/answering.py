"""A model's scores of many sequences, in batches of similar length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from clearhead.biology.model import SequenceModel
from clearhead.data.labelled_batches import NOTHING, Example, pad
from clearhead.data.ordering import sorted_batches
from clearhead.decoding.readable import in_eval_mode

Floats = NDArray[np.float64]
BATCH_TOKENS = 8192


@torch.inference_mode()
def scores_of(model: nn.Module, ids: Sequence[Sequence[int]]) -> list[Floats]:
    """The head's output for every sequence, padding removed: (outputs,) or (tokens, outputs)."""
    return run_over(model, ids, lambda batch: model(batch))


def counted_scores(model: nn.Module, examples: Sequence[Example]) -> tuple[Floats, NDArray[Any]]:
    """The scores of the labels that count, and these labels: (labels, outputs), (labels,)."""
    found = scores_of(model, [example.ids for example in examples])
    labels = np.concatenate([np.array(example.targets) for example in examples])
    counted = labels != NOTHING
    return np.concatenate([np.atleast_2d(row) for row in found])[counted], labels[counted]


@torch.inference_mode()
def hidden_of(model: SequenceModel, ids: Sequence[Sequence[int]]) -> list[Floats]:
    """The last hidden states of every sequence, (tokens, d_model)."""
    return run_over(model, ids, model.hidden)


def states_of(config: Any, tokens: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Which of so many tokens a model reads, and the hidden state that each is part of."""
    read = np.array(config.columns or range(tokens))
    return read, np.arange(len(read)) // getattr(config.encoder, "pool", 1)


def run_over(model: nn.Module, ids: Sequence[Sequence[int]], compute: Any) -> list[Floats]:
    """Results in the order of `ids`; the model's mode and the random states stay as they were."""
    config: Any = model.config
    device = next(model.parameters()).device
    lengths = np.array([len(row) for row in ids], dtype=np.int64)
    found: list[Floats] = [np.zeros(0)] * len(ids)
    with in_eval_mode(model):
        for rows in sorted_batches(lengths, BATCH_TOKENS):
            examples = [Example(ids[i], None, [0]) for i in rows.tolist()]
            batch = torch.from_numpy(pad(examples, config.encoder.pad_id).ids).to(device)
            output: Tensor = compute(batch).cpu().double()  # Apple's GPUs have no float64
            for i, row in zip(rows.tolist(), output.numpy(), strict=True):
                found[i] = row[: lengths[i]] if row.ndim == 2 else row
    return found
