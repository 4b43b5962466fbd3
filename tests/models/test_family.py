"""BERT, GPT-2, ESM-2 and Marian as assemblies: sizes, initialization, who sees whom."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from clearhead.blocks import look_ahead_mask, padding_mask
from clearhead.errors import UserError
from clearhead.models import (
    Bert,
    BertConfig,
    Esm,
    EsmConfig,
    Gpt,
    GptConfig,
    Marian,
    MarianConfig,
    SentenceEmbedding,
    count_parameters,
    masked_mean,
)

SMALL: dict[str, Any] = {"seq_len": 14, "d_model": 12, "layers": 2, "h": 3, "d_ff": 20}
MODELS = [
    Bert.from_config(BertConfig(33, **SMALL)).eval(),
    Gpt.from_config(GptConfig(33, **SMALL)).eval(),
    Esm.from_config(EsmConfig(33, **SMALL)).eval(),
]
NAMES = ["bert", "gpt", "esm"]


def on_meta(build: Any, config: Any) -> nn.Module:
    with torch.device("meta"):  # shapes without memory
        model: nn.Module = build(config)
    return model


@pytest.mark.parametrize(
    ("build", "config", "published"),
    [
        (Bert, BertConfig(30522, heads=("pooler",)), 109_482_240),  # BERT base, uncased
        (Gpt, GptConfig(50257), 124_439_808),  # the smallest GPT-2
        # transformers counts 7,512,474 of EsmForMaskedLM, 121 of them of the contact head.
        (Esm, EsmConfig(heads=("masked_lm",)), 7_512_474 - 121),
    ],
    ids=NAMES,
)
def test_the_default_sizes_are_the_published_ones(build: Any, config: Any, published: int) -> None:
    assert count_parameters(on_meta(build, config)) == published


def test_a_marian_of_opus_has_one_table_and_no_last_norms() -> None:
    config = MarianConfig(
        58101, 58101, d_model=512, encoder_layers=6, decoder_layers=6, h=8, d_ff=2048,
        tie_embeddings=True, pad_id=58100, bos_id=58100, eos_id=0,
    )  # fmt: skip
    model = on_meta(Marian.assemble, config)
    attention, feed_forward, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 2048 + 512, 1024
    layers = 6 * (3 * attention + 2 * feed_forward + 5 * norm)
    assert count_parameters(model) == 58101 * 512 + 58101 + layers


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_matrices_begin_small_biases_at_zero_and_norms_as_the_identity(model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif name.endswith("alpha"):
            assert parameter.eq(1).all(), name
        else:
            assert 0 < parameter.std() < 0.03, name


def test_what_gpt_adds_to_the_sum_begins_smaller() -> None:
    config = GptConfig(33, d_model=120, layers=8, h=3, d_ff=200)
    block: Any = Gpt.from_config(config).decoder.layers[0]
    written = block.self_attention_block.w_o.weight.std()
    assert 0.8 < written / (config.initial_std / 4) < 1.2  # the root of 2 · 8 layers
    assert 0.8 < block.self_attention_block.w_q.weight.std() / config.initial_std < 1.2


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@torch.no_grad()
def test_who_sees_whom(model: nn.Module) -> None:
    ids = torch.randint(4, 30, (2, 9))
    other = ids.clone()
    other[:, 6] = 31
    changed = (model(ids) != model(other)).any(dim=2)
    before = isinstance(model, Gpt)  # the only one whose tokens do not see what follows
    assert changed[:, 6:].all() and bool(changed[:, :6].any()) is not before


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@torch.no_grad()
def test_padding_changes_nothing(model: nn.Module) -> None:
    ids = torch.randint(4, 30, (2, 9))
    longer = torch.cat([ids, torch.full((2, 4), 1)], dim=1)
    found = model(longer, padding_mask(longer, 1))[:, :9]
    torch.testing.assert_close(found, model(ids), atol=1e-6, rtol=0)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("batch", [2, 3, 9], ids=["", "batch = h", "batch = seq_len"])
@torch.no_grad()
def test_a_mask_that_lacks_axes_is_refused_with_the_repair(model: nn.Module, batch: int) -> None:
    ids, mask = torch.randint(4, 30, (batch, 9)), torch.ones(batch, 9).bool()
    mask[0, :2] = False
    for flat, repair in ((mask, "mask[:, None, None]"), (mask[:, None], "mask[:, None]")):
        with pytest.raises(UserError) as caught:
            model(ids, flat)
        found = str(caught.value)
        assert f"a mask of shape {tuple(flat.shape)} does not fit batch={batch}" in found
        assert found.endswith(repair)
    assert model(ids, mask[:, None, None]).shape == (batch, 9, 12)
    with pytest.raises(UserError, match="mask is of type ndarray"):
        model(ids, mask.numpy())


@torch.no_grad()
def test_a_mask_for_each_query_is_taken_except_by_esm_which_needs_to_know_the_padding() -> None:
    ids, mask = torch.randint(4, 30, (2, 9)), look_ahead_mask(9)
    bert, gpt, esm = MODELS
    assert torch.equal(gpt(ids, mask), gpt(ids))
    assert not torch.allclose(bert(ids, mask), bert(ids))
    with pytest.raises(UserError, match=r"\(1, 1, 9, 9\) does not fit .* give \(2, 1, 1, 9\)"):
        esm(ids, mask)


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        (torch.full((2, 9), 2), "segment 2 is outside 0 to 1"),
        (torch.full((2, 9), -1), "segment -1 is outside 0 to 1"),
        (torch.zeros(2, 9), "segments has shape (2, 9) and dtype float32"),
        (torch.zeros(2, 8).long(), "segments has shape (2, 8) and ids (2, 9)"),
        ([[0] * 9] * 2, "segments is of type list"),
    ],
    ids=["too large", "negative", "float", "shape", "list"],
)
def test_segments_that_do_not_fit_are_refused(segments: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        MODELS[0](torch.randint(4, 30, (2, 9)), None, segments)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@torch.no_grad()
def test_segments_tell_a_pairs_texts_apart() -> None:
    ids = torch.randint(4, 30, (2, 9))
    segments = torch.zeros_like(ids)
    assert torch.equal(MODELS[0](ids), MODELS[0](ids, None, segments))
    segments[:, 5:] = 1
    assert not torch.allclose(MODELS[0](ids), MODELS[0](ids, None, segments))


def test_the_masked_mean_is_the_mean_of_what_is_not_masked() -> None:
    hidden = torch.randn(3, 5, 4)
    ids = torch.tensor([[7, 7, 1, 1, 1], [7, 7, 7, 7, 7], [1, 1, 1, 1, 1]])
    found = masked_mean(hidden, padding_mask(ids, 1))
    torch.testing.assert_close(found[0], hidden[0, :2].mean(dim=0))
    torch.testing.assert_close(found[1], hidden[1].mean(dim=0))
    assert not found[2].any()


@pytest.mark.parametrize("hidden_by", [-torch.inf, -1e9])
def test_the_masked_mean_takes_an_additive_mask(hidden_by: float) -> None:
    hidden, mask = torch.randn(2, 5, 4), padding_mask(torch.tensor([[7, 7, 1, 1, 1], [7] * 5]), 1)
    additive = torch.zeros(mask.shape).masked_fill(~mask, hidden_by)
    assert torch.equal(masked_mean(hidden, additive), masked_mean(hidden, mask))


@torch.no_grad()
def test_an_embedding_has_length_one_and_does_not_depend_on_company() -> None:
    embed = SentenceEmbedding(MODELS[2], 1)
    ids = torch.tensor([[7, 8, 9, 1, 1], [4, 5, 6, 7, 8]])
    together = embed(ids)
    torch.testing.assert_close(together.norm(dim=1), torch.ones(2))
    torch.testing.assert_close(together[0], embed(ids[:1, :3])[0], atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"activation": "mish"}, "activation='mish' is not known; give one of relu, gelu"),
     ({"d_model": 13}, "d_model=13 is not divisible by h=3"),
     ({"layers": 0}, "layers=0 is not valid"), ({"dropout": 1.0}, "dropout=1.0 is not valid")],
)  # fmt: skip
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_sizes_that_do_not_do_are_refused(
    model: nn.Module, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        type(model)(replace(model.config, **change))


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_a_model_is_printed_as_a_tree(model: nn.Module) -> None:
    assert "2 × EncoderBlock" in repr(model)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_each_form_of_a_padding_mask_hides_the_same(model: nn.Module) -> None:
    ids = torch.tensor([[5, 9, 7, 30, 6], [8, 3, 4, 0, 0]])
    mask = padding_mask(ids, 0)
    additive = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    for form in (mask.int(), mask.float(), additive):
        assert torch.equal(model(ids, form), model(ids, mask))


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("ids", [torch.ones(2, 5), torch.ones(5, dtype=torch.int64)], ids=str)
def test_ids_of_a_wrong_form_are_refused_by_name(model: nn.Module, ids: torch.Tensor) -> None:
    with pytest.raises(UserError, match=r"ids has shape .*; expected (integer )?token ids"):
        model(ids)


def test_an_id_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(
        UserError, match="pad_id=999 is not in the vocabulary; give an id from 0 to 19"
    ):
        BertConfig(20, pad_id=999)
    with pytest.raises(UserError, match="mask_id=32 is not in the vocabulary"):
        EsmConfig(20)
    with pytest.raises(UserError, match="d_model=12 is not divisible by h=7"):
        Esm(EsmConfig(33, d_model=12, h=7))
