"""The notebook on attention shows what it promises."""

from tests.notebooks.running import run


def test_every_cell_runs_and_shows_what_it_promises() -> None:
    ran = run("attention")
    assert len(ran.shown("image/png")) == 8
    assert any("<iframe" in page for page in ran.shown("text/html"))
