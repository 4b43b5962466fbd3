"""Conversion of pickled weights to safetensors.

A pickle is a program; `weights_only` restricts it to tensors and plain containers. Only `clearhead
convert` calls this module, since its user has chosen a pickle explicitly.
"""

import re
import shutil
from pathlib import Path

import torch
from torch import Tensor

from clearhead.errors import UserError
from clearhead.pretrained import files
from clearhead.pretrained.loading import family_of, model_of
from clearhead.pretrained.saving import save_pretrained
from clearhead.text.model_files import read_json

BESIDE = ("generation_config.json", *files.TOKENIZER, *files.SENTENCES)


def convert(source: str | Path, output: Path) -> int:
    """Convert a model with pickled weights to safetensors; returns the number of tensors.

    Values and dtypes do not change; the files of the tokenizer and of the pooling
    are copied.

    Raises:
        UserError: there is no pickle, it contains more than tensors, or they do not fit.
    """
    directory = files.directory_of(source, (*files.FILES, "pytorch_model*.bin", files.PICKLED[1]))
    raw = read_json(directory / files.CONFIG)
    family = family_of(raw, str(directory / files.CONFIG))
    tensors = read_pickled(directory)
    model = model_of(family, raw, tensors, str(directory), dtype=None)
    save_pretrained(model, output)
    for beside in (path for pattern in BESIDE for path in directory.glob(pattern)):
        target = output / beside.relative_to(directory)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(beside, target)
    return len(tensors)


def read_pickled(directory: Path) -> dict[str, Tensor]:
    """All tensors of pytorch_model.bin, or of the files that its index names."""
    single, index = (directory / name for name in files.PICKLED)
    if not single.exists() and not index.exists():
        raise UserError(
            f"{directory} holds no {single.name}; what is there as safetensors needs no conversion"
        )
    names = [single.name] if single.exists() else sorted(set(files.parts_of(index).values()))
    return {name: t for part in names for name, t in _read(directory / part).items()}


def _read(path: Path) -> dict[str, Tensor]:
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; copy the model again") from error
    except Exception as error:  # damaged or malicious files raise many types
        named = re.search(r"GLOBAL (\S+)", str(error))  # torch's own text advises to run the code
        reason = f"names {named[1]}, which may run code" if named else "is damaged"
        raise UserError(
            f"{path} {reason}; nothing was run or written: get the model as safetensors"
        ) from error
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in tensors.items()
    ):
        raise UserError(f"{path} holds no tensors by name; it is not a model's weights")
    return dict(tensors)
