"""How good a fine-tuned model is: its answers on examples that it does not learn from."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from clearhead.data.labelled_batches import NOTHING, Example, pad
from clearhead.data.sorting import sorted_batches
from clearhead.decoding.search import in_eval_mode
from clearhead.pretrained.new_heads import Answer
from clearhead.training.tuning_model import scores_of

Ints = NDArray[np.int64]
BATCH_TOKENS = 8192


class Answers(NamedTuple):
    """What was said: for each example the label of every target, right or wrong or not counting."""

    said: list[Ints]
    loss: float  # nats a target that counts


@torch.inference_mode()
def answers(model: Any, answer: Answer, examples: Sequence[Example]) -> Answers:
    """Ask the model about every example; its mode and the random states stay as they were."""
    said: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(examples)
    total, counted = 0.0, 0
    with in_eval_mode(model):
        lengths = np.array([len(example.ids) for example in examples])
        for rows in sorted_batches(lengths, BATCH_TOKENS):
            batch = pad([examples[i] for i in rows.tolist()], model.config.pad_id)
            scores = scores_of(model, answer, batch).float().cpu()
            targets = torch.from_numpy(batch.targets)
            flat = scores.flatten(0, -2), targets.flatten()
            total += float(F.cross_entropy(*flat, ignore_index=NOTHING, reduction="sum"))
            counted += int((targets != NOTHING).sum())
            best = scores.argmax(-1).numpy()
            for i, row in zip(rows.tolist(), best, strict=True):
                said[i] = np.atleast_1d(row)[: len(examples[i].targets)]
    return Answers(said, total / max(1, counted))


def counted_pairs(examples: Sequence[Example], said: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Truth and answer wherever a label counts, all examples in a row."""
    truth = np.concatenate([np.array(example.targets, dtype=np.int64) for example in examples])
    flat = np.concatenate(list(said))
    where = truth != NOTHING
    return truth[where], flat[where]


def wrong_ones(examples: Sequence[Example], said: Sequence[Ints]) -> list[int]:
    """The numbers of the examples with a wrong answer, in their order."""
    wrong = []
    for number, (example, found) in enumerate(zip(examples, said, strict=True)):
        targets = np.array(example.targets)
        if ((targets != found) & (targets != NOTHING)).any():
            wrong.append(number)
    return wrong
