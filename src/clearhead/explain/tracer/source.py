"""Where an operation is written: file, line, the very expression, and what it says.

`x.view(batch, -1, self.h, self.d_k)` names the axes that it makes. The running frame
knows which columns of which line it executes, so the expression can be read.
"""

import ast
import functools
import inspect
import linecache
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

_NOT_THE_MODEL = (str(Path(torch.__file__).parent), str(Path(__file__).parent))


@dataclass(frozen=True)
class Place:
    """A line of somebody's code; `node` is the expression's syntax tree, if it can be read."""

    file: str
    line: int
    function: str
    code: str
    node: ast.AST | None

    @property
    def short(self) -> str:
        """`attention.py:73`; a cell of a notebook has no file name worth showing."""
        return f"{'cell' if self.in_notebook else Path(self.file).name}:{self.line}"

    @property
    def in_notebook(self) -> bool:
        """True for code that was typed into a cell."""
        return "ipykernel" in self.file or self.file.startswith("<ipython")

    @property
    def link(self) -> str:
        """The file's address, or nothing for code that lies in no file."""
        path = Path(self.file)
        readable = path.is_absolute() and path.is_file() and not self.in_notebook
        return f"{path.as_uri()}#L{self.line}" if readable else ""


def caller(frame: FrameType | None) -> FrameType | None:
    """The nearest frame that is neither torch's nor ours: the model's own line."""
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_MODEL):
        frame = frame.f_back
    return frame


def place_of(frame: FrameType | None) -> Place | None:
    """Where that frame is right now."""
    if frame is None:
        return None
    return _place(frame.f_code, frame.f_lasti, frame.f_lineno)


def place_of_error(error: BaseException) -> Place | None:
    """The model's last own line on the way to an error."""
    step, found = error.__traceback__, None
    while step is not None:
        code = step.tb_frame.f_code
        if not code.co_filename.startswith(_NOT_THE_MODEL):
            found = _place(code, step.tb_lasti, step.tb_lineno)
        step = step.tb_next
    return found


def defined(module: Any) -> Place | None:
    """Where a module's `forward`, or a function, begins."""
    function = getattr(module, "forward", getattr(module, "__init__", module))
    code = getattr(inspect.unwrap(function), "__code__", None) or getattr(module, "__code__", None)
    if not isinstance(code, CodeType):
        return None
    return Place(code.co_filename, code.co_firstlineno, code.co_name, "", None)


@functools.lru_cache(maxsize=4096)
def _place(code: CodeType, instruction: int, line: int) -> Place:
    span = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    text, node = _expression(code.co_filename, span)
    return Place(code.co_filename, span[0] or line, code.co_name, text, node)


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
        statement = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return _statement(text)
    return " ".join(text.split()), statement


def _statement(text: str) -> tuple[str, ast.AST | None]:
    """`x += y` is no expression, but a line of code all the same."""
    try:
        return text, ast.parse(text.strip()).body[0]
    except (SyntaxError, IndexError):
        return text, None


def called_as(node: ast.AST | None) -> str:
    """The last name of the call that is written here: `view` for `x.view(2, 3)`."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def operands(node: ast.AST | None, operation: str, by_module: bool) -> list[str]:
    """How the operands are written, in the order of the call's arguments, as far as it is known.

    In `self.linear(x)` the operation is called by a module of torch's own: x is what it gets.
    """
    parts: list[ast.expr] = []
    if by_module:
        parts = node.args[:1] if isinstance(node, ast.Call) else []
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        ends = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.target, node.value]
        # A number may stand on either side; the tensor is the call's first argument.
        parts = sorted(ends, key=lambda end: isinstance(end, ast.Constant))
    elif isinstance(node, ast.Subscript | ast.UnaryOp):
        parts = [node.value if isinstance(node, ast.Subscript) else node.operand]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and called_as(node).strip("_") == operation.strip("_"):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        parts = [*([owner] if owner and not _is_a_room(owner) else []), *node.args]
    return [_text(part) for part in parts]


def _is_a_room(owner: ast.expr) -> bool:
    """True for `torch`, `F`, `torch.nn.functional`: what stands before a function's name."""
    return ast.unparse(owner).split(".")[0] in {"torch", "F", "nn", "functional", "np", "math"}


def _text(node: ast.expr) -> str:
    return ast.unparse(node).replace("1000000000.0", "1e9")


def sizes_of(node: ast.AST | None, skip: int) -> list[ast.expr]:
    """The expressions that stand for sizes in a call, a tuple of them opened."""
    if not isinstance(node, ast.Call):
        return []
    arguments = node.args[skip:]
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        return list(arguments[0].elts)
    return arguments


def look_up(frame: FrameType, node: ast.expr) -> object:
    """The object behind `x` or `self.pe` in a frame; None for anything that would have to run."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = look_up(frame, node.value)
        held = getattr(owner, "__dict__", {})
        for shelf in (held, held.get("_parameters", {}), held.get("_buffers", {})):
            if node.attr in shelf:
                return shelf[node.attr]
    return None
