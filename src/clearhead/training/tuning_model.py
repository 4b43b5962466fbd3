"""The model of a fine-tuning run: an old stack, a new head, and what of it learns."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from clearhead.blocks import padding_mask
from clearhead.data.labelled_batches import LabelledBatch
from clearhead.errors import UserError
from clearhead.models.adapting import Adaptation, adapt, merge
from clearhead.pretrained import load, save_pretrained
from clearhead.pretrained.adapter import save_adapter
from clearhead.pretrained.families import Pretrained
from clearhead.pretrained.new_heads import Answer, with_head
from clearhead.text import PretrainedTokenizer
from clearhead.training.tuning_recipe import Model, Tune


def begin_with(
    wanted: Model, answer: Answer, labels: list[str]
) -> tuple[Pretrained, PretrainedTokenizer]:
    """The model that the recipe names, under a head for these labels, and its tokenizer.

    Raises:
        UserError: none is named, it cannot be loaded, or it has no such head.
    """
    if not wanted.path:
        raise UserError(
            "there is nothing to fine-tune; name a BERT or ESM-2: --set model.path=DIRECTORY"
        )
    model, tokenizer = load(wanted.path)
    if wanted.dropout is not None:
        origin = getattr(model, "origin", None)
        config: Any = replace(
            cast(Any, model.config), dropout=wanted.dropout, attention_dropout=wanted.dropout
        )
        other = cast(Any, type(model)).from_config(config)
        other.load_state_dict(model.state_dict())
        other.__dict__["origin"] = origin
        model = other
    return with_head(model, answer, labels), tokenizer


def arrange(model: Pretrained, tune: Tune) -> Pretrained:
    """Let learn what the recipe wants to learn; the head always does."""
    if how := tune.adaptation:
        adapt(model, how)
    elif tune.how == "frozen":
        model.requires_grad_(False)
    cast(nn.Module, model.heads).requires_grad_(True)
    return model


def scores_of(model: Any, answer: Answer, batch: LabelledBatch) -> Tensor:
    """What the head says: (batch, labels), or (batch, seq_len, labels)."""
    device = next(model.parameters()).device
    ids = torch.from_numpy(batch.ids).to(device)
    mask = padding_mask(ids, model.config.pad_id)
    if batch.segments is None:
        hidden = model(ids, mask)
    else:
        hidden = model(ids, mask, torch.from_numpy(batch.segments).to(device))
    return model.heads[answer](hidden)


def save_tuned(
    model: nn.Module,
    tokenizer: PretrainedTokenizer,
    how: Adaptation | None,
    directory: Path,
    base: str,
) -> None:
    """An ordinary model directory; where low-rank matrices learned, they also lie apart.

    `directory`/adapter then holds what was learned alone, to be put beside `base`, and the
    model is the merged one.
    """
    if how is not None:
        save_adapter(model, how, directory / "adapter", Path(base).name)
        model = merge(copy.deepcopy(model))
    save_pretrained(model, directory, torch.float32)
    tokenizer.save(directory)
