"""The command line's side of grading: starts the grading process, asks it, restarts it."""

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from clearhead.errors import UserError
from clearhead.learn.manifest import Exercise
from clearhead.learn.report import Report

# On a busy machine; a process that has ended is noticed at once.
START_SECONDS, ANSWER_SECONDS = 300.0, 600.0
# A read-only file system and no network; /tmp is where answers run.
BUBBLEWRAP = (
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
    "--unshare-net", "--unshare-pid", "--die-with-parent",
)  # fmt: skip


class Grader:
    """A grading process that is started when it is first needed and kept for the next answer."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()
        self._ready = False

    def start(self) -> None:
        """Start the process without waiting for it."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._launch(_isolated())

    def grade(self, exercise: Exercise, text: str) -> Report:
        """The report on one answer; a process that dies or hangs is reported and replaced."""
        self._wait_until_ready()
        assert self._process is not None and self._process.stdin is not None
        request = {"exercise": exercise.name, "subject": exercise.subject, "text": text}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return Report.from_dict(json.loads(self._lines.get(timeout=ANSWER_SECONDS)))
        except (OSError, queue.Empty, ValueError, KeyError, TypeError):
            self.close()
            return Report(exercise.name, error="this answer stopped the grading process")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        self._process, self._ready = None, False

    def _wait_until_ready(self) -> None:
        """Wait for the first line; without bubblewrap if it fails with it.

        Raises:
            UserError: the process does not start.
        """
        self.start()
        if self._ready or self._says_ready():
            return
        self.close()
        self._launch(())
        if not self._says_ready():
            self.close()
            raise UserError("the grading process did not start; try `python -c 'import torch'`")

    def _says_ready(self) -> bool:
        with contextlib.suppress(queue.Empty):
            self._ready = bool(self._lines.get(timeout=START_SECONDS))
        return self._ready

    def _launch(self, prefix: tuple[str, ...]) -> None:
        # -P: a file in this folder, perhaps a submission, must not take the place of a module.
        command = [*prefix, sys.executable, "-P", "-m", "clearhead.learn.worker"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env=environment, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._lines, self._ready = queue.Queue(), False
        assert self._process.stdout is not None
        arguments = (self._process.stdout, self._lines)
        threading.Thread(target=_copy_lines, args=arguments, daemon=True).start()


def _copy_lines(source: IO[str], target: "queue.Queue[str]") -> None:
    """Line after line; an empty string when the process has ended."""
    with contextlib.suppress(OSError, ValueError):
        for line in source:
            target.put(line)
    target.put("")


def _isolated() -> tuple[str, ...]:
    """bubblewrap and its options, if it is installed."""
    path = shutil.which("bwrap")
    return (path, *BUBBLEWRAP) if path else ()


@contextmanager
def grader() -> Iterator[Grader]:
    """A grader for a `with` statement."""
    one = Grader()
    try:
        yield one
    finally:
        one.close()
