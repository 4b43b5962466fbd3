"""The notebook on generation shows what it promises."""

import re

from tests.notebooks.running import run


def test_every_cell_runs_and_shows_what_it_promises() -> None:
    ran = run("generation")
    assert len(ran.shown("image/png")) == 4
    assert not ran.warned
    difference = re.search(r"after ten steps: (\S+)", ran.printed)
    assert difference and float(difference[1]) < 1e-5
    for drawn in re.findall(r"probability (0\.\d+)  drawn (0\.\d+)", ran.printed):
        assert abs(float(drawn[0]) - float(drawn[1])) < 0.05
    assert "Generated(prompt='The cat'" in ran.printed
