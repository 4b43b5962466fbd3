"""Weights to and from `model.safetensors`; a pickle is never opened."""

from pathlib import Path

import safetensors
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.files import atomic_save, atomic_write

METADATA = {"format": "pt"}  # whose tensors these are, as `transformers` asks

# First bytes of files that people offer instead: zip (torch.save), pickle, tar.gz, LFS pointer.
_FOREIGN = {
    b"PK\x03\x04": "a zip file, as torch.save writes it",
    b"\x80\x02": "a Python pickle",
    b"\x80\x03": "a Python pickle",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"\x1f\x8b": "a gzip archive",
    b"version https://git-lfs": "a Git LFS pointer, not the weights themselves",
}


def save(model: nn.Module, config: str, directory: Path, dtype: torch.dtype | None) -> None:
    """Write model.safetensors and config.json; a shared matrix is stored once."""
    tensors = {
        name: storable(name, parameter, dtype)
        for name, parameter in model.named_parameters()  # names each shared tensor once
    }
    write_tensors(directory / "model.safetensors", tensors, METADATA)
    atomic_write(directory / "config.json", config)


def storable(name: str, tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """A weight as it goes into a file, in `dtype` if given.

    Raises:
        UserError: it is NaN or infinite.
    """
    stored = tensor.detach().to("cpu", dtype or tensor.dtype).contiguous()
    if not stored.isfinite().all():
        kind = str(stored.dtype).removeprefix("torch.")
        raise UserError(
            f"{name} holds NaN or infinity as {kind}; such a model is not saved: "
            "go back to an earlier checkpoint, or save as float32"
        )
    return stored


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """A safetensors file, written whole or not at all."""

    def write(temporary: Path) -> None:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except safetensors.SafetensorError as error:  # its name for a full disk
            raise OSError(str(error)) from error

    atomic_save(path, write)


def refuse_a_file(directory: Path) -> None:
    """Say what a file is that was offered as a model directory."""
    if directory.is_file():
        what = _foreign(directory) or "a file"
        raise UserError(
            f"{directory} is {what}; expected a model directory, which holds config.json, "
            "model.safetensors and tokenizer.json"
        )


def load_into(model: nn.Module, path: Path) -> None:
    """Copy the file's tensors into the model, in float32; every name and shape must agree.

    Raises:
        UserError: no such file, not safetensors, truncated, or tensors that do
            not belong to this model (named, with both shapes).
    """
    load_tensors(model, read_tensors(path), str(path))


def load_tensors(model: nn.Module, tensors: dict[str, Tensor], origin: str) -> None:
    """Copy named tensors into the model; `origin` says in errors where they come from."""
    parameters = dict(model.named_parameters())
    _check_names(parameters, tensors, origin)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, or one line that says what the file is instead."""
    if what := _foreign(path):
        raise UserError(
            f"{path} is {what}; expected safetensors (pickles can run code and are never "
            "loaded): convert it with safetensors.torch.save_file"
        )
    try:
        return load_file(path)
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path} is not a whole safetensors file ({error}); it may be cut short: copy it again"
        ) from error


def _foreign(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            head = file.read(32)
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}; a model directory holds config.json, "
            "model.safetensors and tokenizer.json"
        ) from error
    return next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None)


def _check_names(
    parameters: dict[str, nn.Parameter], tensors: dict[str, Tensor], origin: str
) -> None:
    missing = sorted(parameters.keys() - tensors.keys())
    extra = sorted(tensors.keys() - parameters.keys())
    if missing or extra:
        raise UserError(
            f"{origin} does not fit its config.json: missing {_some(missing)}, "
            f"unexpected {_some(extra)}; the two files are of different models"
        )
    for name, parameter in parameters.items():
        if parameter.shape != tensors[name].shape:
            raise UserError(
                f"{origin}: {name} has shape {tuple(tensors[name].shape)}, "
                f"config.json says {tuple(parameter.shape)}; the two files are of different models"
            )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more or "none"
