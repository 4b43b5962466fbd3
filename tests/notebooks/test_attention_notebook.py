"""The notebook on attention runs from top to bottom, as a student would run it."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "attention.py"


def test_every_cell_runs_and_shows_what_it_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("CLEARHEAD_FAST", "1")
    notebook = jupytext.read(NOTEBOOK)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [
        kind
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for kind in output.get("data", {})
    ]
    assert shown.count("image/png") == 8
    assert any("<iframe" in text for text in html_of(notebook))


def html_of(notebook: dict[str, list[dict[str, list[dict[str, dict[str, str]]]]]]) -> list[str]:
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return [output.get("data", {}).get("text/html", "") for output in outputs]
