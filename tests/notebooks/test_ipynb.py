"""Notebooks open in Jupyter and Colab as they lie there, and say what their sources say."""

import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tests.notebooks.ipynb import sources, written

SOURCES = sources()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_says_what_its_source_says(source: Path) -> None:
    """If not: `make notebooks`."""
    assert source.with_suffix(".ipynb").read_text(encoding="utf-8") == written(source)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_holds_no_outputs(source: Path) -> None:
    notebook = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code and not any(cell.outputs or cell.execution_count for cell in code)
    assert notebook.cells[0].source.startswith("# ")
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_no_notebook_is_left_whose_source_is_gone() -> None:
    notebooks = {path.stem for path in SOURCES[0].parent.glob("*.ipynb")}
    assert notebooks == {path.stem for path in SOURCES} and len(notebooks) >= 4


@pytest.mark.parametrize("in_colab", [False, True])
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_first_cell_installs_in_colab_and_nowhere_else(
    source: Path, in_colab: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[str] = []

    class Shell:
        def run_line_magic(self, name: str, line: str) -> None:
            installed.append(f"{name} {line}")

    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    if in_colab:
        monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    notebook = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    code = TransformerManager().transform_cell(first.source)
    exec(code, {"get_ipython": Shell})
    assert len(installed) == in_colab
    assert all(line.startswith('pip install -q "clearhead[notebook') for line in installed)
