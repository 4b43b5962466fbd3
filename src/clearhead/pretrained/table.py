"""A table of names: what the tensors of a model are called in its files, and here."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Form(NamedTuple):
    """How one tensor of theirs holds our tensors. Numbers change their places, never their values.

    `apart` takes theirs and how many ours are; `together` is its inverse.
    """

    apart: Callable[[Tensor, int], Iterable[Tensor]]
    together: Callable[[list[Tensor]], Tensor]


AS_IT_IS = Form(lambda theirs, n: [theirs], lambda ours: ours[0])
# Several of ours, one under the other.
STACKED = Form(lambda theirs, n: theirs.chunk(n), torch.cat)
# GPT-2's "Conv1D": a matrix (in, out) where `nn.Linear` has (out, in), several side by side.
TRANSPOSED = Form(lambda theirs, n: theirs.t().chunk(n), lambda ours: torch.cat(ours).t())
# (1, n) where we have (n,)
ONE_ROW = Form(lambda theirs, n: [theirs[0]], lambda ours: ours[0].unsqueeze(0))
# (m, n) where we have (1, m, n)
ONE_BATCH = Form(lambda theirs, n: [theirs.unsqueeze(0)], lambda ours: ours[0][0])


@dataclass(frozen=True)
class Row:
    """One tensor of theirs and the one or more of ours that it holds; {n} is a layer's number.

    `also` are further names of it: of older files, and of copies that are tied to it.
    A `formula` is a tensor that may be missing, for we can compute it; if it is there it is
    used as it stands.
    """

    theirs: str
    ours: tuple[str, ...]
    form: Form = AS_IT_IS
    also: tuple[str, ...] = ()
    formula: bool = False

    def entries(self, own: Iterable[str]) -> Iterator["Row"]:
        """This row for every layer that a model with these names has."""
        if "{n}" not in self.ours[0]:
            if self.ours[0] in own:
                yield self
            return
        pattern = re.compile(re.escape(self.ours[0]).replace(r"\{n\}", r"(\d+)"))
        for name in own:
            if found := pattern.fullmatch(name):
                yield self.of_layer(found[1])

    def of_layer(self, number: str) -> "Row":
        """With the number in place of {n}."""
        theirs, *also = (name.replace("{n}", number) for name in (self.theirs, *self.also))
        ours = tuple(name.replace("{n}", number) for name in self.ours)
        return Row(theirs, ours, self.form, tuple(also), self.formula)


def tensor(theirs: str, ours: str, also: tuple[str, ...] = ()) -> Row:
    """A single tensor."""
    return Row(theirs, (ours,), also=also)


def linear(theirs: str, ours: str) -> tuple[Row, Row]:
    """A weight and a bias, called so on both sides."""
    return tensor(f"{theirs}.weight", f"{ours}.weight"), tensor(f"{theirs}.bias", f"{ours}.bias")


def norm(theirs: str, ours: str) -> tuple[Row, Row]:
    """A norm: weight and bias (gamma and beta in the oldest files) are our alpha and bias."""
    return (
        tensor(f"{theirs}.weight", f"{ours}.alpha", also=(f"{theirs}.gamma",)),
        tensor(f"{theirs}.bias", f"{ours}.bias", also=(f"{theirs}.beta",)),
    )


def linears(pairs: dict[str, str]) -> tuple[Row, ...]:
    """Many of `linear`."""
    return tuple(row for theirs, ours in pairs.items() for row in linear(theirs, ours))


def norms(pairs: dict[str, str]) -> tuple[Row, ...]:
    """Many of `norm`."""
    return tuple(row for theirs, ours in pairs.items() for row in norm(theirs, ours))


@dataclass(frozen=True)
class Table:
    """All rows of a family.

    `prefix` stands before the names of the bare model inside a model with heads, and may be
    left out. `carried` are tensors that we compute nothing with, kept and written back as they
    are; `dropped` are tensors that are no weights: counters and masks. {n} matches any number.
    """

    prefix: str
    rows: tuple[Row, ...]
    carried: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def entries(self, own: Iterable[str]) -> list[Row]:
        """The rows, layer by layer, of a model that has these names."""
        names = list(own)
        return [entry for row in self.rows for entry in row.entries(names)]

    def found_under(self, row: Row, names: Iterable[str]) -> list[str]:
        """Which of a file's names mean this row, with or without the prefix; the first counts."""
        names = list(names) if any("{n}" in name for name in row.also) else names
        found: dict[str, None] = {}
        for name in (row.theirs, *row.also):
            for spelled in (name, name.removeprefix(self.prefix)):
                found.update(dict.fromkeys(matching(spelled, names)))
        return list(found)

    def is_carried(self, name: str) -> bool:
        """Whether a tensor that has no row is kept."""
        return self._is_listed(name, self.carried)

    def is_dropped(self, name: str) -> bool:
        """Whether a tensor that has no row is none."""
        return self._is_listed(name, self.dropped)

    def _is_listed(self, name: str, patterns: Iterable[str]) -> bool:
        return any(
            matching(spelled, [name])
            for pattern in patterns
            for spelled in (pattern, pattern.removeprefix(self.prefix))
        )


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that a pattern means: itself, or, with {n}, one for every number."""
    if "{n}" not in pattern:
        return [pattern] if pattern in names else []
    compiled = re.compile(re.escape(pattern).replace(r"\{n\}", r"\d+"))
    return [name for name in names if compiled.fullmatch(name)]
