"""What follows from the sizes alone: parameters, arithmetic, memory. Nothing is run."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.bert import Bert, BertConfig

TRAINING_COPIES = 4  # weight, gradient and Adam's two moments, 4 bytes each


@dataclass(frozen=True)
class Counts:
    """Of one model."""

    parameters: int
    flop: float  # a token, forwards; a multiply-add counts two
    weights_mb: float  # float32
    training_mb: float  # with gradients and Adam's moments, activations not counted


def count_translator(config: TransformerConfig, length: int) -> Counts:
    """Source and target of `length` tokens; a token is one of the target."""
    with torch.device("meta"):  # torch's counter needs shapes, not numbers
        model = Transformer.from_config(config).eval()
        ids = torch.zeros(1, length, dtype=torch.long)
        masks = padding_mask(ids, 0), decoder_mask(ids, 0)
        return _counts(model, (ids, ids, *masks), length)


def count_bert(config: BertConfig, length: int) -> Counts:
    """One text of `length` tokens."""
    with torch.device("meta"):
        model = Bert(config).eval()
        return _counts(model, (torch.zeros(1, length, dtype=torch.long),), length)


def _counts(model: nn.Module, inputs: tuple[torch.Tensor, ...], length: int) -> Counts:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(*inputs)
    megabytes = 4 * parameters / 1e6
    flop = counter.get_total_flops() / length
    return Counts(parameters, flop, megabytes, TRAINING_COPIES * megabytes)
