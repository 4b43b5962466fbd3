import pytest
import torch

from clearhead.decoding.forced import cross_attention
from clearhead.errors import UserError
from tests.decoding.tiny import make_model, random_sources

MODEL = make_model()
SOURCES = random_sources(MODEL, 7)
TARGETS = [[3 + token % 20 for token in source][::-1] for source in SOURCES]


def test_every_target_token_distributes_one_look_over_its_source() -> None:
    for layer in range(-3, 3):
        found = cross_attention(MODEL, SOURCES, TARGETS, layer)
        for source, target, weights in zip(SOURCES, TARGETS, found, strict=True):
            assert weights.shape == (len(target), len(source))
            torch.testing.assert_close(weights.sum(1), torch.ones(len(target)))


def test_the_company_in_the_batch_changes_nothing() -> None:
    together = cross_attention(MODEL, SOURCES, TARGETS, 1)
    for source, target, weights in zip(SOURCES, TARGETS, together, strict=True):
        (alone,) = cross_attention(MODEL, [source], [target], 1)
        torch.testing.assert_close(weights, alone, atol=1e-5, rtol=0)


def test_nothing_is_recorded_afterwards() -> None:
    cross_attention(MODEL, SOURCES, TARGETS, 0)
    block = MODEL.decoder.layers[0].cross_attention_block
    assert block.attention_scores is None
    assert not block.keep_attention_scores


def test_a_layer_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="no decoder layer 3; this model has 3"):
        cross_attention(MODEL, SOURCES, TARGETS, 3)
