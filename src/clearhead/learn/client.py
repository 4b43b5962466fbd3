"""The command line's side of grading: starts the grading process, asks it, restarts it."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from typing import Self

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
        self._ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process without waiting for it; inside bubblewrap, if it is installed."""
        if self._process is None or self._process.poll() is not None:
            bubblewrap = shutil.which("bwrap")
            self._launch((bubblewrap, *BUBBLEWRAP) if bubblewrap else ())

    def grade(self, exercise: Exercise, text: str) -> Report:
        """The report on one answer; a process that dies or hangs is reported and replaced."""
        self._wait_until_ready()
        assert self._process is not None and self._process.stdin is not None
        request = {"exercise": exercise.name, "subject": exercise.subject, "text": text}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return Report.from_dict(json.loads(self._line(ANSWER_SECONDS)))
        except (OSError, ValueError, KeyError, TypeError):
            self.close()
            return Report(exercise.name, error="this answer stopped the grading process")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError), self._process:  # closes its streams, and waits
                pass
        self._process, self._ready = None, False

    def _wait_until_ready(self) -> None:
        """Wait for the first line; without bubblewrap if it fails with it.

        Raises:
            UserError: the process does not start.
        """
        self.start()
        self._ready = self._ready or bool(self._line(START_SECONDS))
        if not self._ready:
            self._launch(())
            self._ready = bool(self._line(START_SECONDS))
        if not self._ready:
            self.close()
            raise UserError("no grading process; check that `python -c 'import torch'` works")

    def _line(self, seconds: float) -> str:
        """The next line of the process; empty if it has ended, or is ended after so long."""
        assert self._process is not None and self._process.stdout is not None
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            return self._process.stdout.readline()
        finally:
            timer.cancel()

    def _launch(self, prefix: tuple[str, ...]) -> None:
        self.close()
        # -P: a file in this folder, perhaps a submission, must not take the place of a module.
        command = [*prefix, sys.executable, "-P", "-m", "clearhead.learn.worker"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env=environment, stderr=subprocess.DEVNULL,
        )  # fmt: skip
