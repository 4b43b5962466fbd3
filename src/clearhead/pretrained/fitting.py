"""A file's tensors against a model's: strict in names and shapes, in one line."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.pretrained.table import Row, Table


@dataclass(frozen=True)
class Fitted:
    """What a file holds for a model: weights and formulas under our names, the rest as it was."""

    weights: dict[str, Tensor]
    formulas: dict[str, Tensor]
    carried: dict[str, Tensor]


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer of a model; what is shared, once, under its first name."""
    return dict(model.named_parameters()) | dict(model.named_buffers())


def fit(table: Table, model: nn.Module, tensors: Mapping[str, Tensor], origin: str) -> Fitted:
    """Translate a file's tensors; nothing is copied yet.

    Raises:
        UserError: tensors are missing, unexpected or of another shape (all by name, with
            both shapes), or copies that the model ties together differ.
    """
    own = own_tensors(model)
    names = {row: table.found_under(row, tensors) for row in table.entries(own)}
    given = {row: _only(tensors, found, origin) for row, found in names.items() if found}
    wanted = {row: row.form.together([own[name] for name in row.ours]) for row in names}
    left = tensors.keys() - {name for found in names.values() for name in found}
    faults = {
        "missing": [
            f"{row.theirs} {_shape(tensor)}"
            for row, tensor in wanted.items()
            if row not in given and not row.formula
        ],
        "unexpected": [
            f"{name} {_shape(tensors[name])}"
            for name in sorted(left)
            if not table.is_carried(name) and not table.is_dropped(name)
        ],
        "of another shape": [
            f"{names[row][0]} {_shape(tensor)} where {_shape(wanted[row])} fits"
            for row, tensor in given.items()
            if tensor.shape != wanted[row].shape
        ],
    }
    _refuse(faults, origin)
    carried = {name: tensors[name] for name in sorted(left) if table.is_carried(name)}
    return Fitted(_apart(given, formula=False), _apart(given, formula=True), carried)


def _apart(given: Mapping[Row, Tensor], formula: bool) -> dict[str, Tensor]:
    """Under our names, each in memory of its own."""
    return {
        name: part.clone(memory_format=torch.contiguous_format)
        for row, tensor in given.items()
        if row.formula is formula
        for name, part in zip(row.ours, row.form.apart(tensor, len(row.ours)), strict=True)
    }


def _only(tensors: Mapping[str, Tensor], names: list[str], origin: str) -> Tensor:
    """The one tensor that several names mean."""
    first, *others = names
    for name in others:
        if not torch.equal(tensors[first], tensors[name]):
            raise UserError(
                f"{origin}: {first} and {name} differ, but this model has one matrix for both; "
                "the file is of a model that does not tie them"
            )
    return tensors[first]


def _refuse(faults: Mapping[str, list[str]], origin: str) -> None:
    told = [f"{fault}: {_some(names)}" for fault, names in faults.items() if names]
    if told:
        raise UserError(
            f"{origin} does not fit its config.json; {'; '.join(told)}; "
            "the two files are of different models"
        )


def _shape(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more
