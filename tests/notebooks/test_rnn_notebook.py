"""The notebook on RNNs runs from top to bottom, as a student would run it."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "rnn.py"


def test_every_cell_runs_and_shows_what_it_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("CLEARHEAD_FAST", "1")
    notebook = jupytext.read(NOTEBOOK)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
    printed = "".join(output.get("text", "") for output in outputs)
    assert "LSTM + attention" in printed
