"""Weights in several files, and names that stand for directories."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file

from clearhead.errors import UserError
from clearhead.models.weights import write_tensors
from clearhead.pretrained import from_pretrained, save_pretrained, saving
from clearhead.pretrained.files import FILES, directory_of

INDEX = "model.safetensors.index.json"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    config = transformers.GPT2Config(n_embd=24, n_layer=3, n_head=3, vocab_size=70, n_positions=20)
    config.bos_token_id = config.eos_token_id = 1
    model = transformers.GPT2LMHeadModel(config)
    model.save_pretrained(tmp_path / "parts", max_shard_size="20KB")
    model.save_pretrained(tmp_path / "whole")
    assert len(list((tmp_path / "parts").glob("model-*.safetensors"))) > 2
    return tmp_path / "parts"


def refused(source: str | Path) -> str:
    with pytest.raises(UserError) as caught:
        from_pretrained(source)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_several_files_equal_one_file(directory: Path) -> None:
    parts = from_pretrained(directory).state_dict()
    whole = from_pretrained(directory.parent / "whole").state_dict()
    assert parts.keys() == whole.keys()
    assert all(torch.equal(parts[name], whole[name]) for name in parts)


def test_a_missing_part_is_named(directory: Path) -> None:
    lost = sorted(directory.glob("model-*.safetensors"))[1]
    lost.unlink()
    assert lost.name in refused(directory)


def test_a_truncated_part_is_named(directory: Path) -> None:
    short = sorted(directory.glob("model-*.safetensors"))[1]
    short.write_bytes(short.read_bytes()[:-50])
    message = refused(directory)
    assert short.name in message and "not a whole safetensors file" in message


def test_an_index_with_additional_tensors_is_refused(directory: Path) -> None:
    path = directory / INDEX
    index = json.loads(path.read_text(encoding="utf-8"))
    index["weight_map"]["transformer.extra"] = sorted(set(index["weight_map"].values()))[0]
    path.write_text(json.dumps(index), encoding="utf-8")
    assert "names transformer.extra, but" in refused(directory)


@pytest.mark.parametrize("place", ["../whole/model.safetensors", 7])
def test_an_index_may_only_name_files_in_its_directory(directory: Path, place: object) -> None:
    index = {"weight_map": {"transformer.wte.weight": place}}
    (directory / INDEX).write_text(json.dumps(index), encoding="utf-8")
    assert "names no files in its directory" in refused(directory)


def test_a_single_file_replaces_several(directory: Path) -> None:
    save_pretrained(from_pretrained(directory), directory)
    held = load_file(directory / "model.safetensors")
    assert "transformer.h.2.mlp.c_fc.weight" in held
    from_pretrained(directory)


@pytest.mark.parametrize("size", [20_000, "20KB", "0.02 MB"])
def test_transformers_loads_our_shards_bit_identically(
    directory: Path, tmp_path: Path, size: int | str
) -> None:
    ours = tmp_path / "ours"
    save_pretrained(from_pretrained(directory), ours, max_shard_size=size)
    parts = sorted(ours.glob("model-*.safetensors"))
    assert len(parts) > 2 and not (ours / "model.safetensors").exists()
    assert all(path.stat().st_size < 22_000 or len(load_file(path)) == 1 for path in parts)
    first, second = (
        transformers.GPT2LMHeadModel.from_pretrained(path).state_dict()
        for path in (directory, ours)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)
    index = json.loads((ours / INDEX).read_text(encoding="utf-8"))
    assert index["metadata"]["total_size"] == sum(
        tensor.numel() * 4 for path in parts for tensor in load_file(path).values()
    )


def test_shards_of_an_earlier_save_are_removed(directory: Path) -> None:
    model = from_pretrained(directory)
    for size, several in (("20KB", True), (None, False), ("40KB", True), ("1GB", False)):
        save_pretrained(model, directory, max_shard_size=size)
        assert (directory / INDEX).exists() is several
        assert (directory / "model.safetensors").exists() is not several
        counts = {path.name.split("-of-")[1] for path in directory.glob("model-*-of-*")}
        assert len(counts) == several
        again = from_pretrained(directory).state_dict()
        assert all(torch.equal(tensor, again[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("size", ["5 apples", "", "-3MB", 0, "GB", 2.5])
def test_an_invalid_size_is_refused_before_writing(
    directory: Path, tmp_path: Path, size: int | str
) -> None:
    with pytest.raises(UserError, match="is not a size; give bytes, or for example '200MB'"):
        save_pretrained(from_pretrained(directory), tmp_path / "new", max_shard_size=size)
    assert not (tmp_path / "new").exists()


def test_without_a_network_the_error_names_the_required_files() -> None:
    message = refused("some-people/some-model")
    assert "there is no directory some-people/some-model" in message
    assert "place config.json, model.safetensors and the tokenizer's files" in message


@pytest.mark.parametrize("path", ["./nowhere/model", "a/b/c", "~/model", Path("some/model")])
def test_a_path_is_never_requested_from_the_hub(path: str | Path) -> None:
    assert "there is no directory" in refused(path) and "the hub" not in refused(path)


def test_a_cached_model_needs_no_network(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = tmp_path / "cache" / "models--some-people--some-model"
    (cached / "snapshots").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("a" * 40, encoding="utf-8")
    (directory.parent / "whole").rename(cached / "snapshots" / ("a" * 40))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    assert directory_of("some-people/some-model") == cached / "snapshots" / ("a" * 40)
    from_pretrained("some-people/some-model")


def test_without_the_package_of_the_hub_the_error_has_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", None)  # as if not installed
    message = refused("some-people/some-model")
    assert "pip install huggingface_hub" in message and "place config.json" in message


def test_no_pickle_is_downloaded() -> None:
    assert not [name for name in FILES if name.endswith((".bin", ".pt", ".pth", ".h5"))]


def test_a_save_that_fails_midway_leaves_the_earlier_model(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier, model = from_pretrained(directory), from_pretrained(directory)
    save_pretrained(earlier, directory, max_shard_size="20KB")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    calls = iter(range(99))

    def full(path: Path, *rest: Any) -> None:
        if next(calls) == 2:
            raise UserError("no space left")
        write_tensors(path, *rest)

    monkeypatch.setattr(saving, "write_tensors", full)
    before = sorted(path.name for path in directory.iterdir())
    with pytest.raises(UserError, match="no space left"):
        save_pretrained(model, directory, max_shard_size="20KB")
    assert sorted(path.name for path in directory.iterdir()) == before
    found = from_pretrained(directory).state_dict()
    assert all(torch.equal(found[name], t) for name, t in earlier.state_dict().items())
