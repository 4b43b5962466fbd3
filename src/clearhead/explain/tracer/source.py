"""Where an operation is written: file, line, and the source text of the expression.

`x.view(batch, -1, self.h, self.d_k)` names the axes that it creates. A running frame records
which columns of which line it executes, so the expression can be read from the file.
"""

import ast
import functools
import inspect
import linecache
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

_LIBRARIES = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
_NAMESPACES = {"torch", "F", "nn", "functional", "np", "math"}


@dataclass(frozen=True)
class Location:
    """A location in the traced code; `node` is the expression's syntax tree, if readable."""

    file: str
    line: int
    function: str
    code: str
    node: ast.AST | None

    @property
    def short(self) -> str:
        """`attention.py:73`, or `cell:3` in a notebook."""
        return f"{'cell' if self.in_notebook else Path(self.file).name}:{self.line}"

    @property
    def in_notebook(self) -> bool:
        """True for code in a notebook cell."""
        return "ipykernel" in self.file or self.file.startswith("<ipython")

    @property
    def link(self) -> str:
        """A file: URI for a terminal, or "" for code that is in no file."""
        path = Path(self.file)
        readable = path.is_absolute() and path.is_file() and not self.in_notebook
        return f"{path.as_uri()}#L{self.line}" if readable else ""


def calling_frame(frame: FrameType | None) -> FrameType | None:
    """The nearest frame that belongs neither to torch nor to the tracer."""
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame = frame.f_back
    return frame


def location_of(frame: FrameType | None) -> Location | None:
    """The location that a frame is executing."""
    if frame is None:
        return None
    return _locate(frame.f_code, frame.f_lasti, frame.f_lineno)


def location_of_error(error: BaseException) -> Location | None:
    """The last location outside torch on the way to an error."""
    step, found = error.__traceback__, None
    while step is not None:
        code = step.tb_frame.f_code
        if not code.co_filename.startswith(_LIBRARIES):
            found = _locate(code, step.tb_lasti, step.tb_lineno)
        step = step.tb_next
    return found


def definition(module: Any) -> Location | None:
    """Where a module's `forward`, or a function, begins."""
    function = getattr(module, "forward", getattr(module, "__init__", module))
    code = getattr(inspect.unwrap(function), "__code__", None) or getattr(module, "__code__", None)
    if not isinstance(code, CodeType):
        return None
    return Location(code.co_filename, code.co_firstlineno, code.co_name, "", None)


@functools.lru_cache(maxsize=4096)
def _locate(code: CodeType, instruction: int, line: int) -> Location:
    span = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    text, node = _expression(code.co_filename, span)
    return Location(code.co_filename, span[0] or line, code.co_name, text, node)


def _expression(
    file: str, span: tuple[int | None, int | None, int | None, int | None]
) -> tuple[str, ast.AST | None]:
    """The text between two positions of a file, and its syntax tree."""
    start, end, left, right = span
    lines = linecache.getlines(file)
    if start is None or end is None or left is None or right is None or end > len(lines):
        return "", None
    wanted = [line.encode("utf-8") for line in lines[start - 1 : end]]
    wanted[-1] = wanted[-1][:right]
    wanted[0] = wanted[0][left:]
    text = b"".join(wanted).decode("utf-8", errors="replace")
    try:
        return " ".join(text.split()), ast.parse(f"({text})", mode="eval").body
    except SyntaxError:  # `x += y` is a statement, not an expression
        with suppress(SyntaxError, IndexError):
            return text, ast.parse(text.strip()).body[0]
    return text, None


def called_name(node: ast.AST | None) -> str:
    """The last name of a call: `view` for `x.view(2, 3)`."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def operand_texts(node: ast.AST | None, operation: str, in_torch_module: bool) -> list[str]:
    """The source texts of the operands, in the order of the call's arguments, as far as known.

    In `self.linear(x)` a module of torch calls the operation, so only x is visible.
    """
    parts: list[ast.expr] = []
    if in_torch_module:
        parts = node.args[:1] if isinstance(node, ast.Call) else []
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        ends = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.target, node.value]
        # A constant may be on either side; the tensor is the call's first argument.
        parts = sorted(ends, key=lambda end: isinstance(end, ast.Constant))
    elif isinstance(node, ast.Subscript | ast.UnaryOp):
        parts = [node.value if isinstance(node, ast.Subscript) else node.operand]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and called_name(node).strip("_") == operation.strip("_"):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        is_tensor = owner and ast.unparse(owner).split(".")[0] not in _NAMESPACES
        parts = [*([owner] if owner and is_tensor else []), *node.args]
    return [ast.unparse(part).replace("1000000000.0", "1e9") for part in parts]


def size_expressions(node: ast.AST | None, skip: int) -> list[ast.expr]:
    """The expressions for the sizes in a call, without the first `skip`; a tuple is unpacked."""
    if not isinstance(node, ast.Call):
        return []
    arguments = node.args[skip:]
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        return list(arguments[0].elts)
    return arguments


def look_up(frame: FrameType, node: ast.expr) -> object:
    """The value of `x` or `self.pe` in a frame; None for an expression that would run code."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = look_up(frame, node.value)
        attributes = getattr(owner, "__dict__", {})
        parameters = attributes.get("_parameters", {})
        for namespace in (attributes, parameters, attributes.get("_buffers", {})):
            if node.attr in namespace:
                return namespace[node.attr]
    return None
