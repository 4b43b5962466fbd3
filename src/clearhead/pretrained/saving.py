"""From a model to a directory that `transformers` loads, with the same weights to the last bit."""

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from clearhead.files import atomic_write
from clearhead.models.weights import storable
from clearhead.pretrained.families import family_of_config
from clearhead.pretrained.family import Family
from clearhead.pretrained.files import CONFIG
from clearhead.pretrained.fitting import own_tensors
from clearhead.pretrained.sharding import bytes_of, write_weights


def save_pretrained(
    model: nn.Module,
    directory: str | Path,
    dtype: torch.dtype | None = None,
    max_shard_size: int | str | None = None,
) -> None:
    """Write config.json and model.safetensors, in `dtype` if given.

    With `max_shard_size`, bytes or "200MB", larger weights go into several files with an index.

    A model that was loaded keeps what its config.json said and the tensors that we compute
    nothing with. Its tokenizer saves itself.

    Raises:
        UserError: a weight is NaN or infinite, no architecture of theirs has these heads, the
            size of the parts is none, or the directory cannot be written.
    """
    most = None if max_shard_size is None else bytes_of(max_shard_size)
    family = family_of_config(model.config)
    origin = getattr(model, "origin", None)
    raw = family.write(model.config, origin and origin.config)
    tensors = theirs(family, model, raw) | dict(origin.carried if origin else {})
    kinds = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values()}
    tensors = {name: storable(name, tensor, dtype) for name, tensor in tensors.items()}
    if origin is None or dtype is not None:
        raw["dtype"] = str(dtype or sorted(kinds)[0]).removeprefix("torch.")
    directory = Path(directory)
    write_weights(directory, tensors, most)
    atomic_write(directory / CONFIG, json.dumps(raw, indent=2, ensure_ascii=False) + "\n")


def theirs(family: Family, model: nn.Module, raw: Mapping[str, object]) -> dict[str, Tensor]:
    """A model's tensors under their names; the bare class leaves the prefix out."""
    table, own = family.table(model.config), own_tensors(model)
    known = origin.formulas if (origin := getattr(model, "origin", None)) else ()
    prefix = table.prefix if family.architecture(raw) == family.bare else ""
    return {
        row.theirs.removeprefix(prefix): row.form.together([own[name] for name in row.ours])
        for row in table.entries(own)
        if not row.formula or row.ours[0] in known
    }
