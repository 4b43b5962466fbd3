"""The grading process: stays loaded, runs every answer in a restricted child, and judges.

It reads one JSON request per line and answers with one report per line. A child is
forked, so that a check does not pay for loading PyTorch again; where there is no fork,
it is started anew.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import IO

import torch

from clearhead.learn.answer import run_restricted
from clearhead.learn.grading import grade
from clearhead.learn.report import Report
from clearhead.learn.sandbox import CPU_SECONDS, WALL_SECONDS

LARGEST_RESULT = 64 << 20
SHOWN = 600  # characters of what the answer printed
HAS_FORK = hasattr(os, "fork")


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Grade request after request until the input ends."""
    torch.set_num_threads(1)  # a process with threads cannot be forked safely
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in requests:
        request = json.loads(line)
        report = grade_text(request["exercise"], request["subject"], request["text"])
        print(json.dumps(report.to_dict()), file=answers, flush=True)


def grade_text(exercise: str, subject: str, text: str) -> Report:
    """The report on the text of an answer, which runs in a child of its own."""
    folder = Path(tempfile.mkdtemp(prefix="clearhead-answer-"))
    try:
        result, stopped = (_forked if HAS_FORK else _started)(text, exercise, folder)
        printed = _printed(folder / "printed")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if stopped:
        return Report(exercise, error=stopped, printed=printed)
    try:
        return replace(grade(exercise, subject, json.loads(result)), printed=printed)
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):  # not a result
        return Report(exercise, error="the answer ended its own process", printed=printed)


def _forked(text: str, exercise: str, folder: Path) -> tuple[bytes, str]:
    """What the child sent, or why it was stopped."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.close(reading)
            os.setsid()
            run_restricted(text, exercise, folder, writing)
        os._exit(0)
    os.close(writing)
    data, reason = _read(reading)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if reason or data:
        return data, reason
    return b"", _reason(os.waitstatus_to_exitcode(status))


def _read(source: int) -> tuple[bytes, str]:
    deadline, size = time.monotonic() + WALL_SECONDS, 0
    parts: list[bytes] = []
    with os.fdopen(source, "rb", buffering=0) as stream:
        while True:
            ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return b"", f"stopped after {WALL_SECONDS:.0f} s: does a loop never end?"
            part = stream.read(1 << 20)
            if not part:
                return b"".join(parts), ""
            parts.append(part)
            size += len(part)
            if size > LARGEST_RESULT:
                return b"", "the result is larger than any correct one"


def _reason(code: int) -> str:
    if code in (-getattr(signal, "SIGXCPU", 24), -getattr(signal, "SIGKILL", 9)):
        return f"stopped after {CPU_SECONDS} s of processor time: does a loop never end?"
    if code < 0:
        return f"the answer crashed its process (signal {-code})"
    return "the answer ended its own process, or used more memory than the limit"


def _started(text: str, exercise: str, folder: Path) -> tuple[bytes, str]:
    """The same where a process cannot be forked: a new interpreter."""
    source, result = folder / "source", folder / "result"
    source.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "clearhead.learn.worker", "--answer", exercise, str(folder)]
    try:
        done = subprocess.run(command, timeout=WALL_SECONDS, check=False, capture_output=True)
    except subprocess.TimeoutExpired:
        return b"", f"stopped after {WALL_SECONDS:.0f} s: does a loop never end?"
    return (result.read_bytes(), "") if result.exists() else (b"", _reason(done.returncode))


def _answer(exercise: str, folder: Path) -> None:
    text = (folder / "source").read_text(encoding="utf-8")
    output = os.open(folder / "result", os.O_WRONLY | os.O_CREAT)
    run_restricted(text, exercise, folder, output)


def _printed(path: Path) -> str:
    with contextlib.suppress(OSError):
        with path.open("rb") as stream:
            text = stream.read(4 * SHOWN).decode("utf-8", "replace")
        return text.strip()[:SHOWN] + ("…" if len(text) > SHOWN else "")
    return ""


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        _answer(sys.argv[2], Path(sys.argv[3]))
    else:
        serve(sys.stdin, os.fdopen(os.dup(1), "w", encoding="utf-8"))
