"""Notebooks from the course's content: executed lessons, and problem sets.

`python -m clearhead.learn.build` writes them as plain JSON (nbformat 4.5). The same content gives
the same file.
"""

import json
from typing import Any

from clearhead.errors import UserError
from clearhead.learn.manifest import texts

Cell = dict[str, Any]
Notebook = dict[str, Any]


def markdown(text: str) -> Cell:
    """A cell of text."""
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip()}


def code(text: str, *tags: str) -> Cell:
    """A cell of code without outputs; MyST-NB and JupyterLab act on its tags."""
    metadata: dict[str, Any] = {"tags": list(tags)} if tags else {}
    if "hide-input" in tags:
        metadata["jupyter"] = {"source_hidden": True}
    return {
        "cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [],
        "source": text.strip("\n"),
    }  # fmt: skip


def install_cell() -> Cell:
    """The installation in Colab."""
    return code(texts()["install"], "remove-cell")


def notebook(name: str, cells: list[Cell], about: dict[str, str]) -> Notebook:
    """A notebook; its cells are numbered, so that the same content is the same file."""
    numbered = [{"id": f"{name}-{number}", **cell} for number, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {
        "kernelspec": kernel,
        "language_info": {"name": "python"},
        "clearhead": about,
    }
    return {"cells": numbered, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def text_of(content: Notebook) -> str:
    """The file's text, formatted as Jupyter does."""
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def code_of(text: str) -> list[str]:
    """The text of each cell of code of a notebook, also of one in format 3.

    Raises:
        UserError: the text is not a notebook.
    """
    try:
        table = json.loads(text)
        cells = [cell for sheet in table.get("worksheets", [table]) for cell in sheet["cells"]]
        found = [c.get("source", c.get("input")) for c in cells if c["cell_type"] == "code"]
        return ["".join(lines) for lines in found]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UserError("this is not a notebook, or it is damaged; open it in Jupyter") from error
