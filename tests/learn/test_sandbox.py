"""An answer may loop, exit, fork, delete or flood: it gets its report, and nothing else changes."""

import json
import os
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from clearhead.learn import sandbox, worker
from clearhead.learn.client import Grader
from clearhead.learn.grading import grade
from clearhead.learn.manifest import course
from clearhead.learn.report import Check, Report
from clearhead.learn.texts import solution
from tests.learn.answers.attention import SELF

HOSTILE = {
    "sys.exit": ("import sys\nsys.exit(0)", "called exit"),
    "os._exit": ("import os\nos._exit(0)", "ended its own process"),
    "fork bomb": ("import os\nwhile True:\n    os.fork()", "not allowed"),
    "subprocess": ("import subprocess\nsubprocess.run(['true'])", "not allowed"),
    "network": ("import socket\nsocket.create_connection(('127.0.0.1', 9))", "not allowed"),
    "kill": ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", "not allowed"),
    "memory": ("x = [bytearray(10**8) for _ in range(1000)]", "memory"),
    "output": ("while True:\n    print('x' * 10**6)", "too large"),
    "huge file": ("with open('big', 'wb') as f:\n    f.write(b'x' * 10**7)", "not allowed"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of Unix")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_gets_its_report(grader: Grader, name: str) -> None:
    text, word = HOSTILE[name]
    report = grader.grade(course().exercise("residual"), text)
    assert not report.passed and word in report.error
    assert len(report.printed) < 1000


BUSY = """
        import time
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
"""
FORGED = json.dumps(asdict(Report("scale", (Check("all", True),)))) + "\n"
# Answers to `scale` that compute nothing themselves, and what the report says.
FORGERIES = {
    "a report on every file": (
        f"import os\nfor n in range(64):\n    try:\n        os.write(n, {FORGED.encode()!r})\n"
        "    except OSError:\n        pass\nos._exit(0)",
        "ended its own process",
    ),
    "the grader replaced": (
        "import clearhead.learn.run as r\nr.Run.get = lambda self, name: self.reference[name]",
        "cannot be imported",
    ),
    "the solution": (
        "from clearhead.learn.texts import solution\nexec(solution('attention'))",
        "cannot be imported",
    ),
    "the solution's lines": (
        "import linecache\nexec(''.join(linecache.getlines('<attention>')))",
        "expected a definition",
    ),
    "the reference": (
        "import sys\ndef attention(*a):\n    f = sys._getframe()\n"
        "    while 'run' not in f.f_locals:\n        f = f.f_back\n"
        "    return f.f_locals['run'].reference['attention'](*a)",
        "library's own version",
    ),
    "the library's function": (
        "from clearhead.blocks import MultiHeadAttentionBlock as M\n"
        "def attention(*a):\n    return M.attention(*a)",
        "library's own version",
    ),
    "a file of the course by another path": (
        "import clearhead\nfolder = clearhead.__file__.rpartition('/')[0]\n"
        "open(folder + '/./learn/content/manifest.toml')",
        "cannot read the course",
    ),
    "a file of the course from its folder": (
        "import clearhead, os\nos.chdir(clearhead.__file__.rpartition('/')[0])\n"
        "open('learn/content/manifest.toml')",
        "cannot read the course",
    ),
    "a file of the course from an open folder": (
        "import clearhead, os\nfolder = os.open(clearhead.__file__.rpartition('/')[0], 0)\n"
        "os.open('learn/content/manifest.toml', 0, dir_fd=folder)",
        "or a folder",
    ),
    "the library's module loaded again": (
        "import importlib\nfrom clearhead.blocks import attention as library\n"
        "attention = importlib.reload(library).MultiHeadAttentionBlock.attention",
        "its solution",
    ),
    "the library's module imported again": (
        "import sys\ndel sys.modules['clearhead.blocks.attention']\n"
        "from clearhead.blocks.attention import MultiHeadAttentionBlock\n"
        "attention = MultiHeadAttentionBlock.attention",
        "its solution",
    ),
    "the hook replaced": (
        "import sys\nsys.modules['clearhead.learn.sandbox'].REFUSED = ()",
        "KeyError",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="the child shares open files on Unix")
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_result_does_not_pass(grader: Grader, name: str) -> None:
    text, word = FORGERIES[name]
    report = grader.grade(course().exercise("scale"), text)
    assert not report.passed and word in report.error
    assert grader.grade(course().exercise("scale"), solution("attention")).passed


@pytest.mark.parametrize(
    "text",
    [
        "from clearhead.blocks import MultiHeadAttentionBlock",
        "import clearhead.blocks as b\n"
        "class MultiHeadAttentionBlock(b.MultiHeadAttentionBlock):\n    pass",
    ],
)
def test_the_librarys_own_block_is_no_answer(grader: Grader, text: str) -> None:
    report = grader.grade(course().exercise("keys-and-values"), text)
    assert not report.passed and "write it yourself" in report.error


def test_a_result_cannot_choose_what_the_reference_leaves_out() -> None:
    with pytest.raises(ValueError, match="not what a run sends"):
        grade("feed-forward", "feed_forward", {"orders": [], "adapted": ["linear_1.weight"]})


@pytest.mark.skipif(not Path("/sys/kernel/security").exists(), reason="needs Linux")
def test_the_kernel_refuses_what_python_does_not(grader: Grader, tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("kept", encoding="utf-8")
    for text in (
        f"import builtins\nbuiltins.isinstance = lambda *a: True\nopen({str(kept)!r}, 'w')",
        f"print(open({str(kept)!r}).read())",  # perhaps the answer of another
        f"import os\nprint(os.listdir({str(tmp_path)!r}))",
    ):
        report = grader.grade(course().exercise("residual"), text)
        assert not report.passed and "kept" not in report.printed
    assert kept.read_text(encoding="utf-8") == "kept"


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


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of Unix")
@pytest.mark.parametrize(
    ("loop", "word"), [("pass", "processor time"), ("import time; time.sleep(1)", "waiting")]
)
def test_an_endless_loop_is_stopped(monkeypatch: pytest.MonkeyPatch, loop: str, word: str) -> None:
    """A loop that runs has not waited, however many other processes run."""
    monkeypatch.setattr(worker, "IDLE_SECONDS", 1.0)
    monkeypatch.setattr(sandbox, "CPU_SECONDS", 2)
    report = worker.grade_text("residual", "residual", f"while True:\n    {loop}")
    assert "does a loop never end" in report.error and word in report.error


def test_where_nothing_is_forked_a_new_interpreter_gives_the_same_reports(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "FORKS", False)
    for text in (solution("residual"), "import sys\nsys.exit(0)"):
        started = worker.grade_text("residual", "residual", text)
        assert started == grader.grade(course().exercise("residual"), text)


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs Linux")
def test_an_answer_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    before = set(os.listdir("/proc"))
    with Grader() as one:
        one.start()
        thread = threading.Thread(
            target=one.grade, args=(course().exercise("residual"), "import time\ntime.sleep(60)")
        )
        thread.start()
        assert one._process is not None
        children = Path(f"/proc/{one._process.pid}/task/{one._process.pid}/children")
        while not (running := children.read_text(encoding="ascii").split()):
            time.sleep(0.05)
    thread.join()
    assert not before.intersection(running)
    deadline = time.monotonic() + 5
    while any(_runs(pid) for pid in running):
        assert time.monotonic() < deadline, "the answer still runs"
        time.sleep(0.05)


def _runs(pid: str) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
            != "Z"
        )
    except OSError:
        return False


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of Unix")
def test_a_slow_answer_has_the_limit_for_each_order_of_its_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sandbox, "CPU_SECONDS", 2)
    text = SELF.replace("super().__init__()", f"super().__init__()\n{BUSY}")
    for name, other in (("query", "one"), ("key", "two"), ("value", "three")):
        text = text.replace(f"self.{name}", f"self.{other}")  # six orders are possible
    before = sum(os.times()[2:4])
    report = worker.grade_text("self-attention", "self_attention", text)
    assert report.passed and sum(os.times()[2:4]) - before > 2.5, str(report)
