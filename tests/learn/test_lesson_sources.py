"""What a lesson says about the library is checked without executing it."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from clearhead.learn.notebooks.lessons import lesson_sources
from clearhead.learn.source import source_lines

by_name = pytest.mark.parametrize("source", lesson_sources(), ids=lambda path: path.stem)


def read(source: Path) -> str:
    return source.read_text(encoding="utf-8")


@by_name
def test_every_name_that_a_lesson_imports_exists(source: Path) -> None:
    imports = [n for n in ast.walk(ast.parse(read(source))) if isinstance(n, ast.ImportFrom)]
    names = [(node.module or "", alias.name) for node in imports for alias in node.names]
    assert names
    assert not [f"{m}.{name}" for m, name in names if not hasattr(import_module(m), name)]


@by_name
def test_every_address_that_a_lesson_shows_is_in_the_source(source: Path) -> None:
    addresses = re.findall(r'show_source\(\s*"([^"]+)"', read(source))
    assert addresses and all(source_lines(address)[2] for address in addresses)


@by_name
def test_every_figure_has_a_description(source: Path) -> None:
    drawn = set(re.findall(r"show_figure\((\w+)\)", read(source)))
    functions = {
        n.name: n for n in ast.walk(ast.parse(read(source))) if isinstance(n, ast.FunctionDef)
    }
    assert drawn
    assert not [name for name in drawn if not ast.get_docstring(functions[name])]
