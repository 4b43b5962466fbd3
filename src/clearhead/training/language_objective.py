"""What language models make smaller: the surprise at the next token, or at a hidden one."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.fast.loss import projected_cross_entropy
from clearhead.models import Bert, Gpt
from clearhead.training.objective import Losses

Ids = NDArray[np.int64]


def causal_loss(model: Gpt, ids: Ids) -> Losses:
    """Every token from those before it; negative ids, at the end of a row, are not there.

    Shape:
        ids: (rows, seq_len + 1)
    """
    table = model.embed.embedding.weight
    given = torch.from_numpy(ids).to(table.device)
    labels = given[:, 1:]
    real = labels >= 0
    hidden = model(given[:, :-1].clamp(min=0))[
        real
    ]  # (rows, seq_len, d_model) -> (tokens, d_model)
    no_bias = table.new_zeros(len(table))
    loss, nll = projected_cross_entropy(hidden, table, no_bias, labels[real], 0.0)
    return Losses(loss, nll, max(1, len(hidden)))


def masked_loss(model: Bert, ids: Ids, labels: Ids) -> Losses:
    """Every hidden token from the whole row; the head works at hidden places only.

    Shape:
        ids, labels: (rows, seq_len), a label is negative where nothing is hidden
    """
    vectors, chosen = hidden_places(model, ids, labels)
    projection = model.get_submodule("heads.masked_lm.projection")
    table, bias = projection.get_parameter("table.weight"), projection.get_parameter("bias")
    loss, nll = projected_cross_entropy(vectors, table, bias, chosen, 0.0)
    return Losses(loss, nll, max(1, len(chosen)))


def hidden_places(model: Bert, ids: Ids, labels: Ids) -> tuple[Tensor, Tensor]:
    """What the head makes of each hidden place before it compares with words, and the labels.

    Shape:
        -> (hidden, d_model), (hidden,)
    """
    head: Any = model.heads["masked_lm"]
    device = head.linear.weight.device
    given, wanted = (torch.from_numpy(side).to(device) for side in (ids, labels))
    pad_id = model.config.pad_id
    mask = None if pad_id is None else padding_mask(given, pad_id)
    asked = wanted >= 0
    vectors = head.norm(head.activation(head.linear(model(given, mask)[asked])))
    return vectors, wanted[asked]
