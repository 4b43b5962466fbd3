"""A sentence as the model reads it, and the attention over its words."""

import pytest
import torch

from clearhead.errors import UserError
from clearhead.explain.attention_map import AttentionMap, of_kind
from clearhead.explain.look import look, sentence
from clearhead.explain.words import labels
from tests.explain import tiny


def test_every_kind_has_its_words_and_every_row_sums_to_one() -> None:
    translator = tiny.translator()
    known = sentence(translator, tiny.SOURCE, tiny.TARGET)
    maps = look(translator, known)
    assert [one.kind for one in maps] == ["encoder", "decoder", "cross"]
    for one, layers in zip(maps, (3, 2, 2), strict=True):
        assert one.weights.shape == (layers, tiny.HEADS, len(one.queries), len(one.keys))
        assert one.weights.sum(-1) == pytest.approx(1, abs=1e-6)
    assert maps[1].queries[0] == "<s>"
    assert maps[2].queries == (*maps[1].queries[1:], "</s>")
    assert maps[2].keys == maps[0].keys


def test_the_decoder_never_looks_ahead() -> None:
    translator = tiny.translator()
    maps = look(translator, sentence(translator, tiny.SOURCE, tiny.TARGET))
    weights = torch.from_numpy(of_kind(maps, "decoder").weights)
    assert not weights.triu(1).any()
    assert weights.tril(-1).any()


def test_without_a_target_it_is_what_the_translator_says() -> None:
    translator = tiny.translator()
    known = sentence(translator, tiny.SOURCE)
    assert known.translation == translator.tokenizer.decode(known.written)
    (said,) = translator.translate([tiny.SOURCE])
    assert said == known.translation.strip()


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("  ", None, "the text is blank"),
        ("a", " \n", "the target is blank"),
        ("dog " * 50, None, r"the text has \d+ tokens .* 40 positions"),
        ("a", "chat " * 50, r"the target has \d+ tokens .* 40 positions"),
    ],
)
def test_what_cannot_be_read_is_one_clear_line(text: str, target: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        sentence(tiny.translator(), text, target)
    assert "\n" not in str(caught.value)


def test_labels_mark_the_rest_of_a_word() -> None:
    tokenizer = tiny.tokenizer()
    ids = tokenizer.encode("the dogs.")
    shown = labels(tokenizer, ids)
    assert shown[0] == "the"
    assert shown[1:-1] == ["dog", "·s"]
    assert shown[-1] == "."


def test_a_layer_that_is_not_there_and_a_missing_kind_are_said() -> None:
    one = AttentionMap.of("self", [torch.ones(1, 2, 3, 3) / 3], "abc", "abc")
    assert one.head(-1, 1).shape == (3, 3)
    with pytest.raises(UserError, match="no layer 1; choose from 0 to 0"):
        one.layer(1)
    with pytest.raises(UserError, match="no cross-attention; choose from self"):
        of_kind([one], "cross")


def test_weights_of_two_sentences_or_of_other_words_are_refused() -> None:
    with pytest.raises(UserError, match="of 2 sentences"):
        AttentionMap.of("self", [torch.ones(2, 4, 3, 3) / 3], "abc", "abc")
    with pytest.raises(UserError, match="3 x 3 positions, but there are 2 and 3 words"):
        AttentionMap.of("self", [torch.ones(1, 4, 3, 3) / 3], "ab", "abc")
