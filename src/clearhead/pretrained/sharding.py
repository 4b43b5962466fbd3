"""Weights in several files, none larger than asked, and the index that says what is where."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.models.weights import METADATA, write_tensors
from clearhead.pretrained.files import INDEX, WEIGHTS

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(KB|MB|GB|KiB|MiB|GiB)", re.IGNORECASE)


def bytes_of(size: int | str) -> int:
    """5000000, "5MB" or "2GiB" as a number of bytes.

    Raises:
        UserError: it is none, or not above 0.
    """
    found = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    count = int(float(found[1]) * UNITS[found[2].upper()]) if found else size
    if not isinstance(count, int) or count < 1:
        raise UserError(f"max_shard_size={size!r} is no size; give bytes, or as '200MB' or '5GB'")
    return count


def parts_of(tensors: Mapping[str, Tensor], most: int) -> list[dict[str, Tensor]]:
    """The tensors in their order, in as few files as their order allows.

    A tensor that is larger than `most` has a file of its own.
    """
    parts: list[dict[str, Tensor]] = [{}]
    filled = 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        if parts[-1] and filled + size > most:
            parts.append({})
            filled = 0
        parts[-1][name] = tensor
        filled += size
    return parts


def write_weights(directory: Path, tensors: Mapping[str, Tensor], most: int | None) -> None:
    """One file, or several with an index; what another way of saving left there goes away."""
    parts = [dict(tensors)] if most is None else parts_of(tensors, most)
    names = [WEIGHTS]
    if len(parts) > 1:
        names = [f"model-{n:05}-of-{len(parts):05}.safetensors" for n in range(1, len(parts) + 1)]
    for name, part in zip(names, parts, strict=True):
        write_tensors(directory / name, part, METADATA)
    if len(parts) > 1:
        total = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        places = {key: name for name, part in zip(names, parts, strict=True) for key in part}
        index = {"metadata": {"total_size": total}, "weight_map": places}
        atomic_write(directory / INDEX, json.dumps(index, indent=2) + "\n")
    else:
        (directory / INDEX).unlink(missing_ok=True)
    for old in (directory / WEIGHTS, *directory.glob("model-*-of-*.safetensors")):
        if old.name not in names:
            old.unlink(missing_ok=True)
