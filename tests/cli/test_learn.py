"""`clearhead learn`: each output shows the command that comes next."""

import re
from pathlib import Path

import pytest

from clearhead.cli.main import run
from clearhead.learn.texts import solution

ANSWER = "an RNN needs n steps one after the other and attention only one for all words at once"


def test_the_first_exercise_is_passed_after_three_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["learn"]) != 0
    assert "change to yours, or run `clearhead learn start`" in capsys.readouterr().err
    assert run(["learn", "start"]) == 0
    shown = capsys.readouterr().out
    folder = re.search(r"cd (\S+)", shown)
    edited = re.search(r"edit (\S+) and run: clearhead learn check$", shown, re.MULTILINE)
    assert folder and edited
    monkeypatch.chdir(folder[1])
    with Path(edited[1]).open("a", encoding="utf-8") as file:
        file.write(ANSWER)
    assert run(["learn", "check"]) == 0
    shown = capsys.readouterr().out
    following = re.search(r"Edit (\S+), then run: clearhead learn check (\S+)$", shown)
    assert "1 of 1 checks passed" in shown and following
    assert run(["learn", "check", following[1]]) == run(["learn", "check", following[2]]) == 1
    assert f"file: {following[1]}" in capsys.readouterr().out
    Path(following[1]).write_text(solution("attention"), encoding="utf-8")
    assert run(["learn", "check", following[2]]) == 0
    assert "Next: " in capsys.readouterr().out
