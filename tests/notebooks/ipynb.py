"""Notebooks as Jupyter and Colab open them, made from their sources: `make notebooks`.

The sources are plain Python (jupytext's percent format), which people read and diff. Beside each
lies the notebook without outputs, so that nobody needs a tool to open it. It begins with a
cell that installs clearhead in Colab; everywhere else that cell does nothing.
"""

from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat

FOLDER = Path(__file__).parents[2] / "notebooks"
EXTRAS = {"keras_and_torch": "notebook,compare"}  # of clearhead, beyond `notebook`
COLAB = """\
# Colab has no clearhead yet; anywhere else this cell does nothing.
import sys

if "google.colab" in sys.modules:
    %pip install -q "clearhead[{extras}]"\
"""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def sources() -> list[Path]:
    """What people edit."""
    return sorted(FOLDER.glob("*.py"))


def notebook_of(source: Path) -> nbformat.NotebookNode:
    """Title, installation in Colab, and all else; cells are numbered, so that nothing is chance."""
    title, *rest = jupytext.read(source).cells
    install = COLAB.format(extras=EXTRAS.get(source.stem, "notebook"))
    cells = [title, nbformat.v4.new_code_cell(install), *rest]
    for number, cell in enumerate(cells):
        cell.id, cell.metadata = f"{source.stem}-{number}", {}
    return nbformat.v4.new_notebook(cells=cells, metadata=METADATA)


def written(source: Path) -> str:
    """The file's text."""
    return str(nbformat.writes(notebook_of(source))) + "\n"


def write_all() -> Iterator[Path]:
    """Every notebook beside its source."""
    for source in sources():
        target = source.with_suffix(".ipynb")
        target.write_text(written(source), encoding="utf-8")
        yield target


if __name__ == "__main__":
    for path in write_all():
        print(path.name)
