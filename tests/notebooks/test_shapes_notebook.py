"""The shape walkthrough in a kernel: collapsible pages, and mistakes located in a cell."""

from tests.notebooks.running import run


def test_every_cell_runs_and_shows_what_it_promises() -> None:
    ran = run("shapes")
    pages = [page for page in ran.shown("text/html") if "ch-trace" in page]
    assert len(pages) >= 3 and any("mismatch" in page for page in pages)
    assert "FLOPs  projection_layer.proj: project to the vocabulary" in ran.printed
    assert "⚠ cell:" in ran.printed
    assert not ran.warned
