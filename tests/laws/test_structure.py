"""The figures of the package's structure, each with the bound that holds today and the target.

Lower a bound when a figure gets better, so that it cannot get worse again.
"""

import ast
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from tests.laws.tree import SOURCE, functions, lines_of_code, name_of, parse, source_files


class Figure(NamedTuple):
    """A measurement, the range that holds today, and the range that is wanted."""

    measured: float
    least: float
    most: float
    target: str
    of: str = ""


LATER = ("learn", "biology")  # packages that the targets did not foresee; each has its own below
CONTENT = SOURCE / "learn" / "content"  # lessons and exercises, which are texts


@cache
def modules() -> list[Path]:
    return [path for path in source_files() if not path.is_relative_to(CONTENT)]


@cache
def lines() -> dict[Path, int]:
    return {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}


def code_of(package: str) -> int:
    """Lines of code of a package: no blank lines, comments or docstrings."""
    own = [path for path in modules() if path.is_relative_to(SOURCE / package)]
    return sum(lines_of_code(parse(path)) for path in own)


def lines_of(*packages: str) -> int:
    return sum(n for path, n in lines().items() if path.relative_to(SOURCE).parts[0] in packages)


def import_lines() -> int:
    """Lines of import statements, those inside functions included."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in modules()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def longest_function() -> tuple[int, str]:
    """Lines from `def` to the end, docstring included; of a verb only the body."""
    return max(
        ((node.end_lineno or 0) - first_line(path, node) + 1, f"{name_of(path)} {node.name}")
        for path in modules()
        for node in functions(parse(path))
    )


def first_line(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The signature of a verb lists the options of the command line, one a line."""
    return node.body[0].lineno if path.parent.name == "cli" else node.lineno


def imported(path: Path, modules: Collection[str]) -> Iterator[str]:
    """Modules of ours that are imported when the module is, so not inside functions."""
    todo: list[ast.stmt] = list(parse(path).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else str(node.module) for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            todo += node.body


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def first_cycle() -> list[str]:
    """Modules that import each other in a circle; empty if there are none."""
    named = {module_name(path): path for path in modules()}
    graph = {
        name: {other for other in imported(path, named) if other in named}
        for name, path in named.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def figures() -> dict[str, Figure]:
    sizes = lines()
    total = sum(sizes.values())
    largest = max(sizes, key=lambda path: sizes[path])
    length, function = longest_function()
    first = [path for path in sizes if path.relative_to(SOURCE).parts[0] not in LATER]
    return {
        "files": Figure(len(sizes), 1, 365, ""),
        "files without the course and biology": Figure(len(first), 1, 312, "at most 320"),
        "lines": Figure(total, 1, 55_560, ""),
        "lines without them": Figure(sum(sizes[p] for p in first), 1, 47_117, "at most 33,000"),
        "lines of decoding and fast": Figure(
            lines_of("decoding", "fast"), 1, 2_400, "at most 2,400"
        ),
        "lines of code of the course": Figure(code_of("learn"), 1, 3_207, "at most 3,000"),
        "lines of code of biology": Figure(code_of("biology"), 1, 2_359, "at most 3,000"),
        "median lines of a file": Figure(median(sizes.values()), 110, 160, "110 to 160"),
        "imports, % of lines": Figure(round(100 * import_lines() / total, 1), 0, 7.8, "at most 6"),
        "largest file": Figure(sizes[largest], 1, 350, "at most 350", name_of(largest)),
        "longest function": Figure(length, 1, 60, "at most 60", function),
    }


def test_the_structure_does_not_get_worse() -> None:
    worse = {
        name: figure
        for name, figure in figures().items()
        if not figure.least <= figure.measured <= figure.most
    }
    assert not worse


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert not first_cycle()


def test_the_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\n  the structure of the package:")
        for name, figure in figures().items():
            target = f"target: {figure.target}" if figure.target else ""
            print(f"  {figure.measured:8g} {name:38s} {target}  {figure.of}".rstrip())
