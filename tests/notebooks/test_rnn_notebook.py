"""The notebook on RNNs shows what it promises."""

from tests.notebooks.running import run


def test_every_cell_runs_and_shows_what_it_promises() -> None:
    ran = run("rnn", seconds=600)
    assert len(ran.shown("image/png")) == 3
    assert "LSTM + attention" in ran.printed
