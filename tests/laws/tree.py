"""The tree that the laws look at: files, functions and their sizes."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "clearhead"
NOT_OURS = {".git", ".venv", "venv", "build", "dist", "runs", "__pycache__", ".hypothesis"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def source_files() -> list[Path]:
    """Every Python file of the package, except the lessons, which are texts with cells."""
    lessons = SOURCE / "learn" / "content" / "lessons"
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != lessons)


def tracked_files() -> list[Path]:
    """Every file under version control; in an unpacked archive, every file there is."""
    if (ROOT / ".git").exists():
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, encoding="utf-8"
        ).stdout
        found = [ROOT / name for name in listing.split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not is_ignored(path)]
    return [path for path in found if path.is_file()]


def is_ignored(path: Path) -> bool:
    """True for what tools leave behind: caches, virtual environments, builds."""
    parts = path.relative_to(ROOT).parts
    return any(p in NOT_OURS or p.endswith(("_cache", ".egg-info")) for p in parts)


@cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name_of(path: Path, node: ast.AST | None = None) -> str:
    """How a law names a location: `src/clearhead/files.py:12`."""
    name = path.relative_to(ROOT).as_posix()
    return f"{name}:{node.lineno}" if node is not None and hasattr(node, "lineno") else name


def functions(tree: ast.Module) -> Iterator[Function]:
    """Every function and method of a file, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def lines_of_code(node: ast.AST) -> int:
    """Lines that hold code: no blank lines, no comments, no docstrings."""
    prose = {id(text) for text in docstrings(node)}
    lines: set[int] = set()
    for part in ast.walk(node):
        if hasattr(part, "lineno") and id(part) not in prose:
            lines.add(part.lineno)
            if isinstance(part, ast.Constant):  # a long text is long
                lines.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return len(lines)


def docstrings(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are documentation: first statements that are bare strings."""
    for part in ast.walk(node):
        body = getattr(part, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            yield from (first, first.value)


def called(node: ast.Call) -> str:
    """The last name of a call: `read_text` for `path.read_text()`, `open` for `open()`."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """The value of one keyword argument of a call."""
    return next((k.value for k in node.keywords if k.arg == name), None)
