"""The operands of a failed operation, laid under each other from the right, the clash marked."""

from html import escape

from clearhead.explain.tracer.mistake import Mistake
from clearhead.explain.tracer.rows import Operand
from clearhead.explain.tracer.show.chips import axis_chip


def alignment(mistake: Mistake) -> str:
    """A table with one line an operand; biases play no part in a clash."""
    shown = [o for o in mistake.inputs if not (o.learned and len(o.shape) == 1)]
    width = max((len(operand.shape) for operand in shown), default=0)
    rows = [
        _line(operand, width, _clashes(mistake, i, len(shown))) for i, operand in enumerate(shown)
    ]
    return f"<table>{''.join(rows)}</table>"


def _line(operand: Operand, width: int, clashes: set[int]) -> str:
    empty = "<td></td>" * (width - len(operand.shape))
    cells = "".join(
        f"<td>{axis_chip(axis, place - len(operand.shape) in clashes)}</td>"
        for place, axis in enumerate(operand.shape)
    )
    return f"<tr><td><code>{escape(operand.label)}</code></td>{empty}{cells}</tr>"


def _clashes(mistake: Mistake, position: int, operands: int) -> set[int]:
    """The places, counted from the end, of the axes that clash in the operand at `position`."""
    if operands == 1:
        return set(mistake.places) - {0}
    return {mistake.places[position]} - {0} if position < 2 else set()
