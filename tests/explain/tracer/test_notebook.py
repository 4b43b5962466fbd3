"""The shape walkthrough runs in seconds and shows what its text says."""

import runpy
from itertools import pairwise
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "shapes.py"


def test_the_walkthrough_runs_and_shows_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    names = runpy.run_path(str(NOTEBOOK))
    out = capsys.readouterr().out
    assert out.count("FLOPs  projection_layer.proj: project to the vocabulary") == 1
    assert out.count("⚠ shapes.py:") == 3, "the queries, the keys and the values are mixed"
    trace, x = names["trace"], names["x"]
    assert trace(names["MyAttention"](512, 8), x).mistake.names == ("d_k", "seq_len")
    assert trace(names["Shuffled"](512, 8), x).mistake is None


def test_every_code_cell_follows_an_explanation() -> None:
    kinds = [
        "[markdown]" in line
        for line in NOTEBOOK.read_text(encoding="utf-8").splitlines()
        if line.startswith("# %%")
    ]
    assert kinds[0] and kinds.count(False) >= 8
    assert not any(a == b is False for a, b in pairwise(kinds))
