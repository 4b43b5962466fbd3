"""Two processes never train in one run directory."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.training.run_lock import NAME, RunLock
from clearhead.training.session import Session, resume, start

HOLD = """
import sys, time
from pathlib import Path
from clearhead.training.run_lock import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def holder(root: Path) -> "subprocess.Popen[str]":
    """Another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def stop(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_second_process_is_refused_with_the_first_ones_number_and_host(
    session: Session, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    session.run.release()
    first = holder(run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(UserError) as caught:
        resume(run)
    stop(first)
    host = re.escape(socket.gethostname())
    assert re.search(rf"in use by process {first.pid} on {host} since", str(caught.value))
    assert "\n" not in str(caught.value)
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_two_processes_cannot_begin_in_one_directory(session: Session, tmp_path: Path) -> None:
    first = holder(tmp_path / "fresh")
    with pytest.raises(UserError, match=f"in use by process {first.pid} "):
        start(session.recipe, tmp_path / "fresh")
    stop(first)


def test_the_lock_of_a_killed_process_is_stale(session: Session, tmp_path: Path) -> None:
    session.run.release()
    stop(holder(tmp_path / "run"))
    assert (tmp_path / "run" / NAME).exists()
    resume(tmp_path / "run").train()
    assert not (tmp_path / "run" / NAME).exists()


def test_a_released_lock_leaves_no_file_and_lets_another_process_in(tmp_path: Path) -> None:
    first, second = RunLock(tmp_path), RunLock(tmp_path)  # one process may hold it twice
    first.release()
    first.release()
    assert (tmp_path / NAME).exists()
    second.release()
    assert os.listdir(tmp_path) == []
    stop(holder(tmp_path))


def test_where_an_open_file_cannot_be_removed_as_on_windows_the_lock_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "The process cannot access the file", str(path))

    with monkeypatch.context() as windows:
        windows.setattr(Path, "unlink", refuse)
        RunLock(tmp_path).release()
    stop(holder(tmp_path))


@pytest.mark.parametrize("content", ["", "[1]", "nonsense", "[" * 10_000])
def test_a_damaged_lock_file_is_no_obstacle(content: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(content, encoding="utf-8")
    RunLock(tmp_path).release()
