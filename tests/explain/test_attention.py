"""A sentence pair as the model reads it, and the attention over its tokens."""

import pytest
import torch

from clearhead.errors import UserError
from clearhead.explain.attention import (
    AttentionMap,
    attention_maps,
    labels,
    next_tokens,
    of_kind,
    sentence_pair,
)
from tests.explain import tiny


def test_every_kind_has_its_tokens_and_every_row_sums_to_one() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    maps = attention_maps(translator, pair)
    assert [one.kind for one in maps] == ["encoder", "decoder", "cross"]
    for one, layers in zip(maps, (3, 2, 2), strict=True):
        assert one.weights.shape == (layers, tiny.HEADS, len(one.queries), len(one.keys))
        assert one.weights.sum(-1) == pytest.approx(1, abs=1e-6)
    assert maps[1].queries[0] == "<s>"
    assert maps[2].queries == (*maps[1].queries[1:], "</s>")
    assert maps[2].keys == maps[0].keys


def test_the_decoder_attends_to_no_later_token() -> None:
    translator = tiny.translator()
    maps = attention_maps(translator, sentence_pair(translator, tiny.SOURCE, tiny.TARGET))
    weights = torch.from_numpy(of_kind(maps, "decoder").weights)
    assert not weights.triu(1).any()
    assert weights.tril(-1).any()


def test_without_a_target_the_translation_is_the_translators() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE)
    assert pair.translation == translator.tokenizer.decode(pair.written)
    (translated,) = translator.translate([tiny.SOURCE])
    assert translated == pair.translation.strip()


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("  ", None, "the text is blank"),
        ("a", " \n", "the target is blank"),
        ("Hello.\nYou.", None, "the text has more than one line; give one sentence, without"),
        ("a", "un\r\nchat", "the target has more than one line"),
        ("dog " * 50, None, r"the text has \d+ tokens .* 40 positions"),
        ("a", "chat " * 50, r"the target has \d+ tokens .* 40 positions"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_in_one_line(
    text: str, target: str | None, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        sentence_pair(tiny.translator(), text, target)
    assert "\n" not in str(caught.value)


def test_labels_mark_continuations_of_words() -> None:
    tokenizer = tiny.tokenizer()
    ids = tokenizer.encode("the dogs.")
    shown = labels(tokenizer, ids)
    assert shown[0] == "the"
    assert shown[1:-1] == ["dog", "·s"]
    assert shown[-1] == "."


def test_a_missing_layer_and_a_missing_kind_are_refused() -> None:
    one = AttentionMap.of("self", [torch.ones(1, 2, 3, 3) / 3], "abc", "abc")
    assert one.head(-1, 1).shape == (3, 3)
    with pytest.raises(UserError, match="no layer 1; choose from 0 to 0"):
        one.layer(1)
    with pytest.raises(UserError, match="no cross-attention; choose from self"):
        of_kind([one], "cross")


@pytest.mark.parametrize(("layers", "expected"), [(1, 0), (2, 1), (4, 2), (6, 4)])
def test_the_alignment_is_shown_in_the_last_of_two_layers_else_in_the_second_to_last(
    layers: int, expected: int
) -> None:
    weights = [torch.full((1, 3, 2, 4), 0.25)] * layers
    assert AttentionMap.of("cross", weights, ["a", "b"], list("wxyz")).alignment_layer == expected


def test_weights_of_two_sentences_or_of_other_tokens_are_refused() -> None:
    with pytest.raises(UserError, match="of 2 sentences"):
        AttentionMap.of("self", [torch.ones(2, 4, 3, 3) / 3], "abc", "abc")
    with pytest.raises(UserError, match="3 x 3 positions, but 2 and 3 tokens"):
        AttentionMap.of("self", [torch.ones(1, 4, 3, 3) / 3], "ab", "abc")


def test_the_weights_are_the_softmax_of_the_scaled_products() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    for one in attention_maps(translator, pair):
        assert one.products is not None and one.d_k == tiny.D_MODEL // tiny.HEADS
        scores = torch.from_numpy(one.products) / one.d_k**0.5
        if one.causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
        assert one.causal == (one.kind == "decoder")
        torch.testing.assert_close(scores.softmax(-1), torch.from_numpy(one.weights))


def test_next_tokens_are_the_most_likely_ones_after_each_prefix() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    predictions = next_tokens(translator, pair, 3)
    with torch.inference_mode():
        probabilities = translator.model(*pair.tensors(translator.model))[0].exp()
    assert [p.prefix for p in predictions][:2] == ["", "le"]
    for prediction, row in zip(predictions, probabilities, strict=True):
        expected = row.sort(descending=True).values[:3].tolist()
        assert [p for _, p in prediction.tokens] == pytest.approx(expected)


def test_more_tokens_than_the_vocabulary_has_are_all_of_them() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    found = next_tokens(translator, pair, 10**6)
    assert {len(one.tokens) for one in found} == {translator.model.config.tgt_vocab_size}
