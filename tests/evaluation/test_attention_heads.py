import torch

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.decoding.forced import cross_attention
from clearhead.evaluation.attention_heads import cross_attention_heads
from tests.evaluation.tiny import HEADS, LAYERS, model, pairs, tokenizer

SOURCES = [[*tokenizer().encode(pair.source), tokenizer().eos_id] for pair in pairs()]
TARGETS = [tokenizer().encode(pair.target) for pair in pairs()]


def test_every_head_of_every_layer_says_where_it_looks_from_each_row() -> None:
    found = dict(cross_attention_heads(model(), SOURCES, TARGETS))
    assert sorted(found) == list(range(len(SOURCES)))
    for number, weights in found.items():
        size = (LAYERS, HEADS, len(TARGETS[number]) + 1, len(SOURCES[number]))
        assert weights.shape == size
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(size[:3]))


def test_a_batch_is_its_sentences_one_by_one() -> None:
    together = dict(cross_attention_heads(model(), SOURCES, TARGETS))
    for number, weights in cross_attention_heads(model(), SOURCES, TARGETS, batch_tokens=1):
        torch.testing.assert_close(weights, together[number], atol=1e-5, rtol=1e-4)


def test_the_average_of_the_rows_that_predict_is_what_decoding_shows() -> None:
    found = dict(cross_attention_heads(model(), SOURCES, TARGETS))
    for layer in range(LAYERS):
        averages = cross_attention(model(), SOURCES, TARGETS, layer)
        for number, average in enumerate(averages):
            rows = found[number][layer].mean(dim=0)[:-1]
            torch.testing.assert_close(rows, average, atol=1e-5, rtol=1e-4)


def test_no_block_is_left_recording() -> None:
    list(cross_attention_heads(model(), SOURCES[:2], TARGETS[:2]))
    for block in model().modules():
        if isinstance(block, MultiHeadAttentionBlock):
            assert not block.keep_attention_scores
            assert block.attention_scores is None
