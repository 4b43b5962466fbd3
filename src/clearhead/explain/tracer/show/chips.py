"""An axis as a little coloured label: the same name, the same colour, all over the page."""

from html import escape

from clearhead.explain.tracer.axis import Axis, Shape
from clearhead.explain.tracer.show.style import OTHER, TINTS


def chip(name: str, number: str, clash: bool = False) -> str:
    """One label; an axis without a name shows its number only."""
    tint = TINTS.get(name, OTHER)
    marked = " clash" if clash else ""
    small = f"<i>{number}</i>" if number and number != name else ""
    return f'<span class="ax{marked}" style="background:{tint}">{escape(name)}{small}</span>'


def axis_chip(axis: Axis, clash: bool = False) -> str:
    """The label of an axis, with its size."""
    return chip(axis.label, f"{axis.size:,}", clash)


def shape_chips(shape: Shape, brackets: bool = True) -> str:
    """The labels of a shape; a single number has none."""
    labels = "".join(axis_chip(axis) for axis in shape)
    if not brackets:
        return labels
    return f'<span class="shape">{labels or "a number"}</span>'
