"""The notebook on Keras runs from top to bottom and shows what its text says."""

from pathlib import Path

import pytest

from tests.compare.keras_attention.installed import needs_keras

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "keras_and_torch.py"


@needs_keras
def test_every_cell_runs_and_shows_what_it_promises() -> None:
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    notebook = jupytext.read(NOTEBOOK)
    # In its own folder, as Jupyter would, where its name must not hide a package that it imports.
    folder = {"metadata": {"path": str(NOTEBOOK.parent)}}
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=folder)
    client.execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    told = "".join(out.get("text", "") for out in outputs)
    assert "0 weights before the first call" in told
    assert "weight on the first key: Keras 1.0, torch 0.0" in told
    assert "h = 8: Keras 132,672   torch  16,640   ours  16,640" in told
    assert "torch                    [nan, nan, nan]" in told
    assert "ours                     [0.0, 0.0, 0.0]" in told
    assert not [out for out in outputs if out.get("name") == "stderr"]
    (table,) = [page for out in outputs if (page := out.get("data", {}).get("text/markdown"))]
    assert "| True in a mask | may look | is hidden | may look |" in table and "MISSED" not in table
