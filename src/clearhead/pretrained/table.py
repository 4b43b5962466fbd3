"""Tables of names: the tensors of a model in its files, and in our code."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Form(NamedTuple):
    """How one of their tensors contains ours; elements are moved, never changed.

    `apart` takes their tensor and the number of ours; `together` is its inverse.
    """

    apart: Callable[[Tensor, int], Iterable[Tensor]]
    together: Callable[[list[Tensor]], Tensor]


AS_IT_IS = Form(lambda theirs, n: [theirs], lambda ours: ours[0])
# Several of ours, concatenated along the first axis.
STACKED = Form(lambda theirs, n: theirs.chunk(n), torch.cat)
# GPT-2's "Conv1D": a matrix (in, out) where `nn.Linear` has (out, in), several concatenated.
TRANSPOSED = Form(lambda theirs, n: theirs.t().chunk(n), lambda ours: torch.cat(ours).t())
# (1, n) where we have (n,)
ONE_ROW = Form(lambda theirs, n: [theirs[0]], lambda ours: ours[0].unsqueeze(0))
# (m, n) where we have (1, m, n)
ONE_BATCH = Form(lambda theirs, n: [theirs.unsqueeze(0)], lambda ours: ours[0][0])


@dataclass(frozen=True)
class Row:
    """One of their tensors and those of ours that it contains; {n} is the number of a layer.

    `also` are other names: of older files, and of copies that are tied to it. A `formula` may be
    missing, since it can be computed; if present, it is used.
    """

    theirs: str
    ours: tuple[str, ...]
    form: Form = AS_IT_IS
    also: tuple[str, ...] = ()
    formula: bool = False

    def entries(self, own: Iterable[str]) -> Iterator["Row"]:
        """This row for every layer of a model with these names."""
        if "{n}" not in self.ours[0]:
            if self.ours[0] in own:
                yield self
            return
        pattern = re.compile(re.escape(self.ours[0]).replace(r"\{n\}", r"(\d+)"))
        for name in own:
            if found := pattern.fullmatch(name):
                yield self.of_layer(found[1])

    def of_layer(self, number: str) -> "Row":
        """With {n} replaced."""
        theirs, *also = (name.replace("{n}", number) for name in (self.theirs, *self.also))
        ours = tuple(name.replace("{n}", number) for name in self.ours)
        return Row(theirs, ours, self.form, tuple(also), self.formula)


def tensor(theirs: str, ours: str, also: tuple[str, ...] = ()) -> Row:
    """A single tensor."""
    return Row(theirs, (ours,), also=also)


def linears(pairs: dict[str, str]) -> tuple[Row, ...]:
    """A weight and a bias for each pair of names."""
    return tuple(
        tensor(f"{theirs}.{kind}", f"{ours}.{kind}")
        for theirs, ours in pairs.items()
        for kind in ("weight", "bias")
    )


def norms(pairs: dict[str, str]) -> tuple[Row, ...]:
    """Their weight and bias (gamma and beta in the oldest files) are our alpha and bias."""
    return tuple(
        tensor(f"{theirs}.{name}", f"{ours}.{own}", also=(f"{theirs}.{oldest}",))
        for theirs, ours in pairs.items()
        for name, own, oldest in (("weight", "alpha", "gamma"), ("bias", "bias", "beta"))
    )


@dataclass(frozen=True)
class Table:
    """All rows of a family.

    `prefix` precedes the names of the stack in a model with heads, and may be omitted. `carried`
    are tensors that we do not use but save again unchanged; `dropped` are not weights: counters
    and masks. {n} matches any number.
    """

    prefix: str
    rows: tuple[Row, ...]
    carried: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def entries(self, own: Iterable[str]) -> list[Row]:
        """The rows of a model with these names, one for each layer."""
        names = list(own)
        return [entry for row in self.rows for entry in row.entries(names)]

    def found_under(self, row: Row, names: Iterable[str]) -> list[str]:
        """The names in a file that belong to this row, with or without the prefix."""
        names = list(names) if any("{n}" in name for name in row.also) else names
        found: dict[str, None] = {}
        for name in (row.theirs, *row.also):
            for spelled in (name, name.removeprefix(self.prefix)):
                found.update(dict.fromkeys(matching(spelled, names)))
        return list(found)

    def lists(self, name: str, patterns: Iterable[str]) -> bool:
        """Whether a tensor without a row is among these, `carried` or `dropped`."""
        return any(
            matching(spelled, [name])
            for pattern in patterns
            for spelled in (pattern, pattern.removeprefix(self.prefix))
        )


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that match a pattern, in which {n} is any number."""
    if "{n}" not in pattern:
        return [pattern] if pattern in names else []
    compiled = re.compile(re.escape(pattern).replace(r"\{n\}", r"\d+"))
    return [name for name in names if compiled.fullmatch(name)]
