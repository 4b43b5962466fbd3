"""A model that has learned is never written with by the weights it had before."""

import pytest
import torch
from torch import nn

from clearhead.decoding.fingerprint import fingerprint
from tests.decoding.tiny import make_model

WAYS = [{"fused": True}, {"foreach": True}, {"foreach": False}]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_a_step_of_any_optimiser_is_seen(
    optimizer: type[torch.optim.Adam] | type[torch.optim.SGD], way: dict[str, bool]
) -> None:
    model = make_model()
    before = fingerprint(model)
    assert fingerprint(model) == before
    learn = optimizer(model.parameters(), lr=1e-3, **way)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    learn.step()
    assert fingerprint(model) != before


def test_a_loaded_weight_and_an_exchanged_block_are_seen() -> None:
    model = make_model()
    before = fingerprint(model)
    model.load_state_dict(make_model().state_dict())
    loaded = fingerprint(model)
    assert loaded != before
    model.tgt_pos.dropout = nn.Identity()
    assert fingerprint(model) != loaded
