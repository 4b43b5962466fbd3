"""Copying the reference's weights into a learner's block, whatever its parameters are called.

The block may name its parameters differently, fuse several into one, keep one `Linear` for
each head, use plain matrices (`x @ W`) or have no biases.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, permutations, product

import torch
from torch import Tensor
from torch.nn import Parameter

from clearhead.learn.manifest import texts

State = Mapping[str, Tensor]
Parameters = Mapping[str, Parameter]
Shape = tuple[int, ...]
Shapes = dict[str, Shape]
# Reference names for one slot of the learner; several are concatenated (a fused projection).
Assignment = dict[str, tuple[str, ...]]

MOST_WAYS = 24  # four matrices of one shape, in every order
FIRST = "[:1]"  # marks a vector of the reference that the learner has as a single number


class Misfit(ValueError):
    """The learner's parameters cannot hold the reference's weights; the message names both."""


@dataclass(frozen=True)
class Way:
    """One way to fill a block: what each slot receives, and which parameters form a slot.

    A slot is a parameter, or one parameter of each head (`heads.0.q.weight`, `heads.1…`), which
    share the rows. With `transposed`, plain matrices receive the transposed weight.
    """

    parts: Assignment
    slots: dict[str, list[str]]
    transposed: bool = False

    def adapted(self, parameters: Parameters, state: State) -> set[str]:
        """What the reference must do without: missing biases, and vectors that are one number."""
        used = {name for names in self.parts.values() for name in names}
        single = {
            names[0] + FIRST
            for slot, names in self.parts.items()
            if sum(parameters[n].numel() for n in self.slots[slot]) < state[names[0]].numel()
        }
        return (set(state) - used) | single


def ways(parameters: Parameters, state: State) -> list[Way]:
    """Every way to fill a block's parameters from the state, the most likely first.

    Exact names leave one way; so do known synonyms (`query_proj` for `w_q`). Otherwise modules
    of one shape are tried in every order.

    Raises:
        Misfit: no order fits the shapes.
    """
    wanted = {name: tuple(t.shape) for name, t in state.items()}
    if all(n in parameters and parameters[n].shape == shape for n, shape in wanted.items()):
        return [Way({n: (n,) for n in wanted}, {n: [n] for n in wanted})]
    slots = _slots(parameters, wanted)
    plain = {n for n in slots if parameters[slots[n][0]].dim() == 2 and not n.endswith("weight")}
    found: list[Way] = []
    for transposed in (True, False) if plain else (False,):
        own = {n: _shape(parameters, slots[n]) for n in slots}
        own |= {n: own[n][::-1] for n in plain if transposed}
        found += [Way(parts, slots, transposed) for parts in _assignments(own, wanted)]
    if not found:
        own = {name: tuple(p.shape) for name, p in parameters.items()}
        raise Misfit(f"parameters: expected {_listing(wanted)}; found {_listing(own)}")
    return found


def fill(parameters: Parameters, state: State, way: Way) -> None:
    """Copy the weights as assigned."""
    with torch.no_grad():
        for slot, names in way.parts.items():
            value = torch.cat([state[name] for name in names])
            targets = [parameters[name] for name in way.slots[slot]]
            if way.transposed and targets[0].dim() == 2 and not slot.endswith("weight"):
                value = value.T
            if value.dim() == 1:
                value = value[: sum(p.numel() for p in targets)]
            for target, rows in zip(targets, value.chunk(len(targets)), strict=True):
                if target.dim() == 3 and target.shape[1] > target.shape[2]:  # (h, d_model, d_k)
                    rows = rows.unflatten(0, target.shape[::2]).mT
                target.copy_(rows.reshape(target.shape))


def _slots(parameters: Parameters, wanted: Shapes) -> dict[str, list[str]]:
    """Parameters under their own name; those of all heads together if that fits a shape."""
    groups: dict[str, list[str]] = {}
    for name in parameters:
        groups.setdefault(re.sub(r"\d+", "*", name), []).append(name)
    slots: dict[str, list[str]] = {}
    for pattern, names in groups.items():
        same = len({parameters[n].shape for n in names}) == 1
        if len(names) > 1 and same and _shape(parameters, names) in wanted.values():
            slots[pattern] = names
        else:
            slots |= {name: [name] for name in names}
    return slots


def _shape(parameters: Parameters, names: list[str]) -> Shape:
    """The shape of the slot; a convolution of width 1 is a matrix, as are those of all heads."""
    rows, *rest = parameters[names[0]].shape or (1,)
    while len(rest) > 1 and rest[-1] == 1:
        rest.pop()
    if len(rest) > 1:  # (h, d_model, d_k) or (h, d_k, d_model)
        return (rows * min(rest), max(rest))
    return (rows * len(names), *rest)


def _assignments(own: Shapes, wanted: Shapes) -> list[Assignment]:
    """Ways for all weights; else for a block without biases, or with one number for a vector.

    The biases that a block has are those whose names say so, or that of its last layer alone.
    """
    meanings, biases = set(map(_meaning, own)), [n for n in wanted if n.endswith("bias")]
    fewer: tuple[list[str], ...] = ([n for n in biases if _meaning(n) in meanings], biases[-1:], [])
    some = ({n: s for n, s in wanted.items() if n not in biases or n in kept} for kept in fewer)
    vectors = {name: (1,) if len(shape) == 1 else shape for name, shape in wanted.items()}
    orders = _first_fitting(*(_orders(own, shapes) for shapes in (wanted, *some, vectors)))
    found: list[Assignment] = []
    for one in islice(orders, 4 * MOST_WAYS):
        if one not in found:
            found.append(one)
    return found[:MOST_WAYS]


def _first_fitting(*every: Iterator[Assignment]) -> Iterator[Assignment]:
    """The assignments of the first iterator that has any."""
    for assignments in every:
        if (first := next(assignments, None)) is not None:
            yield from chain([first], assignments)
            return


def _orders(own: Shapes, wanted: Shapes) -> Iterator[Assignment]:
    """By their names as far as they are known, else by their shapes."""
    by_meaning = {_meaning(name): name for name in wanted}
    named = {by_meaning.get(_meaning(name), ""): name for name in own}
    known = {name: (theirs,) for theirs, name in named.items() if wanted.get(theirs) == own[name]}
    rest = {name: shape for name, shape in own.items() if name not in known}
    left = {name: shape for name, shape in wanted.items() if (name,) not in known.values()}
    completed = ({**known, **others} for others in _by_form(rest, left))
    return _first_fitting(completed, _by_form(own, wanted))


def _by_form(own: Shapes, wanted: Shapes) -> Iterator[Assignment]:
    """Whole modules if these fit (a bias stays with its weight), else parameters, also fused."""
    modules = _by_unit(_modules(own), _modules(wanted), own, wanted)
    single = _by_unit([[name] for name in own], [[name] for name in wanted], own, wanted)
    return _first_fitting(modules, chain(single, _fused(own, wanted)))


def _meaning(name: str) -> str:
    """`query_proj.weight`, `W_Q` and `w_q.weight` have one meaning: `q`."""
    parts, known = re.findall(r"[a-z]+|\d+", name.lower()), texts()["parameter"]
    return ".".join(sorted(known["synonym"].get(p, p) for p in parts if p not in known["noise"]))


def _by_unit(
    mine: list[list[str]], theirs: list[list[str]], own: Shapes, wanted: Shapes
) -> Iterator[Assignment]:
    """Units with the same shapes in every order."""
    kinds = sorted({tuple(own[n] for n in unit) for unit in mine})
    units = [[m for m in mine if tuple(own[n] for n in m) == kind] for kind in kinds]
    fitting = [[m for m in theirs if tuple(wanted[n] for n in m) == kind] for kind in kinds]
    if len(mine) != len(theirs) or [*map(len, units)] != [*map(len, fitting)]:
        return
    for choice in product(*map(permutations, fitting)):
        pairs = zip(chain(*units), chain(*choice), strict=True)
        yield {a: (b,) for one, other in pairs for a, b in zip(one, other, strict=True)}


def _modules(shapes: Shapes) -> list[list[str]]:
    """The names of each module's parameters: matrices first, then by meaning of their names."""
    groups: dict[str, list[str]] = {}
    for name in shapes:
        groups.setdefault(name.rpartition(".")[0], []).append(name)
    return [
        sorted(names, key=lambda n: (-len(shapes[n]), _meaning(n.rpartition(".")[2])))
        for names in groups.values()
    ]


def _fused(own: Shapes, wanted: Shapes) -> Iterator[Assignment]:
    """In order of registration, each slot takes as many matrices (or vectors) as fill its rows."""
    left, found = list(wanted), Assignment()
    for name, shape in own.items():
        same = [n for n in left if len(wanted[n]) == len(shape) and wanted[n][1:] == shape[1:]]
        counts = range(1, len(same) + 1)
        rows = [sum(wanted[n][0] for n in same[:count]) for count in counts]
        if shape[0] not in rows:
            return
        found[name] = tuple(same[: rows.index(shape[0]) + 1])
        left = [n for n in left if n not in found[name]]
    if not left:
        yield found


def _listing(shapes: Mapping[str, Shape]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "none"
