"""Build the notebooks with their outputs from their sources: `make notebooks`.

The sources are Python files in jupytext's percent format. Each notebook is stored beside its
source with its outputs, so that it can be read without running it. Its first code cell installs
clearhead in Colab and does nothing elsewhere.
"""

import sys
from pathlib import Path

import jupytext
import nbclient
import nbformat

FOLDER = Path(__file__).parents[2] / "notebooks"
EXTRAS = {"keras_and_torch": "notebook,compare"}  # of clearhead, beyond `notebook`
COLAB = """\
# Colab has no clearhead yet; anywhere else this cell does nothing.
import sys

if "google.colab" in sys.modules:
    %pip install -q "clearhead[{extras}]"\
"""
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def sources() -> list[Path]:
    """The percent files, which are edited."""
    return sorted(FOLDER.glob("*.py"))


def notebook_of(source: Path) -> nbformat.NotebookNode:
    """The title, the installation cell, and the cells of the source, with numbered cell ids."""
    title, *rest = jupytext.read(source).cells
    install = COLAB.format(extras=EXTRAS.get(source.stem, "notebook"))
    cells = [title, nbformat.v4.new_code_cell(install), *rest]
    for number, cell in enumerate(cells):
        cell.id, cell.metadata = f"{source.stem}-{number}", {}
    return nbformat.v4.new_notebook(cells=cells, metadata=METADATA)


def executed(source: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run, without anything that changes from run to run."""
    notebook = notebook_of(source)
    resources = {"metadata": {"path": str(FOLDER)}}
    nbclient.NotebookClient(notebook, timeout=900, resources=resources).execute()
    for number, cell in enumerate(cell for cell in notebook.cells if cell.cell_type == "code"):
        cell.metadata = {}
        cell.execution_count = number + 1
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number + 1
            # Without its kernel a widget shows an error instead of the HTML beside it.
            output.get("data", {}).pop(WIDGET, None)
    notebook.metadata = METADATA
    return notebook


def write(source: Path) -> Path:
    """Execute a source and store the notebook beside it."""
    target = source.with_suffix(".ipynb")
    target.write_text(nbformat.writes(executed(source)) + "\n", encoding="utf-8")
    return target


if __name__ == "__main__":
    chosen = sys.argv[1:] or [source.stem for source in sources()]
    for name in chosen:
        print(write(FOLDER / f"{name}.py").name)
