"""BERT: the numbers of `transformers`, from its files, and its files again."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from clearhead.models.bert import Bert, BertConfig
from clearhead.pretrained import from_pretrained, save_pretrained
from tests.pretrained.reference import (
    CLOSE,
    attention_mask,
    check_layers,
    disturbed,
    furthest,
    ragged,
    same_state,
    saved,
)

SIZES = {
    "tiny": {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3,
             "intermediate_size": 28, "max_position_embeddings": 40, "vocab_size": 50},
    "deep": {"hidden_size": 40, "num_hidden_layers": 5, "num_attention_heads": 4,
             "intermediate_size": 64, "max_position_embeddings": 24, "vocab_size": 99},
    "wide": {"hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 6,
             "intermediate_size": 768, "max_position_embeddings": 512, "vocab_size": 1000,
             "type_vocab_size": 3, "layer_norm_eps": 1e-5, "pad_token_id": 1},
}  # fmt: skip
HEADS = {
    "BertForMaskedLM": "masked_lm",
    "BertForSequenceClassification": "sequence",
    "BertForTokenClassification": "token",
    "BertForNextSentencePrediction": "next_sentence",
}


def reference(directory: Path, architecture: str, size: str, **more: Any) -> Any:
    config = transformers.BertConfig(**SIZES[size] | more)
    return saved(disturbed(getattr(transformers, architecture)(config)), directory)


def texts(theirs: Any, lengths: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    ids = ragged(theirs.config.vocab_size, lengths, theirs.config.pad_token_id)
    return ids, torch.randint(0, theirs.config.type_vocab_size, ids.shape)


@pytest.mark.parametrize("size", SIZES)
@torch.no_grad()
def test_every_layer_equals_theirs(tmp_path: Path, size: str) -> None:
    theirs = reference(tmp_path, "BertModel", size)
    ours = from_pretrained(tmp_path)
    assert isinstance(ours, Bert)
    longest = theirs.config.max_position_embeddings
    ids, segments = texts(theirs, (7, longest, 1, 19))
    real, mask = attention_mask(ids, theirs.config.pad_token_id)
    answer = theirs(ids, real, segments, output_hidden_states=True, output_attentions=True)
    hidden = ours(ids, mask, segments)
    assert furthest(hidden, answer.last_hidden_state, real.bool()) <= CLOSE
    assert furthest(ours.heads["pooler"](hidden), answer.pooler_output) <= CLOSE
    check_layers(
        ours, lambda: ours(ids, mask, segments), answer, ("embeddings", "encoder"), real.bool()
    )


@pytest.mark.parametrize("architecture", HEADS)
@torch.no_grad()
def test_every_head_equals_theirs(tmp_path: Path, architecture: str) -> None:
    theirs = reference(tmp_path, architecture, "deep", num_labels=5)
    ours = from_pretrained(tmp_path)
    ids, segments = texts(theirs, (24, 3, 9))
    real, mask = attention_mask(ids, 0)
    expected = theirs(ids, real, segments).logits
    logits = ours.heads[HEADS[architecture]](ours(ids, mask, segments))
    where = real.bool() if logits.dim() == 3 else None
    assert furthest(logits, expected, where) <= CLOSE
    assert torch.equal(logits.argmax(-1)[real.bool() if where is not None else ...],
                       expected.argmax(-1)[real.bool() if where is not None else ...])  # fmt: skip


@torch.no_grad()
def test_both_heads_of_pretraining_are_there(tmp_path: Path) -> None:
    theirs = reference(tmp_path, "BertForPreTraining", "tiny")
    ours = from_pretrained(tmp_path)
    ids, segments = texts(theirs, (6, 11))
    answer = theirs(ids, attention_mask(ids, 0)[0], segments)
    hidden = ours(ids, attention_mask(ids, 0)[1], segments)
    assert furthest(ours.heads["masked_lm"](hidden)[:, :6], answer.prediction_logits[:, :6]) <= 1e-5
    assert furthest(ours.heads["next_sentence"](hidden), answer.seq_relationship_logits) <= CLOSE


@pytest.mark.parametrize("architecture", ["BertModel", "BertForPreTraining", *HEADS])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_transformers_loads_what_we_save_bit_identically(
    tmp_path: Path, architecture: str, dtype: torch.dtype
) -> None:
    config = transformers.BertConfig(**SIZES["tiny"], num_labels=4)
    theirs = saved(disturbed(getattr(transformers, architecture)(config)).to(dtype), tmp_path / "a")
    save_pretrained(from_pretrained(tmp_path / "a", dtype=None), tmp_path / "b")
    same_state(theirs, type(theirs).from_pretrained(tmp_path / "b", dtype="auto"))
    first, second = (tmp_path / name / "config.json" for name in "ab")
    assert first.read_text(encoding="utf-8").split() == second.read_text(encoding="utf-8").split()


@torch.no_grad()
def test_the_original_files_of_bert_load(tmp_path: Path) -> None:
    """Norms are gamma and beta there, and there are more heads than the class has."""
    theirs = reference(tmp_path, "BertForPreTraining", "tiny")
    path = tmp_path / "model.safetensors"
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor.clone()
        for name, tensor in load_file(path).items()
    }
    assert any(name.endswith("gamma") for name in old)
    save_file(old | {"bert.embeddings.position_ids": torch.arange(40)[None]}, path)
    config = tmp_path / "config.json"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("BertForPreTraining", "BertForMaskedLM"), encoding="utf-8")
    ours = from_pretrained(tmp_path)
    assert set(ours.heads) == {"masked_lm", "pooler", "next_sentence"}
    ids = ragged(50, (9, 9), 0)
    expected = theirs(ids).seq_relationship_logits
    assert furthest(ours.heads["next_sentence"](ours(ids)), expected) <= CLOSE


@torch.no_grad()
def test_in_bfloat16_our_error_is_not_larger_than_theirs(tmp_path: Path) -> None:
    theirs = reference(tmp_path, "BertForMaskedLM", "wide")
    ids, segments = texts(theirs, (65, 31, 8))
    real, mask = attention_mask(ids, 1)
    truth = theirs.double()(ids, real, segments).logits
    rounded = theirs.to(torch.bfloat16)(ids, real, segments).logits
    ours = from_pretrained(tmp_path, dtype=torch.bfloat16)
    logits = ours.heads["masked_lm"](ours(ids, mask, segments))
    assert logits.dtype == torch.bfloat16
    where = real.bool()
    our_error = (logits.double() - truth)[where].square().mean().sqrt()
    their_error = (rounded.double() - truth)[where].square().mean().sqrt()
    assert our_error <= 1.1 * their_error


@torch.no_grad()
def test_a_text_is_the_same_alone_and_in_a_batch(tmp_path: Path) -> None:
    reference(tmp_path, "BertModel", "deep")
    ours = from_pretrained(tmp_path)
    ids = ragged(99, (24, 5, 13), 0)
    together = ours(ids, attention_mask(ids, 0)[1])
    for row, length in enumerate((24, 5, 13)):
        alone = ours(ids[row : row + 1, :length])
        assert furthest(alone[0], together[row, :length]) <= CLOSE


@torch.no_grad()
def test_a_new_model_is_loaded_by_transformers(tmp_path: Path) -> None:
    """Born here; the pooler, which their class does not have, comes back to us all the same."""
    sizes = BertConfig(50, 40, 12, 1, 3, 28, heads=("masked_lm", "pooler"), eps=1e-7, segments=3)
    ours = Bert.from_config(sizes).eval()
    save_pretrained(ours, tmp_path)
    theirs = transformers.BertForMaskedLM.from_pretrained(tmp_path).eval()
    ids = ragged(50, (9, 9), 0)
    expected = theirs(ids, token_type_ids=ids % 3).logits
    assert furthest(ours.heads["masked_lm"](ours(ids, None, ids % 3)), expected) <= CLOSE
    again = from_pretrained(tmp_path)
    assert isinstance(again, Bert) and again.config == sizes
    assert all(torch.equal(t, again.get_parameter(name)) for name, t in ours.named_parameters())


@torch.no_grad()
def test_a_bert_model_without_a_pooler_loads_and_is_saved_again(tmp_path: Path) -> None:
    theirs = disturbed(
        transformers.BertModel(transformers.BertConfig(**SIZES["tiny"]), add_pooling_layer=False)
    )
    theirs.save_pretrained(tmp_path / "theirs")
    ours = from_pretrained(tmp_path / "theirs")
    assert isinstance(ours, Bert) and not ours.heads
    ids, _ = texts(theirs, (7, 3))
    real, mask = attention_mask(ids, 0)
    assert furthest(ours(ids, mask), theirs(ids, real).last_hidden_state, real.bool()) <= CLOSE
    save_pretrained(ours, tmp_path / "ours")
    again = transformers.BertModel.from_pretrained(tmp_path / "ours", add_pooling_layer=False)
    same_state(again, theirs)


@torch.no_grad()
def test_a_masked_language_model_without_a_class_name_loads_with_its_head(tmp_path: Path) -> None:
    theirs = reference(tmp_path / "theirs", "BertForMaskedLM", "tiny")
    path = tmp_path / "theirs" / "config.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["architectures"]
    path.write_text(json.dumps(values), encoding="utf-8")
    ours = from_pretrained(tmp_path / "theirs")
    assert isinstance(ours, Bert) and set(ours.heads) == {"masked_lm"}
    ids, _ = texts(theirs, (7, 3))
    real, mask = attention_mask(ids, 0)
    expected = theirs(ids, real).logits
    assert furthest(ours.heads["masked_lm"](ours(ids, mask)), expected, real.bool()) <= CLOSE
    save_pretrained(ours, tmp_path / "ours")
    again = transformers.BertForMaskedLM.from_pretrained(tmp_path / "ours").eval()
    assert furthest(again(ids, real).logits, expected, real.bool()) <= CLOSE


def test_saving_a_bert_that_computes_something_else_than_its_files_say_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = Bert.from_config(BertConfig(33, 14, 12, layers=2, h=3, d_ff=20))
    save_pretrained(model, tmp_path)
    assert not caplog.messages
    model.encoder.layers[1].get_submodule("feed_forward_block").activation = torch.relu
    save_pretrained(model, tmp_path)
    (message,) = caplog.messages
    assert message.startswith("encoder.layers.1.feed_forward_block has activation=relu, not gelu")
