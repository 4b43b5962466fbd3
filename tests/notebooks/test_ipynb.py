"""Stored notebooks open in Jupyter and Colab and match their sources."""

import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tests.notebooks.ipynb import notebook_of, sources

SOURCES = sources()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_has_the_cells_of_its_source(source: Path) -> None:
    """If this fails: `make notebooks`."""
    stored = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    current = notebook_of(source)
    assert [(cell.id, cell.cell_type, cell.source) for cell in stored.cells] == [
        (cell.id, cell.cell_type, cell.source) for cell in current.cells
    ]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_clean_outputs(source: Path) -> None:
    path = source.with_suffix(".ipynb")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert len(outputs) >= 4 and path.stat().st_size < 2_500_000
    assert not any(out.output_type == "error" or out.get("name") == "stderr" for out in outputs)
    assert "torch._C.Generator" not in str(outputs) and "widget-view" not in str(outputs)
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
