"""The notebook on Keras shows what its text says."""

from tests.compare.keras_attention.installed import needs_keras
from tests.notebooks.running import run


@needs_keras
def test_every_cell_runs_with_the_stated_results() -> None:
    ran = run("keras_and_torch")
    for line in (
        "0 weights before the first call",
        "weight on the first key: Keras 1.0, torch 0.0",
        "h = 8: Keras 132,672   torch  16,640   ours  16,640",
        "torch                    [nan, nan, nan]",
        "ours                     [0.0, 0.0, 0.0]",
    ):
        assert line in ran.printed
    assert not ran.warned
    (table,) = ran.shown("text/markdown")
    assert "| True in a mask | visible | hidden | visible |" in table and "MISSED" not in table
