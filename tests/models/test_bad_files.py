"""Foreign, broken and ill-fitting weight files: one line that names the file and the fault."""

import gzip
import io
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from clearhead.decoding import NativeEngine
from clearhead.errors import UserError
from clearhead.models import Transformer, TransformerConfig

WEIGHT = "encoder.layers.0.feed_forward_block.linear_1.weight"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    config = TransformerConfig(20, 20, 9, 8, 12, 1, 1, h=3, d_ff=7, tie_embeddings=True)
    Transformer.from_config(config).save_pretrained(tmp_path)
    return tmp_path


def refused(directory: Path, name: str = "model.safetensors") -> str:
    with pytest.raises(UserError) as caught:
        Transformer.from_pretrained(directory)
    message = str(caught.value)
    assert "\n" not in message and name in message
    return message


class Trap:
    """A pickle that would write a file if anybody opened it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_refused_by_name_and_never_opened(directory: Path, protocol: int) -> None:
    trap = directory / "sprung"
    (directory / "model.safetensors").write_bytes(pickle.dumps(Trap(trap), protocol))
    message = refused(directory)
    assert "a Python pickle" in message and "expected safetensors" in message
    assert not trap.exists()


def zipped() -> bytes:
    buffer = io.BytesIO()
    torch.save({"a": torch.zeros(2)}, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "what"),
    [(zipped(), "a zip file, as torch.save writes it"), (LFS, "a Git LFS pointer"),
     (gzip.compress(b"x"), "a gzip archive")],
    ids=["torch.save", "LFS pointer", "gzip"],
)  # fmt: skip
def test_a_foreign_file_is_named_for_what_it_is(directory: Path, content: bytes, what: str) -> None:
    (directory / "model.safetensors").write_bytes(content)
    assert what in refused(directory)


@pytest.mark.parametrize("length", [0x10280, 0x10380, 0x10480, 0x10580])
def test_weights_whose_first_bytes_are_those_of_a_pickle_load(directory: Path, length: int) -> None:
    path = directory / "model.safetensors"
    tensors = load_file(path)
    save_file(tensors, path)
    content = path.read_bytes()
    body = 8 + int.from_bytes(content[:8], "little")
    path.write_bytes(length.to_bytes(8, "little") + content[8:body].ljust(length) + content[body:])
    assert path.read_bytes()[:2] in (b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5")
    loaded = Transformer.from_pretrained(directory).state_dict()
    assert all(loaded[name].equal(tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 20, 400, 0.5, 0.999])
def test_a_file_cut_short_is_said_to_be(directory: Path, keep: float) -> None:
    path = directory / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    assert "not a whole safetensors file" in refused(directory)


@pytest.mark.parametrize("junk", [b"hello", b"\x00" * 100, b"\xff" * 100, b"<html>404</html>" * 9])
def test_junk_is_said_to_be_no_safetensors(directory: Path, junk: bytes) -> None:
    (directory / "model.safetensors").write_bytes(junk)
    assert "not a whole safetensors file" in refused(directory)


def test_a_missing_file_says_what_a_model_directory_holds(directory: Path) -> None:
    (directory / "model.safetensors").unlink()
    assert "No such file" in refused(directory)


def test_a_file_offered_as_a_directory_is_named_for_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(zipped())
    message = refused(path, "model.pt")
    assert "a zip file" in message and "expected a model directory" in message


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "nowhere", "nowhere")


def rewrite(directory: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    tensors = load_file(directory / "model.safetensors")
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    change(tensors)
    save_file(tensors, directory / "model.safetensors")


def test_a_missing_tensor_is_named(directory: Path) -> None:
    rewrite(directory, lambda tensors: tensors.pop(WEIGHT))
    assert f"missing {WEIGHT}, unexpected none" in refused(directory)


def test_an_extra_tensor_is_named(directory: Path) -> None:
    rewrite(directory, lambda tensors: tensors.update(lm_head=torch.zeros(1)))
    assert "missing none, unexpected lm_head" in refused(directory)


def test_many_ill_fitting_tensors_are_counted(directory: Path) -> None:
    count = len(load_file(directory / "model.safetensors"))
    rewrite(directory, lambda tensors: tensors.clear())
    assert f"and {count - 3} more, unexpected none" in refused(directory)


def test_a_mis_shaped_tensor_is_named_with_both_shapes(directory: Path) -> None:
    rewrite(directory, lambda tensors: tensors.update({WEIGHT: torch.zeros(12, 7)}))
    message = refused(directory)
    assert WEIGHT in message and "(12, 7)" in message and "(7, 12)" in message


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bool])
def test_integers_are_no_weights(dtype: torch.dtype, directory: Path) -> None:
    rewrite(directory, lambda tensors: tensors.update({WEIGHT: torch.ones(7, 12, dtype=dtype)}))
    kind = str(dtype).removeprefix("torch.")
    for load in (Transformer.from_pretrained, NativeEngine.from_directory):
        with pytest.raises(UserError, match=f"{WEIGHT} has values of type {kind}; expected float"):
            load(directory)


def test_weights_of_another_size_are_refused(directory: Path) -> None:
    path = directory / "config.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"d_ff": 7', '"d_ff": 8'), encoding="utf-8")
    assert "the two files belong to different models" in refused(directory)


def test_a_refused_file_is_left_as_it_was(directory: Path) -> None:
    (directory / "model.safetensors").write_bytes(LFS)
    refused(directory)
    assert (directory / "model.safetensors").read_bytes() == LFS
