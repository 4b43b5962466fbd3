"""A model file is data, never a program: nothing in the package reads or writes pickles."""

import ast
from collections.abc import Iterator

import pytest

from tests.laws.tree import keyword, name_of, parse, source_files

MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
PICKLING_CALLS = {"torch.load", "torch.save", "torch.jit.load"}

# Who may call torch.load, with weights_only=True, and why.
ALLOWED: dict[str, str] = {
    "src/clearhead/pretrained/pickled.py": "`clearhead convert`: the user says that it is one",
}


def test_no_module_imports_pickle() -> None:
    assert not [
        name_of(path, node)
        for path in source_files()
        for node in ast.walk(parse(path))
        if MODULES & set(imported(node))
    ]


def test_no_call_pickles() -> None:
    assert not [
        name_of(path, node)
        for path in source_files()
        if name_of(path) not in ALLOWED
        for node in pickling_calls(parse(path))
    ]


@pytest.mark.parametrize("name", ALLOWED or [pytest.param("", marks=pytest.mark.skip("nobody"))])
def test_the_allowed_read_weights_only(name: str) -> None:
    path = next(path for path in source_files() if name_of(path) == name)
    for call in pickling_calls(parse(path)):
        only = keyword(call, "weights_only")
        assert isinstance(only, ast.Constant) and only.value is True, name_of(path, call)


def pickling_calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (
            ast.unparse(node.func) in PICKLING_CALLS or keyword(node, "allow_pickle")
        ):
            yield node


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").split(".")[0]]
    return []
