"""A notebook's source, executed from top to bottom as a student would run it."""

from dataclasses import dataclass
from typing import Any

import jupytext
import nbclient

from tests.notebooks.ipynb import FOLDER


@dataclass(frozen=True)
class Ran:
    """Everything that its cells have shown."""

    outputs: list[dict[str, Any]]

    @property
    def printed(self) -> str:
        """What was written, one after the other."""
        return "".join(out["text"] for out in self.outputs if out.get("name") == "stdout")

    @property
    def warned(self) -> str:
        """What went to the error stream."""
        return "".join(out["text"] for out in self.outputs if out.get("name") == "stderr")

    def shown(self, kind: str) -> list[str]:
        """All outputs of a MIME type."""
        return [out["data"][kind] for out in self.outputs if kind in out.get("data", {})]


def run(name: str, seconds: int = 300) -> Ran:
    """In its own folder, as Jupyter would, and in small where it knows how to."""
    notebook = jupytext.read(FOLDER / f"{name}.py")
    resources = {"metadata": {"path": str(FOLDER)}}
    nbclient.NotebookClient(
        notebook, timeout=seconds, kernel_name="python3", resources=resources
    ).execute()
    return Ran([out for cell in notebook.cells for out in cell.get("outputs", [])])
