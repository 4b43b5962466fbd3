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
    weights: dict[str, Tensor] = {}
    formulas: dict[str, Tensor] = {}
    missing, misshaped = [], []
    left = dict(tensors)
    for row in table.entries(own):
        wanted = row.form.together([own[name] for name in row.ours])
        names = table.found_under(row, tensors)
        for name in names:
            left.pop(name, None)
        if names:
            given = _only(tensors, names, origin)
            if given.shape == wanted.shape:
                known = formulas if row.formula else weights
                known.update(zip(row.ours, _apart(row, given), strict=True))
            else:
                misshaped.append(f"{names[0]} {_shape(given)} where {_shape(wanted)} fits")
        elif not row.formula:
            missing.append(f"{row.theirs} {_shape(wanted)}")
    carried = {name: tensor for name, tensor in left.items() if table.is_carried(name)}
    extra = [
        f"{name} {_shape(tensor)}"
        for name, tensor in left.items()
        if name not in carried and not table.is_dropped(name)
    ]
    _refuse(missing, extra, misshaped, origin)
    return Fitted(weights, formulas, carried)


def _apart(row: Row, given: Tensor) -> list[Tensor]:
    parts = row.form.apart(given, len(row.ours))
    return [part.clone(memory_format=torch.contiguous_format) for part in parts]


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


def _refuse(missing: list[str], extra: list[str], misshaped: list[str], origin: str) -> None:
    faults = {"missing": missing, "unexpected": extra, "of another shape": misshaped}
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
