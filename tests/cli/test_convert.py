"""`clearhead convert`: the same weights as safetensors; what is more than weights is not run."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file

from clearhead.cli.main import run
from clearhead.pipelines.embedding import SentenceSettings
from clearhead.pretrained import load

Run = Callable[..., tuple[int, str, str]]
SIZES = {"d_model": 12, "encoder_layers": 1, "decoder_layers": 1, "vocab_size": 40,
         "encoder_attention_heads": 3, "decoder_attention_heads": 3, "encoder_ffn_dim": 20,
         "decoder_ffn_dim": 20, "pad_token_id": 39, "decoder_start_token_id": 39,
         "max_position_embeddings": 16}  # fmt: skip


class Trap:
    """A pickle that would make a directory if anybody ran it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call() -> tuple[int, str, str]:
        code = run(["convert", str(tmp_path / "old"), "--output", str(tmp_path / "new")])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A BERT as models were shared before safetensors."""
    config = transformers.BertConfig(
        vocab_size=20, hidden_size=12, num_hidden_layers=1, num_attention_heads=3,
        intermediate_size=28, max_position_embeddings=16,
    )  # fmt: skip
    model = transformers.BertForMaskedLM(config)
    config.architectures = ["BertForMaskedLM"]
    config.save_pretrained(tmp_path / "old")
    torch.save(model.state_dict(), tmp_path / "old" / "pytorch_model.bin")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(str, range(15))]
    (tmp_path / "old" / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    return tmp_path / "old"


@pytest.mark.parametrize("zipped", [True, False])
def test_weights_and_tokenizer_are_the_same(call: Run, old: Path, zipped: bool) -> None:
    path = old / "pytorch_model.bin"
    before = torch.load(path, weights_only=True)
    torch.save(before, path, _use_new_zipfile_serialization=zipped)
    code, out, err = call()
    assert (code, err) == (0, "") and f"{len(before)} tensors" in out
    new = old.parent / "new"
    held = load_file(new / "model.safetensors")
    assert all(torch.equal(tensor, before[name]) for name, tensor in held.items())
    theirs = transformers.BertForMaskedLM.from_pretrained(new)
    assert all(torch.equal(before[name], t) for name, t in theirs.state_dict().items())
    assert load(new)[1].encode("7") == [2, 12, 3]


def test_a_marian_as_it_was_first_shared(call: Run, tmp_path: Path) -> None:
    """In float16, with three copies of one table and with the sinusoids."""
    config = transformers.MarianConfig(**SIZES)
    model = transformers.MarianMTModel(config).half()
    config.architectures = ["MarianMTModel"]
    config.save_pretrained(tmp_path / "old")
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert "model.encoder.embed_positions.weight" in state
    torch.save(state, tmp_path / "old" / "pytorch_model.bin")
    code, _, err = call()
    assert (code, err) == (0, "")
    theirs = transformers.MarianMTModel.from_pretrained(tmp_path / "new", dtype=torch.float16)
    assert all(torch.equal(state[name], t) for name, t in theirs.state_dict().items())


def refused(call: Run) -> str:
    code, out, err = call()
    assert code == 2 and out == "" and err.count("\n") == 1
    return err


def test_a_program_in_the_pickle_is_not_run(call: Run, old: Path, tmp_path: Path) -> None:
    torch.save({"a": Trap(tmp_path / "sprung")}, old / "pytorch_model.bin")
    err = refused(call)
    assert f"names {os.mkdir.__module__}.mkdir, which may run code; nothing was run" in err
    assert "weights_only" not in err  # torch's text advises to load it nevertheless
    assert not (tmp_path / "sprung").exists() and not (tmp_path / "new").exists()


def test_a_pickle_cut_short_is_said_to_be(call: Run, old: Path, tmp_path: Path) -> None:
    path = old / "pytorch_model.bin"
    for size in (900, 0):
        path.write_bytes(path.read_bytes()[:size])
        assert "is damaged; nothing was run" in refused(call)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("content", [[torch.ones(2)], {"model": {"a": torch.ones(2)}}])
def test_what_is_no_table_of_tensors_is_refused(call: Run, old: Path, content: object) -> None:
    torch.save(content, old / "pytorch_model.bin")
    assert "no tensors by name" in refused(call)


def test_a_model_that_does_not_fit_is_refused(call: Run, old: Path, tmp_path: Path) -> None:
    torch.save({"bert.x": torch.ones(2)}, old / "pytorch_model.bin")
    assert "unexpected: bert.x (2,)" in refused(call)
    assert not (tmp_path / "new").exists()


def test_a_directory_without_a_pickle_is_told_so(call: Run, old: Path) -> None:
    (old / "pytorch_model.bin").unlink()
    assert "needs no conversion" in refused(call)


def test_nothing_is_written_over(call: Run, old: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "precious").touch()
    assert "is not empty" in refused(call)


def test_the_pooling_is_the_same(call: Run, old: Path) -> None:
    modules = [
        {"idx": n, "type": f"sentence_transformers.models.{kind}", "path": f"{n}_{kind}"}
        for n, kind in enumerate(("Transformer", "Pooling"))
    ]
    (old / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (old / "1_Pooling").mkdir()
    pooling = json.dumps({"pooling_mode": "cls"})
    (old / "1_Pooling" / "config.json").write_text(pooling, encoding="utf-8")
    assert call()[0] == 0
    assert SentenceSettings.of(old.parent / "new").pooling == "cls"
