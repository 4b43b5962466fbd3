"""Public names are found by attribute, by `dir` and by Tab, whatever was imported before."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import clearhead

FOLDER = Path(clearhead.__file__).parent
PACKAGES = sorted(p.parent.name for p in FOLDER.glob("*/__init__.py") if p.parent.name != "cli")
LAZY = [
    "data",
    "data.grammar",
    "decoding",
    "explain",
    "models",
    "pretrained",
    "text",
    "translation",
]


def in_a_new_process(expression: str) -> object:
    code = f"import json, clearhead; print(json.dumps({expression}))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


def test_a_package_is_an_attribute_without_an_import_of_its_own() -> None:
    names = in_a_new_process(f"[getattr(clearhead, name).__name__ for name in {PACKAGES}]")
    assert names == [f"clearhead.{name}" for name in PACKAGES]
    assert set(PACKAGES) <= set(dir(clearhead))


def test_a_public_name_of_a_package_is_two_attributes_away() -> None:
    found = "[clearhead.explain.trace.__name__, clearhead.models.Bert.__name__]"
    assert in_a_new_process(found) == ["trace", "Bert"]


@pytest.mark.parametrize("name", LAZY)
def test_dir_lists_every_public_name_before_its_first_use(name: str) -> None:
    code = f"dir(__import__('importlib').import_module('clearhead.{name}'))"
    listed = in_a_new_process(code)
    package = import_module(f"clearhead.{name}")
    assert isinstance(listed, list) and set(package.__all__) <= set(listed)
    assert all(hasattr(package, public) for public in package.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'clearhead\.models' has no attribute 'Berd'"):
        _ = import_module("clearhead.models").Berd
    with pytest.raises(AttributeError, match="'clearhead' has no attribute 'block'"):
        _ = clearhead.block
