"""An answer may loop, exit, fork, delete or flood: it gets its report, and nothing else changes."""

import sys
from pathlib import Path

import pytest

from clearhead.learn import worker
from clearhead.learn.client import Grader
from clearhead.learn.manifest import course
from clearhead.learn.texts import solution

HOSTILE = {
    "sys.exit": ("import sys\nsys.exit(0)", "called exit"),
    "os._exit": ("import os\nos._exit(0)", "ended its own process"),
    "fork bomb": ("import os\nwhile True:\n    os.fork()", "not allowed"),
    "subprocess": ("import subprocess\nsubprocess.run(['true'])", "not allowed"),
    "network": ("import socket\nsocket.create_connection(('127.0.0.1', 9))", "not allowed"),
    "kill": ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", "not allowed"),
    "memory": ("x = [bytearray(10**8) for _ in range(1000)]", "memory"),
    "output": ("while True:\n    print('x' * 10**6)", "too large"),
    "huge file": ("with open('big', 'wb') as f:\n    f.write(b'x' * 10**7)", "too large"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of Unix")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_gets_its_report(grader: Grader, name: str) -> None:
    text, word = HOSTILE[name]
    report = grader.grade(course().exercise("residual"), text)
    assert not report.passed and word in report.error
    assert len(report.printed) < 1000


def test_files_outside_the_working_directory_stay(grader: Grader, tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("kept", encoding="utf-8")
    for line in (
        f"os.remove({str(kept)!r})",
        f"open({str(kept)!r}, 'w')",
        f"os.truncate({str(kept)!r}, 0)",
        f"shutil.rmtree({str(tmp_path)!r})",
        f"os.rename({str(kept)!r}, 'moved')",
        f"os.open({str(tmp_path / 'new')!r}, os.O_CREAT | os.O_WRONLY)",
    ):
        report = grader.grade(course().exercise("residual"), f"import os, shutil\n{line}")
        assert "not allowed" in report.error, line
    assert kept.read_text(encoding="utf-8") == "kept" and len(list(tmp_path.iterdir())) == 1


def test_the_next_answer_is_graded_after_a_hostile_one(grader: Grader) -> None:
    grader.grade(course().exercise("residual"), "import os\nos._exit(1)")
    assert grader.grade(course().exercise("residual"), solution("residual")).passed


def test_an_endless_loop_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "WALL_SECONDS", 1.0)
    report = worker.grade_text("residual", "residual", "while True:\n    pass")
    assert "does a loop never end" in report.error
