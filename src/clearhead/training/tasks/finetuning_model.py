"""The model of a fine-tuning run: a pre-trained stack under a new head, and its predictions."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from clearhead.blocks import padding_mask
from clearhead.data.labelled_batches import NOTHING, Example, LabelledBatch, pad
from clearhead.data.ordering import sorted_batches
from clearhead.decoding.readable import in_eval_mode
from clearhead.errors import UserError
from clearhead.models.adapting import Adaptation, adapt, merge
from clearhead.pretrained import load, save_pretrained
from clearhead.pretrained.adapter import save_adapter
from clearhead.pretrained.loading import Pretrained
from clearhead.pretrained.new_heads import Answer, with_head
from clearhead.text import PretrainedTokenizer
from clearhead.training.finetuning_recipe import FineTunedModel, Tune

Ints = NDArray[np.int64]
BATCH_TOKENS = 8192


def with_new_head(
    wanted: FineTunedModel, head: Answer, labels: list[str]
) -> tuple[Pretrained, PretrainedTokenizer]:
    """The recipe's model with a new head for these labels, and its tokenizer.

    Raises:
        UserError: no model is named, it cannot be loaded, or it has no such head.
    """
    if not wanted.path:
        raise UserError(
            "there is nothing to fine-tune; name a BERT or ESM-2: --set model.path=DIRECTORY"
        )
    model, tokenizer = load(wanted.path)
    if wanted.dropout is not None:
        rates = {"dropout": wanted.dropout, "attention_dropout": wanted.dropout}
        other = cast(Any, type(model)).from_config(replace(cast(Any, model.config), **rates))
        other.load_state_dict(model.state_dict())
        other.__dict__["origin"] = getattr(model, "origin", None)
        model = other
    return with_head(model, head, labels), tokenizer


def select_parameters(model: Pretrained, tune: Tune) -> Pretrained:
    """Add adapters or freeze parameters as the recipe says; the head is always trained."""
    if adaptation := tune.adaptation:
        adapt(model, adaptation)
    elif tune.method == "frozen":
        model.requires_grad_(False)
    cast(nn.Module, model.heads).requires_grad_(True)
    return model


def head_scores(model: Any, head: Answer, batch: LabelledBatch) -> Tensor:
    """The scores of all labels: (batch, labels), or (batch, seq_len, labels)."""
    device = next(model.parameters()).device
    ids = torch.from_numpy(batch.ids).to(device)
    mask = padding_mask(ids, model.config.pad_id)
    if batch.segments is None:
        hidden = model(ids, mask)
    else:
        hidden = model(ids, mask, torch.from_numpy(batch.segments).to(device))
    return model.heads[head](hidden)


def save_finetuned(
    model: nn.Module,
    tokenizer: PretrainedTokenizer,
    adaptation: Adaptation | None,
    directory: Path,
    base: str,
) -> None:
    """Write a model directory, with low-rank adapters merged into the weights.

    The adapters alone are saved in `directory`/adapter, for use with the model `base`.
    """
    if adaptation is not None:
        save_adapter(model, adaptation, directory / "adapter", Path(base).name)
        model = merge(copy.deepcopy(model))
    save_pretrained(model, directory, torch.float32)
    tokenizer.save(directory)


@torch.inference_mode()
def predict(model: Any, head: Answer, examples: Sequence[Example]) -> tuple[list[Ints], float]:
    """The predicted label index of every target of each example, and the mean loss.

    The loss is in nats per target that counts. The model's mode and the random states stay as
    they were.
    """
    predicted: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(examples)
    total, counted = 0.0, 0
    with in_eval_mode(model):
        lengths = np.array([len(example.ids) for example in examples])
        for rows in sorted_batches(lengths, BATCH_TOKENS):
            batch = pad([examples[i] for i in rows.tolist()], model.config.pad_id)
            scores = head_scores(model, head, batch).float().cpu()
            targets = torch.from_numpy(batch.targets)
            flat = scores.flatten(0, -2), targets.flatten()
            total += float(F.cross_entropy(*flat, ignore_index=NOTHING, reduction="sum"))
            counted += int((targets != NOTHING).sum())
            best = scores.argmax(-1).numpy()
            for i, row in zip(rows.tolist(), best, strict=True):
                predicted[i] = np.atleast_1d(row)[: len(examples[i].targets)]
    return predicted, total / max(1, counted)


def counted_pairs(examples: Sequence[Example], predicted: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Truth and prediction of every label that counts, all examples concatenated."""
    truth = np.concatenate([np.array(example.targets, dtype=np.int64) for example in examples])
    flat = np.concatenate(list(predicted))
    counts = truth != NOTHING
    return truth[counts], flat[counts]


def wrong_examples(examples: Sequence[Example], predicted: Sequence[Ints]) -> list[int]:
    """The indices of the examples with a wrong prediction."""
    wrong = []
    for index, (example, found) in enumerate(zip(examples, predicted, strict=True)):
        targets = np.array(example.targets)
        if ((targets != found) & (targets != NOTHING)).any():
            wrong.append(index)
    return wrong
