import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from clearhead.blocks import record_attention
from clearhead.decoding.forced import cross_attention, cross_attention_heads
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


def test_every_head_of_every_layer_says_where_it_looks_from_each_row() -> None:
    found = dict(cross_attention_heads(MODEL, SOURCES, TARGETS))
    assert sorted(found) == list(range(len(SOURCES)))
    for number, weights in found.items():
        size = (3, MODEL.config.h, len(TARGETS[number]) + 1, len(SOURCES[number]))
        assert weights.shape == size
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(size[:3]))


def test_of_the_heads_too_the_company_in_the_batch_changes_nothing() -> None:
    together = dict(cross_attention_heads(MODEL, SOURCES, TARGETS))
    for number, weights in cross_attention_heads(MODEL, SOURCES, TARGETS, batch_tokens=1):
        torch.testing.assert_close(weights, together[number], atol=1e-5, rtol=0)


def test_a_layer_is_the_average_of_its_heads_where_they_predict() -> None:
    found = dict(cross_attention_heads(MODEL, SOURCES, TARGETS))
    for layer in range(3):
        for number, average in enumerate(cross_attention(MODEL, SOURCES, TARGETS, layer)):
            rows = found[number][layer].mean(dim=0)[:-1]
            torch.testing.assert_close(rows, average, atol=1e-5, rtol=0)


def test_an_attention_block_without_weights_is_named() -> None:
    model = make_model()
    model.decoder.layers[1].cross_attention_block = torch.nn.Identity()
    with pytest.raises(UserError, match="Identity keeps no attention weights"):
        cross_attention(model, SOURCES, TARGETS, 1)


def test_a_target_that_fills_all_positions_has_its_looks_too() -> None:
    most = MODEL.config.tgt_seq_len
    target = [3 + i % 20 for i in range(most)]
    (found,) = cross_attention(MODEL, SOURCES[:1], [target], 0)
    assert found.shape == (most, len(SOURCES[0]))


@pytest.mark.parametrize("kept", [True, False])
def test_afterwards_the_blocks_record_as_before(kept: bool) -> None:
    record_attention(MODEL, kept)
    cross_attention(MODEL, SOURCES, TARGETS, 0)
    block = MODEL.decoder.layers[0].cross_attention_block
    assert block.keep_attention_scores is kept
    assert (block.attention_scores is not None) is kept


def test_a_layer_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="no decoder layer 3; this model has 3"):
        cross_attention(MODEL, SOURCES, TARGETS, 3)


def test_threads_that_share_a_model_find_what_each_finds_alone() -> None:
    record_attention(MODEL, False)
    alone = [cross_attention(MODEL, [source], [[3] * 9], 1)[0] for source in SOURCES]
    busy = MODEL.decoder.layers[1].cross_attention_block.register_forward_hook(
        lambda *_: time.sleep(0.005)  # the other threads run between the attention and its reading
    )
    with ThreadPoolExecutor(len(SOURCES)) as pool:
        found = pool.map(lambda source: cross_attention(MODEL, [source], [[3] * 9], 1)[0], SOURCES)
        together = list(found)
    busy.remove()
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


def test_between_two_pairs_the_caller_computes_as_before() -> None:
    model = make_model().train()
    for _ in cross_attention_heads(model, SOURCES, TARGETS, batch_tokens=1):
        assert model.training and not torch.is_inference_mode_enabled()
