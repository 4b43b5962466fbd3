"""Saving of a model as a directory that `transformers` loads, in one or more weight files."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.files import (
    atomic_write,
    explained,
    forget_checksum,
    rename_over,
    temporary_name,
)
from clearhead.models.architecture import warn_of_difference
from clearhead.models.weights import METADATA, check_described, storable, write_tensors
from clearhead.pretrained.family import Family
from clearhead.pretrained.files import CONFIG, INDEX, WEIGHTS
from clearhead.pretrained.loading import family_of_config, own_tensors, without_row

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(KB|MB|GB|KiB|MiB|GiB)", re.IGNORECASE)


def save_pretrained(
    model: nn.Module,
    directory: str | Path,
    dtype: torch.dtype | None = None,
    max_shard_size: int | str | None = None,
) -> None:
    """Write config.json and model.safetensors, weights in `dtype` if given.

    With `max_shard_size`, bytes or "200MB", larger weights are split into several files with an
    index. A loaded model keeps the content of its config.json and the tensors that we do not use.
    The tokenizer is saved separately. A warning is logged if a part of the model computes something
    else than the files say, since what is loaded from them does not.

    Raises:
        UserError: a weight is NaN or infinite, the model is not what its `config` describes, say
            after `adapt`, no architecture of transformers has these heads, `dtype` or
            `max_shard_size` is invalid, or the directory cannot be written.
    """
    limit = None if max_shard_size is None else bytes_of(max_shard_size)
    family = family_of_config(model.config)
    described = check_described(model, lambda: family.build(model.config))
    origin = getattr(model, "origin", None)
    raw = family.write(model.config, origin and origin.config)
    tensors = theirs(family, model, raw) | dict(origin.carried if origin else {})
    _check_lossless(family, raw, tensors, model)
    dtypes = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values()}
    table = family.table(model.config)
    exact = [row.theirs for row in table.rows if row.formula]  # angles would lose precision
    tensors = {
        name: storable(name, tensor, None if table.lists(name, exact) else dtype)
        for name, tensor in tensors.items()
    }
    stored = raw.get("dtype", raw.get("torch_dtype"))
    if origin is None or dtype is not None or stored not in (None, *dtypes):
        raw["dtype"] = str(dtype or sorted(dtypes)[0]).removeprefix("torch.")
    directory = Path(directory)
    write_weights(directory, tensors, limit)
    atomic_write(directory / CONFIG, json.dumps(raw, indent=2, ensure_ascii=False) + "\n")
    warn_of_difference(model, described, "put the part into the model that you load from there")


def _check_lossless(
    family: Family, raw: Mapping[str, Any], tensors: Mapping[str, Tensor], model: Any
) -> None:
    """Refuse a setting that config.json cannot express, and weights that have no name there."""
    read = family.read(raw, lambda mark: any(name.endswith(mark) for name in tensors))
    for name in model.config.__dataclass_fields__:
        own, other = getattr(model.config, name), getattr(read, name)
        if name == "heads":
            own, other = set(own), set(other)
        # Sinusoids may have more positions: the longer side's.
        if own not in (None, other) and not name.endswith("seq_len"):
            raise UserError(
                f"the config.json of a {family.model_type} model cannot express {name}={own!r}; it "
                f"would be read as {other!r}, so create the model with that"
            )
    if lost := without_row(family.table(model.config), model):
        raise UserError(
            f"the files of a {family.model_type} model have no place for {lost[0]}; give the model "
            f"the heads of one of {family.architectures}"
        )


def theirs(family: Family, model: nn.Module, raw: Mapping[str, object]) -> dict[str, Tensor]:
    """A model's tensors under their names; the class without a head has no prefix."""
    table, own = family.table(model.config), own_tensors(model)
    known = origin.formulas if (origin := getattr(model, "origin", None)) else ()
    prefix = table.prefix if family.architecture(raw) == family.bare else ""
    return {
        row.theirs.removeprefix(prefix): row.form.together([own[name] for name in row.ours])
        for row in table.entries(own)
        if not row.formula or row.ours[0] in known
    }


def bytes_of(size: int | str) -> int:
    """5000000, "5MB" or "2GiB" in bytes.

    Raises:
        UserError: it is not a positive size.
    """
    found = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    count = int(float(found[1]) * UNITS[found[2].upper()]) if found else size
    if not isinstance(count, int) or count < 1:
        raise UserError(
            f"max_shard_size={size!r} is not a size; give bytes, or for example '200MB' or '5GB'"
        )
    return count


def shards_of(tensors: Mapping[str, Tensor], limit: int) -> list[dict[str, Tensor]]:
    """The tensors in their order, in as few shards as the order allows.

    A tensor that is larger than `limit` has a shard of its own.
    """
    shards: list[dict[str, Tensor]] = [{}]
    used = 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        if shards[-1] and used + size > limit:
            shards.append({})
            used = 0
        shards[-1][name] = tensor
        used += size
    return shards


def _write_all(shards: Mapping[Path, dict[str, Tensor]]) -> None:
    """Replace the files when all are written: shards of two models would load as one."""
    targets = [Path(os.path.realpath(path)) for path in shards]
    written = {target: temporary_name(target) for target in targets}
    try:
        for temporary, shard in zip(written.values(), shards.values(), strict=True):
            write_tensors(temporary, shard, METADATA)
        for target, temporary in written.items():
            with explained(target):
                forget_checksum(target)
                rename_over(temporary, target)
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def write_weights(directory: Path, tensors: Mapping[str, Tensor], limit: int | None) -> None:
    """One file, or several with an index; files of an earlier save are removed."""
    shards = [dict(tensors)] if limit is None else shards_of(tensors, limit)
    names = [WEIGHTS]
    if len(shards) > 1:
        names = [f"model-{n:05}-of-{len(shards):05}.safetensors" for n in range(1, len(shards) + 1)]
        _write_all({directory / n: shard for n, shard in zip(names, shards, strict=True)})
        total = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        files = {key: name for name, shard in zip(names, shards, strict=True) for key in shard}
        index = {"metadata": {"total_size": total}, "weight_map": files}
        atomic_write(directory / INDEX, json.dumps(index, indent=2) + "\n")
    else:
        write_tensors(directory / WEIGHTS, shards[0], METADATA)
        (directory / INDEX).unlink(missing_ok=True)
    for old in (directory / WEIGHTS, *directory.glob("model-*-of-*.safetensors")):
        if old.name not in names:
            old.unlink(missing_ok=True)
