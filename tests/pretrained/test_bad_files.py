"""What is wrong with a directory: one line that names it, and nothing half-loaded."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

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
    build_transformer,
)
from clearhead.pretrained import from_pretrained, load, save_pretrained

WORDS = "bert.embeddings.word_embeddings.weight"
FC1 = "bert.encoder.layer.0.intermediate.dense.weight"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=28, max_position_embeddings=16,
    )  # fmt: skip
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path)
    return tmp_path


def refused(directory: Path, load: Callable[[Path], Any] = from_pretrained) -> str:
    with pytest.raises(UserError) as caught:
        load(directory)
    message = str(caught.value)
    assert "\n" not in message
    return message


def change(directory: Path, edit: Callable[[dict[str, Tensor]], object]) -> None:
    path = directory / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    edit(tensors)
    save_file(tensors, path)


def configure(directory: Path, **values: Any) -> None:
    path = directory / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | values
    path.write_text(json.dumps(config), encoding="utf-8")


def test_missing_tensors_are_listed_with_their_shapes(directory: Path) -> None:
    change(directory, lambda tensors: (tensors.pop(FC1), tensors.pop("cls.predictions.bias")))
    message = refused(directory)
    assert f"missing: {FC1} (28, 12), cls.predictions.bias (50,)" in message
    assert "unexpected" not in message and str(directory) in message


def test_extra_tensors_are_listed_with_their_shapes(directory: Path) -> None:
    change(directory, lambda tensors: tensors.update({"bert.adapter.weight": torch.ones(2, 3)}))
    assert "unexpected: bert.adapter.weight (2, 3)" in refused(directory)


def test_mis_shaped_tensors_are_listed_with_both_shapes(directory: Path) -> None:
    change(directory, lambda tensors: tensors.update({FC1: torch.ones(12, 28)}))
    assert f"of another shape: {FC1} (12, 28) where (28, 12) fits" in refused(directory)


def test_many_faults_are_counted(directory: Path) -> None:
    count = len(load_file(directory / "model.safetensors"))
    change(directory, lambda tensors: tensors.clear())
    assert f"and {count - 4} more" in refused(directory)


def test_differing_copies_of_a_tied_weight_are_refused(directory: Path) -> None:
    tied = "cls.predictions.decoder.weight"
    change(directory, lambda tensors: tensors.update({tied: tensors[WORDS] + 1}))
    assert f"{WORDS} and {tied} differ" in refused(directory)


def test_an_equal_copy_of_a_tied_weight_is_accepted(directory: Path) -> None:
    tied = "cls.predictions.decoder.weight"
    change(directory, lambda tensors: tensors.update({tied: tensors[WORDS].clone()}))
    assert isinstance(from_pretrained(directory), Bert)


def test_an_unknown_family_is_refused_with_the_supported_ones(directory: Path) -> None:
    configure(directory, model_type="roberta", architectures=["RobertaModel"])
    message = refused(directory)
    assert "'roberta' model (RobertaModel)" in message and "bert, gpt2, esm, marian" in message


@pytest.mark.parametrize("kind", ["transformer", "biology"])
def test_a_model_of_our_own_is_answered_with_its_command(kind: str, directory: Path) -> None:
    configure(directory, model_type=f"clearhead-{kind}")
    command = {"transformer": "translate", "biology": "bio"}[kind]
    assert f"use `clearhead {command}`" in refused(directory)


def test_an_unknown_architecture_is_refused_with_the_supported_ones(directory: Path) -> None:
    configure(directory, architectures=["BertForQuestionAnswering"])
    message = refused(directory)
    assert "'BertForQuestionAnswering'" in message and "BertForMaskedLM" in message


@pytest.mark.parametrize(
    ("key", "value"),
    [("is_decoder", True), ("position_embedding_type", "relative_key"),
     ("tie_word_embeddings", False), ("hidden_act", "mish")],
)  # fmt: skip
def test_an_unsupported_formula_is_refused(directory: Path, key: str, value: object) -> None:
    configure(directory, **{key: value})
    assert repr(value) in refused(directory)


@pytest.mark.parametrize(("key", "value"), [("num_attention_heads", 5), ("hidden_size", "many")])
def test_invalid_sizes_are_refused(directory: Path, key: str, value: object) -> None:
    configure(directory, **{key: value})
    refused(directory)


def test_sizes_of_another_model_are_refused(directory: Path) -> None:
    configure(directory, num_hidden_layers=1)
    assert "unexpected: bert.encoder.layer.1." in refused(directory)


@pytest.mark.parametrize("keep", [0, 7, 100, 0.5, 0.999])
def test_a_truncated_file_is_refused(directory: Path, keep: float) -> None:
    path = directory / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    assert "not a whole safetensors file" in refused(directory)


def test_a_pickle_under_a_safe_name_is_refused(directory: Path) -> None:
    (directory / "model.safetensors").write_bytes(pickle.dumps({"a": 1}))
    assert "a Python pickle" in refused(directory)


def test_a_directory_of_pickled_weights_is_referred_to_convert(directory: Path) -> None:
    (directory / "model.safetensors").unlink()
    torch.save({}, directory / "pytorch_model.bin")
    assert f"`clearhead convert {directory} --output NEW_DIRECTORY`" in refused(directory)
    spaced = directory.rename(directory.with_name("my model"))
    assert f"`clearhead convert '{spaced}' --output NEW_DIRECTORY`" in refused(spaced)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(directory: Path, name: str) -> None:
    (directory / name).unlink()
    assert f"{name}: No such file" in refused(directory)


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": ["bert"]}', '{"model_type": "bert"}'])
def test_a_broken_configuration_is_refused(directory: Path, text: str) -> None:
    (directory / "config.json").write_text(text, encoding="utf-8")
    refused(directory)


def test_a_file_instead_of_a_directory_is_refused(directory: Path) -> None:
    assert "expected a model directory" in refused(directory / "model.safetensors")


def test_a_tokenizer_of_another_size_is_refused(directory: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(str, range(60))]
    (directory / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    assert "has 65 tokens and the model 50" in refused(directory, load)


def test_a_tokenizer_with_other_special_tokens_is_refused(directory: Path) -> None:
    words = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", *map(str, range(45))]
    (directory / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    message = refused(directory, load)
    assert "is '[PAD]', id 1, but the model has pad_id=0" in message


def test_the_matching_tokenizer_is_loaded_with_the_model(directory: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(str, range(45))]
    (directory / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    model, tokenizer = load(directory)
    assert isinstance(model, Bert) and tokenizer.encode("7") == [2, 12, 3]


@pytest.mark.parametrize(
    "model",
    [Bert(BertConfig(9, 8, 12, 1, 3, 5)), Gpt(GptConfig(9, 8, 12, 1, 3, 5)),
     Esm(EsmConfig(33, 8, 12, 1, 3, 5))],
    ids=["bert", "gpt", "esm"],
)  # fmt: skip
def test_a_text_that_is_too_long_is_an_error_in_one_line(model: torch.nn.Module) -> None:
    model(torch.full((2, 8), 5))
    with pytest.raises(UserError, match=r"has 9 (tokens|positions).*seq_len=8"):
        model(torch.full((2, 9), 5))
    with pytest.raises(UserError, match="is outside the vocabulary"):
        model(torch.full((2, 3), 40))


def test_a_model_whose_labels_are_null_is_saved(directory: Path, tmp_path: Path) -> None:
    configure(directory, id2label=None)
    save_pretrained(from_pretrained(directory), tmp_path / "new")
    assert isinstance(from_pretrained(tmp_path / "new"), Bert)


def test_weights_that_are_not_finite_are_not_saved(directory: Path, tmp_path: Path) -> None:
    model = from_pretrained(directory)
    with torch.no_grad():
        model.get_parameter("embeddings.norm.bias")[0] = torch.nan
    with pytest.raises(UserError, match=r"bert\.embeddings\.LayerNorm\.bias holds NaN"):
        save_pretrained(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_heads_that_no_architecture_has_are_refused(tmp_path: Path) -> None:
    model = Bert(BertConfig(9, 8, 12, 1, 3, 5, heads=("token", "sequence")))
    with pytest.raises(UserError, match="no bert architecture has the heads sequence, token"):
        save_pretrained(model, tmp_path)
    with pytest.raises(UserError, match="no head 'chat'; choose from pooler, masked_lm"):
        Bert(BertConfig(9, 8, 12, 1, 3, 5, heads=("chat",)))


def test_a_head_whose_pooler_has_no_place_in_the_files_is_not_saved(tmp_path: Path) -> None:
    model = Bert(BertConfig(9, 8, 12, 1, 3, 5, heads=("masked_lm", "next_sentence")))
    with pytest.raises(UserError, match=r"no place for heads\.next_sentence\.0\.linear\.weight"):
        save_pretrained(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_heads_in_any_order_come_back(tmp_path: Path) -> None:
    model = Bert(BertConfig(9, 8, 12, 1, 3, 5, heads=("sequence", "pooler"))).eval()
    save_pretrained(model, tmp_path)
    again, ids = from_pretrained(tmp_path), torch.tensor([[3, 5, 7]])
    assert torch.equal(again.heads["sequence"](again(ids)), model.heads["sequence"](model(ids)))


@pytest.mark.parametrize(
    ("model", "setting"),
    [(Esm(EsmConfig(33, 8, 12, 1, 3, 5, activation="relu")), "activation='relu'"),
     (Marian.from_config(MarianConfig(9, 9, 8, 8, 12, 1, 1, 3, 5, norm="pre")), "norm='pre'")],
    ids=["esm", "marian"],
)  # fmt: skip
def test_a_setting_that_their_files_cannot_express_is_not_saved(
    model: torch.nn.Module, setting: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=f"cannot express {setting}"):
        save_pretrained(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_model_without_padding_token_comes_back_without(tmp_path: Path) -> None:
    save_pretrained(Bert(BertConfig(9, 8, 12, 1, 3, 5, pad_id=None)), tmp_path)
    assert from_pretrained(tmp_path).config.pad_id is None


def test_the_longer_side_and_the_dropout_of_a_marian_come_back(tmp_path: Path) -> None:
    config = MarianConfig(9, 9, 8, 6, 12, 1, 1, 3, 5, dropout=0.3, attention_dropout=None)
    save_pretrained(Marian.from_config(config), tmp_path)
    again: Any = from_pretrained(tmp_path).config
    assert again.src_seq_len == 8 and again.dropout_of("attention") == 0.3


def test_a_translator_is_answered_with_the_method_that_saves_it(tmp_path: Path) -> None:
    model = build_transformer(9, 9, 5, 5, d_model=12, N=1, h=3, d_ff=8)
    with pytest.raises(UserError, match="save a translator with its own method save_pretrained"):
        save_pretrained(model, tmp_path)
