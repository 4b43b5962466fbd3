"""Reading `model.safetensors` without torch, and its checksum; a pickle is never opened.

The checksum is in the metadata of the file's header: the CRC-32 of the whole file with eight zeros
instead of the checksum. So it is renamed, copied and replaced together with the weights, and other
readers of safetensors ignore it. A file without one is read without a check.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.numpy import load_file

from clearhead.errors import UserError, shell_command
from clearhead.files import BLOCK, verify_checksum

Tensors = TypeVar("Tensors")
# First bytes of other files: zip (torch.save), pickle, tar.gz, LFS pointer.
_FOREIGN = {
    b"PK\x03\x04": "a zip file, as torch.save writes it",
    **dict.fromkeys((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a Python pickle"),
    b"\x1f\x8b": "a gzip archive",
    b"version https://git-lfs": "a Git LFS pointer, not the weights themselves",
}
# Endings of pickled weights.
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
CTRANSLATE2 = "model.bin"  # with the same ending, but a format of its own
UNSET_CHECKSUM = {"crc32": "00000000"}  # metadata of a file that `seal_checksum` completes
NO_FLOATS = "has values of type {}; expected float32, float16 or bfloat16, without quantization"
_START = '{"__metadata__":'
_CHECKSUM = re.compile(rb'"crc32":"([0-9a-f]{8})"')
_LENGTH = 8  # bytes that hold the length of the header
SHIPPED = Path(__file__).parents[1] / "shipped" / "en_fr"  # the translator in the package


def means_shipped(name: str | Path) -> bool:
    """Whether the translator in the package is meant: `shipped`, unless such a path exists."""
    return str(name) == "shipped" and not Path(name).exists()


def named_directory(name: str) -> Path:
    """The directory of a model or run, or `shipped`."""
    return SHIPPED if means_shipped(name) else best_of_run(Path(name))


def best_of_run(directory: Path) -> Path:
    """A run's best checkpoint, or else its last; any other directory is returned as it is."""
    for candidate in (directory, directory / "best", directory / "last"):
        if (candidate / "config.json").is_file():
            return candidate
    return directory


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file as numpy arrays; bfloat16 becomes float32.

    Raises:
        UserError: there is no such file, or it is not a whole safetensors file.
    """
    return read_checked(path, _load_arrays)


def read_checked(path: Path, load: Callable[[Path], Tensors]) -> Tensors:
    """What `load` reads from a safetensors file, whose kind and checksums are verified.

    Raises:
        UserError: there is no such file, or it is not a whole safetensors file.
    """
    refuse_foreign(path)
    try:
        tensors = load(path)
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path} is not a whole safetensors file ({error}); it may be cut short: copy it again"
        ) from error
    check_checksum(path)
    verify_checksum(path)
    return tensors


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        return load_file(path)
    except TypeError:  # numpy has no bfloat16
        raw = safetensors.deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
        return {name: _array(tensor) for name, tensor in raw}


def _array(tensor: Mapping[str, Any]) -> NDArray[Any]:
    """bfloat16 is the upper half of float32."""
    if tensor["dtype"] != "BF16":
        kind = {"F16": np.float16, "F32": np.float32, "F64": np.float64}.get(tensor["dtype"])
        if kind is None:
            raise ValueError(f"its elements are of type {tensor['dtype']}, expected floats")
        return np.frombuffer(tensor["data"], kind).reshape(tensor["shape"])
    bits = np.frombuffer(tensor["data"], np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32).reshape(tensor["shape"])


def refuse_foreign(path: Path) -> None:
    """Refuse a file that cannot be read or is of a kind that is never loaded, and name that."""
    if what := foreign(path):
        raise UserError(
            f"{path} is {what}; expected safetensors (pickles can run code and are never "
            "loaded): convert it with safetensors.torch.save_file"
        )


def refuse_pickles(directory: Path) -> None:
    """Say of a directory without safetensors that its weights are pickled, if they are.

    Raises:
        UserError: with how to convert them.
    """
    try:
        names = sorted(path.name for path in directory.iterdir())
    except OSError:
        return
    pickles = [name for name in names if name.endswith(PICKLES)]
    if not pickles or any(name.endswith(".safetensors") for name in names):
        return
    if pickles == [CTRANSLATE2] and not foreign(directory / CTRANSLATE2):
        raise UserError(
            f"{directory} holds a model for CTranslate2 ({CTRANSLATE2}), which is not read here; "
            "give the directory that was exported"
        )
    remedy = "write its tensors with safetensors.torch.save_file"
    if pickles[0].startswith("pytorch_model"):
        source = shell_command(directory)
        remedy = f"`clearhead convert {source} --output NEW_DIRECTORY` reads tensors alone"
    raise UserError(
        f"{directory} has its weights in a Python pickle ({pickles[0]}), which can run code and is "
        f"never loaded; expected safetensors: {remedy}"
    )


def foreign(path: Path) -> str | None:
    """What kind of other file this is, by its first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(32)
    except OSError as error:
        refuse_pickles(path.parent)
        raise UserError(
            f"cannot read {path}: {error.strerror}; a model directory holds config.json, "
            "model.safetensors and tokenizer.json"
        ) from error
    if head[_LENGTH : _LENGTH + 1] == b"{":  # safetensors; its length may begin as a pickle does
        return None
    return next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None)


def seal_checksum(path: Path) -> None:
    """Write the checksum into a file with `UNSET_CHECKSUM`; equal tensors give equal files."""
    with path.open("r+b") as file:
        header = _in_fixed_order(_header(file))
        position = _find(header)
        assert position is not None
        file.seek(_LENGTH)
        file.write(header)
        file.seek(0)
        crc = _crc32(file, file.read(_LENGTH) + file.read(len(header)))
        file.seek(_LENGTH + position)
        file.write(b"%08x" % crc)


def check_checksum(path: Path) -> None:
    """Refuse a file that differs from its checksum, if it has one."""
    with path.open("rb") as file:
        header = _header(file)
        position = _find(header)
        if position is None:
            return
        expected = header[position : position + 8]
        zeros = header[:position] + UNSET_CHECKSUM["crc32"].encode() + header[position + 8 :]
        crc = _crc32(file, len(header).to_bytes(_LENGTH, "little") + zeros)
    if b"%08x" % crc != expected:
        raise UserError(
            f"{path} is damaged: its content does not match its checksum; restore it from a copy"
        )


def _header(file: IO[bytes]) -> bytes:
    return file.read(int.from_bytes(file.read(_LENGTH), "little"))


def _find(header: bytes) -> int | None:
    found = _CHECKSUM.search(header)
    return found.start(1) if found else None


def _in_fixed_order(header: bytes) -> bytes:
    """The library writes metadata in an order that differs from process to process."""
    text = header.decode("utf-8")
    metadata, end = json.JSONDecoder().raw_decode(text, len(_START))
    ordered = json.dumps(dict(sorted(metadata.items())), separators=(",", ":"), ensure_ascii=False)
    changed = (_START + ordered + text[end:]).encode("utf-8")
    return changed if len(changed) == len(header) else header


def _crc32(file: IO[bytes], beginning: bytes) -> int:
    """Of the beginning and of what the file holds after its header."""
    crc = zlib.crc32(beginning)
    while block := file.read(BLOCK):
        crc = zlib.crc32(block, crc)
    return crc
