"""From a directory or a name to a model that computes, or one line that says why not."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from clearhead.errors import UserError
from clearhead.pretrained.families import Pretrained, family_of
from clearhead.pretrained.family import Family
from clearhead.pretrained.files import CONFIG, read_json, read_weights
from clearhead.pretrained.fitting import fit, own_tensors
from clearhead.pretrained.hub import directory_of


@dataclass(frozen=True)
class Origin:
    """What a loaded model remembers of its files: what we do not use is written back as it was."""

    config: Mapping[str, Any]
    formulas: Collection[str]
    carried: Mapping[str, Tensor]


def from_pretrained(source: str | Path, dtype: torch.dtype | None = torch.float32) -> Pretrained:
    """A `Bert`, `Gpt`, `Esm` or `Marian` from a directory in the Hugging Face layout.

    `source` is the directory, or a name on the hub, which is fetched once and kept.
    Weights are given in `dtype`, or, where that is None, as they are stored. The model is
    in eval mode.

    Raises:
        UserError: no such directory, an architecture that we do not have, files that are
            missing, broken or of different models. Nothing is half-loaded.
    """
    directory = directory_of(source)
    raw = read_json(directory / CONFIG)
    family = family_of(raw, str(directory / CONFIG))
    return model_of(family, raw, read_weights(directory), str(directory), dtype)


def model_of(
    family: Family,
    raw: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    origin: str,
    dtype: torch.dtype | None,
) -> Pretrained:
    """A model of these tensors; see `from_pretrained`."""
    try:
        config = family.read(raw, lambda mark: any(name.endswith(mark) for name in tensors))
        with torch.random.fork_rng(devices=[]):  # what is drawn here is overwritten
            model = family.build(config)
    except UserError as error:
        raise UserError(f"{origin}: {error}") from error
    fitted = fit(family.table(config), model, tensors, origin)
    own = own_tensors(model)
    for name, tensor in fitted.weights.items():
        # Into what is there: a matrix that others share stays shared.
        own[name].data = tensor.to(dtype or tensor.dtype)
    for name, tensor in fitted.formulas.items():  # angles would suffer from fewer bits
        own[name].data = tensor if dtype is None else tensor.to(own[name].dtype)
    model.__dict__["origin"] = Origin(raw, set(fitted.formulas), fitted.carried)
    return cast(Pretrained, model.eval())
