"""Sizes that no machine can hold are refused in one line, before anything is allocated."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from clearhead.decoding import NativeEngine
from clearhead.errors import UserError
from clearhead.models import BertConfig, GptConfig, Transformer, TransformerConfig
from clearhead.models.bert import Bert
from clearhead.models.gpt import Gpt
from tests.translation.tiny import save

ABSURD: list[tuple[str, Any]] = [
    ("d_model", 12 * 10**8),
    ("src_seq_len", 1e30),
    ("src_seq_len", 10**30),
    ("tgt_seq_len", 2**31),
    ("d_ff", 2**63),
    ("d_ff", 2**31 - 1),
    ("encoder_layers", 10**7),
    ("decoder_layers", 1025),
    ("src_vocab_size", 10**18),
    ("h", 10**4000),
    ("pad_id", 2**31),
]


@pytest.mark.parametrize(("key", "value"), ABSURD)
def test_a_configuration_with_absurd_sizes_is_one_line_at_once(
    key: str, value: object, tmp_path: Path
) -> None:
    config = save(tmp_path) / "config.json"
    values = json.loads(config.read_text(encoding="utf-8")) | {key: value}
    if isinstance(value, int) and value > 10**3000:
        text = json.dumps(values | {key: 0}).replace(f'"{key}": 0', f'"{key}": 1{"0" * 5000}')
    else:
        text = json.dumps(values)
    config.write_text(text, encoding="utf-8")
    for load in (Transformer.from_pretrained, NativeEngine.from_directory):
        began = time.process_time()
        with pytest.raises(UserError) as caught:
            load(tmp_path)
        assert time.process_time() - began < 2
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_a_fresh_model_beyond_the_memory_is_refused() -> None:
    config = TransformerConfig(10**6, 10**6, d_model=2**20, h=2, tie_embeddings=True)
    with pytest.raises(UserError, match=r"takes .* GB in float32 and this machine has"):
        Transformer.from_config(config)


@pytest.mark.parametrize("sizes", [{"d_model": 2**24}, {"seq_len": 2**24}, {"labels": 2**31 - 1}])
def test_other_families_are_refused_alike(sizes: dict[str, int]) -> None:
    for build, config in ((Bert, BertConfig), (Gpt, GptConfig)):
        made: Any = config(vocab_size=10**6, **({"d_model": 2**16} | sizes))
        with pytest.raises(UserError, match="this machine has"):
            build(made)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "{", "\xff\xfe", "3"])
def test_what_is_no_json_object_is_one_line(content: str, tmp_path: Path) -> None:
    (save(tmp_path) / "config.json").write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match=r"config\.json") as caught:
        TransformerConfig.load(tmp_path / "config.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl"])
def test_a_directory_with_nothing_but_a_pickle_is_refused_because_it_is_one(
    name: str, tmp_path: Path
) -> None:
    save(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / name)
    for load in (Transformer.from_pretrained, NativeEngine.from_directory):
        with pytest.raises(UserError, match=r"in a Python pickle .* never loaded") as caught:
            load(tmp_path)
        assert "\n" not in str(caught.value) and name in str(caught.value)


def test_a_directory_for_ctranslate2_is_not_called_a_pickle(tmp_path: Path) -> None:
    save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.bin").write_bytes(b"\x06\x00\x00\x00\x0f\x00TransformerSpec")
    for load in (Transformer.from_pretrained, NativeEngine.from_directory):
        with pytest.raises(UserError, match="holds a model for CTranslate2") as caught:
            load(tmp_path)
        assert "pickle" not in str(caught.value) and "\n" not in str(caught.value)
