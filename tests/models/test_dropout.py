"""Every place drops what the configuration says of it, and no other."""

import dataclasses
from typing import Any

import pytest
from torch import nn

from clearhead.blocks import FeedForwardBlock, MultiHeadAttentionBlock, ResidualConnection
from clearhead.blocks.positional_encoding import PositionalEncoding
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.marian import Marian, MarianConfig

SIZES = TransformerConfig(70, 50, d_model=12, encoder_layers=3, decoder_layers=2, h=2, d_ff=9)
PLACES = (MultiHeadAttentionBlock, FeedForwardBlock, ResidualConnection, PositionalEncoding)


def rates(model: nn.Module) -> dict[str, set[float]]:
    found: dict[str, set[float]] = {place.__name__: set() for place in PLACES}
    for part in model.modules():
        if isinstance(part, PLACES):
            found[type(part).__name__].add(part.dropout.p)
    return found


@pytest.mark.parametrize(
    ("own", "attention", "inside"),
    [
        ({}, 0.3, 0.3),
        ({"attention_dropout": 0.0}, 0.0, 0.3),
        ({"activation_dropout": 0.2}, 0.3, 0.2),
        ({"attention_dropout": 0.1, "activation_dropout": 0.0}, 0.1, 0.0),
    ],
)
def test_a_place_drops_at_its_own_rate_or_at_the_common_one(
    own: dict[str, Any], attention: float, inside: float
) -> None:
    model = Transformer.from_config(dataclasses.replace(SIZES, dropout=0.3, **own))
    assert rates(model) == {
        "MultiHeadAttentionBlock": {attention},
        "FeedForwardBlock": {inside},
        "ResidualConnection": {0.3},
        "PositionalEncoding": {0.3},
    }


def test_a_marian_drops_at_the_rates_of_its_file() -> None:
    config = MarianConfig(50, 50, d_model=12, encoder_layers=1, decoder_layers=2, h=2, d_ff=9,
                          dropout=0.3, attention_dropout=0.1, activation_dropout=0.2)  # fmt: skip
    model = Marian.from_config(config)
    assert {part.p for part in model.modules() if type(part) is nn.Dropout} == {0.1, 0.2, 0.3}
    attention = [part for part in model.modules() if isinstance(part, MultiHeadAttentionBlock)]
    assert {part.dropout.p for part in attention} == {0.1}
