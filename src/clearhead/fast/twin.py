"""How a fast twin takes the place of a readable part."""

from typing import TypeVar

from torch import nn

Twin = TypeVar("Twin", bound=nn.Module)


def same_insides(kind: type[Twin], part: nn.Module) -> Twin:
    """A `kind` that holds what `part` holds: parameters, children, settings, hooks, mode.

    `kind` must be a subclass of the part's class with the same attributes. Its
    constructor is not called: it would draw random weights, only to lose them.
    """
    twin = kind.__new__(kind)
    twin.__dict__.update(part.__dict__)
    return twin
