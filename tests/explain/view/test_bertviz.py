"""Code written for bertviz works unchanged."""

import pytest
import torch

from clearhead.errors import UserError
from clearhead.explain.view import head_view, model_view

LAYERS, HEADS, SOURCE, TARGET = 3, 2, ["▁a", "▁dog", "s", "</s>"], ["<pad>", "▁un", "▁chien"]


def attention(queries: int, keys: int, causal: bool = False) -> tuple[torch.Tensor, ...]:
    scores = torch.rand(LAYERS, 1, HEADS, queries, keys, generator=torch.Generator().manual_seed(4))
    if causal:
        scores = scores.masked_fill(torch.ones(queries, keys).triu(1).bool(), -torch.inf)
    return tuple(scores.softmax(-1))


def encoder_decoder() -> dict[str, object]:
    return {
        "encoder_attention": attention(4, 4),
        "decoder_attention": attention(3, 3, causal=True),
        "cross_attention": attention(3, 4),
        "encoder_tokens": SOURCE,
        "decoder_tokens": TARGET,
    }


def test_attention_and_tokens_by_position() -> None:
    shown = head_view(attention(4, 4), SOURCE)
    (one,) = shown.view.maps
    assert one.kind == "self"
    assert one.keys == ("a", "dog", "s", "</s>")
    assert one.weights.shape == (LAYERS, HEADS, 4, 4)
    assert shown.data.startswith("<!DOCTYPE html>")


def test_positional_arguments_are_in_the_order_of_bertviz() -> None:
    """bertviz 1.4: model_view(attention, tokens, sentence_b_start, prettify_tokens, display_mode,
    encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens,
    include_layers, include_heads, html_action); head_view has layer and heads instead.
    """
    three = attention(4, 4), attention(3, 3), attention(3, 4)
    rest = ([0, 2], [1], "return")
    shown = model_view(None, None, None, False, "dark", *three, SOURCE, TARGET, *rest)
    assert shown.view.payload["theme"] == "dark"
    assert [one.kind for one in shown.view.maps] == ["encoder", "decoder", "cross"]
    assert (shown.view.maps[0].layers, shown.view.maps[0].heads) == ((0, 2), (1,))
    assert shown.view.maps[0].keys == tuple(SOURCE)
    shown = head_view(None, None, None, False, 2, [0], *three, SOURCE, TARGET, [0, 2], "return")
    start = shown.view.payload["start"]
    assert (start["view"], start["layer"], start["heads"]) == ("flow", 1, [0])


def test_all_three_of_an_encoder_decoder() -> None:
    maps = model_view(**encoder_decoder(), html_action="return").view.maps  # type: ignore[arg-type]
    assert [(one.kind, len(one.queries), len(one.keys)) for one in maps] == [
        ("encoder", 4, 4),
        ("decoder", 3, 3),
        ("cross", 3, 4),
    ]


def test_cross_attention_alone() -> None:
    given = encoder_decoder()
    del given["encoder_attention"], given["decoder_attention"]
    assert [one.kind for one in head_view(**given).view.maps] == ["cross"]  # type: ignore[arg-type]


def test_chosen_layers_and_heads_keep_their_indices() -> None:
    weights = attention(4, 4)
    shown = model_view(weights, SOURCE, include_layers=[0, 2], include_heads=[1])
    (one,) = shown.view.maps
    assert (one.layers, one.heads) == ((0, 2), (1,))
    assert torch.equal(torch.from_numpy(one.head(2, 1)), weights[2][0, 1])
    start = head_view(weights, SOURCE, include_layers=[0, 2], layer=2, heads=[1]).view.payload[
        "start"
    ]
    assert (start["view"], start["layer"], start["heads"]) == ("flow", 1, [1])


def test_layers_and_heads_chosen_from_the_end_have_their_own_numbers() -> None:
    (one,) = model_view(attention(4, 4), SOURCE, include_layers=[-1], include_heads=[-2]).view.maps
    assert (one.layers, one.heads) == ((LAYERS - 1,), (HEADS - 2,))


def test_two_sentences_are_shown_in_four_blocks_as_well() -> None:
    weights = attention(4, 4)
    maps = head_view(weights, SOURCE, sentence_b_start=3).view.maps
    assert [one.title for one in maps] == [
        "Self-attention",
        *(f"Self-attention, sentence {a} → {b}" for a in "AB" for b in "AB"),
    ]
    assert torch.equal(torch.from_numpy(maps[2].weights[1]), weights[1][0, :, :3, 3:])


def test_the_second_sentence_begins_at_the_same_token_with_padding_on_either_side() -> None:
    weights = [torch.zeros(1, HEADS, 9, 9) for _ in range(LAYERS)]
    for layer in weights:
        layer[:, :, 2:7, 2:7] = torch.rand(HEADS, 5, 5).softmax(-1)
    tokens = ["[PAD]", "[PAD]", "a", "b", "[SEP]", "c", "[SEP]", "[PAD]", "[PAD]"]
    maps = head_view(weights, tokens, sentence_b_start=5).view.maps
    assert [list(one.keys) for one in maps[:3]] == [tokens[2:7], tokens[2:5], tokens[5:7]]
    assert torch.equal(torch.from_numpy(maps[3].weights[0]), weights[0][0, :, 5:7, 2:5])


def test_the_attention_of_a_transformers_model_is_accepted() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=8,
    )
    model = transformers.BertModel._from_config(config, attn_implementation="eager").eval()
    ids = torch.tensor([[5, 6, 7, 0, 0]])
    outputs = model(ids, attention_mask=ids.ne(0).long(), output_attentions=True)
    (one,) = head_view(outputs.attentions, ["a", "b", "c", "[PAD]", "[PAD]"]).view.maps
    assert one.weights.shape == (2, 4, 3, 3)
    assert one.weights.sum(-1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "there is no attention; give attention and tokens"),
        ({"attention": (None, None), "tokens": SOURCE}, "attn_implementation='eager'"),
        ({"attention": (attention(4, 4),), "tokens": SOURCE}, r"that of generate\(\)"),
        ({"attention": attention(4, 4)}, "attention needs tokens"),
        ({"attention": attention(4, 4), "tokens": SOURCE[:3]}, "4 x 4 positions, but 3"),
        ({"attention": [torch.ones(2, 1, 4, 4) / 4], "tokens": SOURCE}, "that of 2 sentences"),
        ({"attention": attention(4, 4), "tokens": SOURCE, "layer": 3}, "no layer 3; choose from 0"),
        ({"attention": attention(4, 4), "tokens": SOURCE, "include_heads": [7]}, "no head 7"),
        ({"attention": attention(4, 4), "tokens": SOURCE, "heads": [7]}, "no head 7; choose from"),
        ({"attention": attention(4, 4), "tokens": SOURCE, "heads": ["a"]}, "no head 'a'"),
        ({"attention": attention(4, 4), "tokens": SOURCE, "layer": -9}, "no layer -9"),
        (
            {"attention": attention(4, 4), "tokens": [5, 6, 7, 2]},
            "tokens holds 5, .*convert_ids_to",
        ),
        ({"attention": attention(4, 4), "tokens": SOURCE, "sentence_b_start": 4}, "from 1 to 3"),
        (
            {"attention": attention(4, 4), "tokens": SOURCE, "html_action": "x"},
            "'view' or 'return'",
        ),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        head_view(**given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_negative_layer_or_head_counts_from_the_end() -> None:
    last = head_view(attention(4, 4), SOURCE, layer=-1, heads=[-1]).view.html
    layers, heads = len(attention(4, 4)), attention(4, 4)[0].shape[1]
    assert last == head_view(attention(4, 4), SOURCE, layer=layers - 1, heads=[heads - 1]).view.html


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "logits": ({"attention": tuple(torch.randn(2, 1, 3, 4, 4))}, "give those after the softmax"),
    "NaN": ({"attention": tuple(torch.full((2, 1, 3, 4, 4), torch.nan))}, "after the softmax"),
    "heads": ({"attention": [torch.ones(1, h, 4, 4) / 4 for h in (2, 3)]}, "different shapes"),
    "no layers": ({"attention": attention(4, 4), "include_layers": []}, "include_layers or"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_drawn_is_refused(name: str) -> None:
    arguments, message = WRONG[name]
    with pytest.raises(UserError, match=message):
        model_view(tokens=SOURCE, **arguments)  # type: ignore[arg-type]


def test_arrays_and_one_head_are_shown() -> None:
    arrays = tuple(layer.numpy() for layer in attention(4, 4))
    shown = head_view(arrays, SOURCE, heads=1)  # type: ignore[arg-type]
    assert shown.data == head_view(attention(4, 4), SOURCE, heads=[1]).data
