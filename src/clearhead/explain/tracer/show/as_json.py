"""A trace as JSON: everything, nested, for other programs."""

import json
from typing import Any

from clearhead.explain.tracer.axis import Shape, sizes
from clearhead.explain.tracer.mistake import Mistake
from clearhead.explain.tracer.rows import Operand, Row

FORMAT_VERSION = 1


def as_json(root: Row, mistake: Mistake | None = None) -> str:
    """`{"format_version": 1, "root": {…, "children": […]}, "mistake": null}`."""
    content = {
        "format_version": FORMAT_VERSION,
        "root": _row(root),
        "mistake": _mistake(mistake) if mistake else None,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "path": row.path,
        "module": row.kind,
        "operation": row.operation,
        "what": row.what,
        "file": row.place.file if row.place else None,
        "line": row.place.line if row.place else None,
        "code": row.place.code if row.place else None,
        "inputs": [_operand(operand) for operand in row.inputs],
        "outputs": [_shape(shape) for shape in row.outputs],
        "parameters": row.parameters,
        "flops": row.flops,
        "flops_of_products": row.products,
        "flops_elementwise": row.elementwise,
        "bytes": row.bytes,
        "broadcast": row.stretched,
        "doubts": row.doubts,
        "children": [_row(child) for child in row.children],
    }


def _operand(operand: Operand) -> dict[str, Any]:
    return {"label": operand.label, "learned": operand.learned, **_shape(operand.shape)}


def _shape(shape: Shape) -> dict[str, Any]:
    return {"axes": [axis.known.name or None for axis in shape], "shape": list(sizes(shape))}


def _mistake(mistake: Mistake) -> dict[str, Any]:
    return {
        "operation": mistake.operation,
        "path": mistake.path,
        "file": mistake.place.file if mistake.place else None,
        "line": mistake.place.line if mistake.place else None,
        "axes": list(mistake.names),
        "sizes": [axis.size for axis in mistake.axes],
        "origins": mistake.stories,
        "law": mistake.law,
        "slip": mistake.slip,
        "message": mistake.message,
    }
