"""The five translators that are compared, all with the same number of parameters."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import nn

from clearhead.compare.rnn.attending_decoder import AttendingDecoder
from clearhead.compare.rnn.plain_decoder import MakeStack, PlainDecoder
from clearhead.compare.rnn.stacks import GruStack, LstmStack
from clearhead.compare.rnn.translator import MakeDecoder, RnnTranslator, initialize
from clearhead.errors import UserError
from clearhead.models import Transformer, TransformerConfig

TRANSFORMER = "Transformer"
TOLERANCE = 0.02  # of the Transformer's number of parameters
Model = Transformer | RnnTranslator


@dataclass(frozen=True)
class Recurrent:
    """Which layers, which decoder."""

    stack: MakeStack
    decoder: MakeDecoder


RECURRENT = {
    "LSTM": Recurrent(LstmStack, PlainDecoder),
    "GRU": Recurrent(GruStack, PlainDecoder),
    "LSTM + attention": Recurrent(LstmStack, AttendingDecoder),
    "GRU + attention": Recurrent(GruStack, AttendingDecoder),
}
NAMES = [TRANSFORMER, *RECURRENT]


@dataclass(frozen=True)
class Size:
    """What stands in the table: the width of the hidden state (d_model for the Transformer)."""

    hidden: int
    parameters: int


def make(name: str, config: TransformerConfig, seed: int) -> Model:
    """A freshly initialised entrant; the same seed, the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name == TRANSFORMER:
            return Transformer.from_config(config)
        kind = RECURRENT[name]
        model = RnnTranslator(config, kind.stack, kind.decoder, hidden_for(name, config))
        initialize(model)
        return model


def sizes(config: TransformerConfig) -> Iterator[tuple[str, Size]]:
    """Every entrant's size."""
    for name in NAMES:
        model = make(name, config, seed=1)
        hidden = config.d_model if name == TRANSFORMER else hidden_for(name, config)
        yield name, Size(hidden, count(model))


@lru_cache
def hidden_for(name: str, config: TransformerConfig) -> int:
    """The width that brings an RNN closest to the Transformer's number of parameters.

    Raises:
        UserError: no width comes within 2 %.
    """
    with torch.device("meta"):  # shapes alone: nothing is filled
        wanted = count(Transformer.from_config(config))
        low, high = 1, 2
        while _parameters(name, config, high) < wanted:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            below = _parameters(name, config, middle) < wanted
            low, high = (middle, high) if below else (low, middle)
        found = {h: abs(_parameters(name, config, h) / wanted - 1) for h in (low, high)}
    best = min(found, key=found.__getitem__)
    if found[best] > TOLERANCE:
        raise UserError(
            f"no {name} comes within {TOLERANCE:.0%} of a Transformer with d_model="
            f"{config.d_model}, {config.encoder_layers} + {config.decoder_layers} layers "
            f"({wanted:,} parameters); take a larger d_model"
        )
    return best


def count(model: nn.Module) -> int:
    """Parameters; a shared one once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _parameters(name: str, config: TransformerConfig, hidden: int) -> int:
    kind = RECURRENT[name]
    return count(RnnTranslator(config, kind.stack, kind.decoder, hidden))
