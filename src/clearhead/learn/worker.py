"""The grading process: stays loaded, runs every answer in a restricted child, and judges.

It reads one JSON request per line and answers with one report per line. A child is
forked, so that a check does not pay for loading PyTorch again; where there is no fork,
it is started anew.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO

import torch

from clearhead.learn.answer import run_restricted
from clearhead.learn.grading import grade
from clearhead.learn.report import Report
from clearhead.learn.sandbox import CPU_SECONDS, IDLE_SECONDS

LARGEST_RESULT = 16 << 20
SHOWN = 600  # characters of what the answer printed
FORKS = sys.platform == "linux"  # a library of macOS may start threads, and Windows cannot fork
POLL_SECONDS = 0.5
UNKNOWN_SECONDS = 120.0  # where a system does not say how long a process has been idle
ENDLESS = "does a loop never end?"
ENDED = "the answer ended its own process"


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Grade request after request until the input ends."""
    torch.set_num_threads(1)  # a process with threads cannot be forked safely
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: what an answer leaves behind becomes its child
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in requests:
        request = json.loads(line)
        report = grade_text(request["exercise"], request["subject"], request["text"])
        _end_orphans()
        print(json.dumps(asdict(report)), file=answers, flush=True)


def grade_text(exercise: str, subject: str, text: str) -> Report:
    """The report on the text of an answer, which runs in a child of its own."""
    folder = Path(tempfile.mkdtemp(prefix="clearhead-answer-"))
    try:
        # What it prints goes to a file without a name, which an answer cannot replace.
        with tempfile.TemporaryFile() as stream:
            run = _forked if FORKS else _started
            result, stopped = run(text, exercise, folder, stream)
            printed = _printed(stream)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if stopped:
        return Report(exercise, error=stopped, printed=printed)
    try:
        return replace(grade(exercise, subject, json.loads(result)), printed=printed)
    except Exception:  # noqa: BLE001 - not a result: an answer may send anything
        return Report(exercise, error=ENDED, printed=printed)


def _forked(text: str, exercise: str, folder: Path, printed: IO[bytes]) -> tuple[bytes, str]:
    """What the child sent, or why it was stopped."""
    reading, writing = os.pipe()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setsid()
            _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with this process
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            if os.getppid() == parent:  # which may have ended before that
                run_restricted(text, exercise, folder, writing)
        os._exit(0)
    os.close(writing)
    data, reason = _read(reading, child)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if reason or data:
        return data, reason
    return b"", _reason(os.waitstatus_to_exitcode(status))


def _prctl(option: int, value: int) -> None:
    """Set an option of this process, on Linux."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end_orphans() -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    with contextlib.suppress(OSError):
        while left := children.read_text(encoding="ascii").split():
            for child in map(int, left):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _read(source: int, child: int) -> tuple[bytes, str]:
    start, parts, size = time.monotonic(), list[bytes](), 0
    with os.fdopen(source, "rb", buffering=0) as stream:
        while True:
            ready, _, _ = select.select([stream], [], [], POLL_SECONDS)
            if _is_idle(child, time.monotonic() - start):
                return b"", f"stopped after {IDLE_SECONDS:.0f} s of waiting: {ENDLESS}"
            if not ready:
                continue
            part = stream.read(1 << 20)
            if not part:
                return b"".join(parts), ""
            parts.append(part)
            size += len(part)
            if size > LARGEST_RESULT:
                return b"", "the result is larger than any correct one"


def _is_idle(child: int, seconds: float) -> bool:
    """Whether a process sleeps; on Linux the time in which it waits for a processor is known."""
    try:
        known = Path(f"/proc/{child}/schedstat").read_text(encoding="ascii").split()
        running, waiting = (int(nanoseconds) / 1e9 for nanoseconds in known[:2])
    except (OSError, ValueError):
        return seconds > UNKNOWN_SECONDS
    return seconds - running - waiting > IDLE_SECONDS


def _reason(code: int) -> str:
    if code in (-getattr(signal, "SIGXCPU", 24), -getattr(signal, "SIGKILL", 9)):
        return f"stopped after {CPU_SECONDS} s of processor time: {ENDLESS}"
    if code < 0:
        return f"the answer crashed its process (signal {-code})"
    return f"{ENDED}, or used more memory than the limit"


def _started(text: str, exercise: str, folder: Path, printed: IO[bytes]) -> tuple[bytes, str]:
    """The same where a process cannot be forked: a new interpreter."""
    (folder / "source").write_text(text, encoding="utf-8")
    module = [sys.executable, "-P", "-m", "clearhead.learn.worker"]
    try:
        done = subprocess.run(
            [*module, "--answer", exercise, str(folder)], timeout=UNKNOWN_SECONDS, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=printed,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return b"", f"stopped after {UNKNOWN_SECONDS:.0f} s: {ENDLESS}"
    return done.stdout, "" if done.stdout else _reason(done.returncode)


def _answer(exercise: str, folder: Path) -> None:
    text = (folder / "source").read_text(encoding="utf-8")
    output = os.dup(1)
    os.dup2(2, 1)
    run_restricted(text, exercise, folder, output)


def _printed(stream: IO[bytes]) -> str:
    stream.seek(0)
    text = stream.read(4 * SHOWN).decode("utf-8", "replace")
    return text.strip()[:SHOWN] + ("…" if len(text) > SHOWN else "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        _answer(sys.argv[2], Path(sys.argv[3]))
    else:
        serve(sys.stdin, os.fdopen(os.dup(1), "w", encoding="utf-8"))
