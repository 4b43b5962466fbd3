"""Damage to weights is noticed, whoever reads them; files without a checksum are read."""

import random
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from clearhead.decoding import NativeEngine
from clearhead.errors import UserError
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.weight_files import read_arrays
from clearhead.models.weights import METADATA, read_tensors, write_tensors

PROGRESS = {"progress": '{"crc32":"ffffffff","note":"\\u00e9"}'}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    config = TransformerConfig(20, 20, 9, 8, 12, 1, 1, h=3, d_ff=7, tie_embeddings=True)
    Transformer.from_config(config).save_pretrained(tmp_path)
    return tmp_path / "model.safetensors"


def test_every_damaged_byte_is_noticed_by_every_reader(path: Path) -> None:
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    chosen = random.Random(1)
    positions = [*range(8), *chosen.sample(range(8, header), 60)]
    positions += chosen.sample(range(header, len(whole)), 60)
    missed = []
    for position in positions:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << chosen.randrange(8)
        path.write_bytes(damaged)
        for read in (
            read_tensors,
            read_arrays,
            lambda path: Transformer.from_pretrained(path.parent),
            lambda path: NativeEngine.from_directory(path.parent),
        ):
            try:
                read(path)
                missed.append(bytes(whole[position - 9 : position + 9]))
            except UserError as error:
                assert "\n" not in str(error)
    # A file without a checksum is read: all that goes unnoticed is damage to the word itself.
    assert all(b"crc32" in around or b"metadata" in around for around in missed)


def test_equal_tensors_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        write_tensors(tmp_path / name, {"x": torch.arange(5.0)}, METADATA | PROGRESS)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_other_metadata_stay_as_they_are(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", {"x": torch.arange(5.0)}, METADATA | PROGRESS)
    with safe_open(tmp_path / "a", "pt") as file:
        assert PROGRESS.items() <= file.metadata().items()
    assert torch.equal(read_tensors(tmp_path / "a")["x"], torch.arange(5.0))


def test_a_file_of_another_library_is_read_and_may_replace_ours(path: Path) -> None:
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    save_file(tensors, path)
    assert Transformer.from_pretrained(path.parent).config.d_ff == 7


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(poison: float, path: Path) -> None:
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    name = "encoder.layers.0.feed_forward_block.linear_1.bias"
    tensors[name][3] = poison
    save_file(tensors, path)
    for load in (Transformer.from_pretrained, NativeEngine.from_directory):
        with pytest.raises(UserError, match=f"{name} holds NaN or infinity") as caught:
            load(path.parent)
        assert "\n" not in str(caught.value)
