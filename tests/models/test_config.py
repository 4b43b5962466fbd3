"""A configuration says what is wrong with it in one line, and is what it was after saving."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearhead.errors import UserError
from clearhead.models import PRESETS, TransformerConfig
from clearhead.models.config import FORMAT_VERSION

SIZES = dataclasses.asdict(TransformerConfig(20, 30))


def refused(values: dict[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        TransformerConfig.from_dict(values, "dir/config.json")
    message = str(caught.value)
    assert "\n" not in message and "dir/config.json" in message
    return message


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_comes_back_from_its_json(name: str, tmp_path: Path) -> None:
    config = TransformerConfig.preset(name, 300)
    (tmp_path / "config.json").write_text(config.to_json(), encoding="utf-8")
    assert TransformerConfig.load(tmp_path / "config.json") == config


def test_the_json_has_the_hugging_face_envelope() -> None:
    values = json.loads(TransformerConfig(20, 30).to_json())
    assert values["architectures"] == ["Transformer"]
    assert values["model_type"] == "clearhead-transformer"
    assert values["format_version"] == FORMAT_VERSION


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TransformerConfig(20, 30).d_model = 7  # type: ignore[misc]


def test_an_unknown_size_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'huge'; choose from tiny, small, base, big"):
        TransformerConfig.preset("huge", 300)


@pytest.mark.parametrize(
    ("key", "nearest"),
    [("d_modle", "d_model"), ("dropuot", "dropout"), ("encoder_layer", "encoder_layers")],
)
def test_an_unknown_key_is_refused_with_the_nearest_name(key: str, nearest: str) -> None:
    message = refused(SIZES | {key: 3})
    assert repr(key) in message and f"did you mean '{nearest}" in message


def test_an_unknown_key_without_a_likeness_lists_what_is_known() -> None:
    assert "known are src_vocab_size, tgt_vocab_size" in refused(SIZES | {"zzz": 1})


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("d_model", "512", "a whole number from 1 to"),
        ("d_model", 512.0, "a whole number from 1 to"),
        ("d_model", None, "a whole number from 1 to"),
        ("d_model", True, "a whole number from 1 to"),
        ("d_model", [512], "a whole number from 1 to"),
        ("d_model", 0, "a whole number from 1 to"),
        ("h", -8, "a whole number from 1 to"),
        ("h", 0, "a whole number from 1 to"),
        ("encoder_layers", 0, "a whole number from 1 to"),
        ("src_vocab_size", -1, "a whole number from 1 to"),
        ("src_seq_len", 0, "a whole number from 1 to"),
        ("pad_id", -1, "a whole number from 0 to"),
        ("dropout", float("nan"), "at least 0 and below 1"),
        ("dropout", 1.0, "at least 0 and below 1"),
        ("dropout", -0.1, "at least 0 and below 1"),
        ("dropout", "0.1", "at least 0 and below 1"),
        ("dropout", None, "at least 0 and below 1"),
        ("attention_dropout", 1.0, "at least 0 and below 1"),
        ("activation_dropout", "0", "at least 0 and below 1"),
        ("tie_embeddings", "yes", "true or false"),
        ("tie_embeddings", 1, "true or false"),
        ("norm", "sandwich", "'pre' or 'post'"),
        ("norm", 3, "'pre' or 'post'"),
    ],
)
def test_a_value_that_is_not_valid_is_named(key: str, value: object, expected: str) -> None:
    message = refused(SIZES | {key: value})
    assert f"{key}={value!r}" in message and expected in message


def test_the_heads_must_divide_the_width() -> None:
    assert "d_model=512 is not divisible by h=7" in refused(SIZES | {"h": 7})


def test_a_tied_table_needs_one_vocabulary() -> None:
    message = refused(SIZES | {"tie_embeddings": True})
    assert "src_vocab_size=20" in message and "tgt_vocab_size=30" in message


def test_the_signs_lie_in_the_vocabulary() -> None:
    assert "eos_id=20" in refused(SIZES | {"eos_id": 20})


@pytest.mark.parametrize("key", ["tgt_vocab_size", "h", "norm", "eos_id"])
def test_a_file_that_lacks_a_key_is_incomplete(key: str) -> None:
    assert f"lacks {key};" in refused({k: v for k, v in SIZES.items() if k != key})


def test_dropout_rates_of_their_own_may_be_missing() -> None:
    first = {k: v for k, v in SIZES.items() if not k.endswith("n_dropout")}
    assert len(first) == len(SIZES) - 2
    assert TransformerConfig.from_dict(first) == TransformerConfig(20, 30)


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, "2", None, 0])
def test_a_newer_format_asks_for_a_newer_clearhead(version: object) -> None:
    message = refused(SIZES | {"format_version": version})
    assert f"format_version {version!r}" in message and "upgrade clearhead" in message


def test_a_foreign_model_is_named() -> None:
    assert "'marian'" in refused({"model_type": "marian", "d_model": 512})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "is not a JSON file"),
        (b"", "is not a JSON file"),
        (b"\xff\xfe\x00", "is not a JSON file"),
        (b"[" * 100_000, "is not a JSON file"),
        (b"[1, 2]", "holds no JSON object"),
        (b"null", "holds no JSON object"),
    ],
)
def test_a_file_that_is_no_json_object_is_named(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        TransformerConfig.load(path)
    message = str(caught.value)
    assert str(path) in message and says in message and "\n" not in message


def test_a_missing_file_says_what_a_model_directory_holds(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json: No such file .* a model directory holds"):
        TransformerConfig.load(tmp_path / "config.json")


def test_padding_and_eos_are_two_tokens() -> None:
    """With one id for both, the loss would ignore every EOS token."""
    assert "pad_id=2, bos_id=1 and eos_id=2" in refused(SIZES | {"pad_id": 2})


def test_the_bos_token_is_one_of_the_target_and_the_others_of_both() -> None:
    """Only the decoder reads the BOS token."""
    vocabularies = {"src_vocab_size": 63, "tgt_vocab_size": 71}
    assert TransformerConfig(**vocabularies, bos_id=70).bos_id == 70
    for beyond in ({"bos_id": 71}, {"pad_id": 63}, {"eos_id": 63}):
        assert "below 63, the smaller vocabulary size (bos_id below 71" in refused(
            SIZES | vocabularies | beyond
        )


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    config = TransformerConfig(np.int64(20), np.int32(30), h=np.int8(4))  # type: ignore[arg-type]
    assert config == TransformerConfig(20, 30, h=4)
    assert TransformerConfig.from_dict(json.loads(config.to_json())) == config


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_rate_may_be_a_number_of_numpy(kind: type) -> None:
    config = TransformerConfig(20, 30, dropout=kind(0.25), attention_dropout=kind(0.5))
    assert config == TransformerConfig(20, 30, dropout=0.25, attention_dropout=0.5)
    assert type(config.dropout) is float
    assert TransformerConfig.from_dict(json.loads(config.to_json()), "config.json") == config
