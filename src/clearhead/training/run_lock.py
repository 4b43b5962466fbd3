"""One process trains in a run directory: a lock that the system releases when it ends.

The lock is of the operating system (flock, on Windows a locked byte), so a killed process
leaves a file but no lock. The file says which process holds it.
"""

import errno
import json
import logging
import os
import socket
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from clearhead.errors import UserError
from clearhead.files import explained

log = logging.getLogger("clearhead.train")

NAME = ".lock"
REFUSED = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)  # another process holds the lock
# Where Windows locks a byte: far behind the text, which stays readable.
_FAR = 1 << 30


class RunLock:
    """Held from construction to `release`, at the latest until the object or the process ends.

    Locks of one process on one directory exclude other processes, but not each other: a
    notebook may resume a run that its last cell stopped.

    Raises:
        UserError: another process holds it, or the directory cannot be written.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        with explained(root):
            root.mkdir(parents=True, exist_ok=True)
            self._held = _own(root / NAME) or _acquire(root)
        self._held.count += 1
        self._release = weakref.finalize(self, _release, self._held, root / NAME)

    def release(self) -> None:
        """Let other processes train here; a second call does nothing."""
        self._release()

    def check_directory(self) -> None:
        """Find a directory that was removed, moved or replaced while the run goes on.

        Raises:
            UserError: it was; nothing can be saved there.
        """
        if not _is_same(self._held.file, self.root / NAME):
            raise UserError(
                f"{self.root} was removed or replaced while the run trained in it, so nothing more "
                "can be saved there; put it back and resume, or start a new run"
            )


@dataclass
class _Held:
    """An open, locked file and how many locks of this process share it."""

    file: IO[str]
    count: int = 0


_all_held: list[_Held] = []


def _own(path: Path) -> _Held | None:
    """The lock on this file, if this process has it."""
    return next((held for held in _all_held if _is_same(held.file, path)), None)


def _release(held: _Held, path: Path) -> None:
    held.count -= 1
    if held.count == 0:
        _all_held.remove(held)
        # Windows does not remove an open file: there it stays, unlocked.
        with held.file, suppress(PermissionError):
            if _is_same(held.file, path):
                path.unlink(missing_ok=True)


def _acquire(root: Path) -> _Held:
    path = root / NAME
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            _lock(file.fileno())
        except OSError as error:
            if error.errno in REFUSED:
                file.close()
                raise UserError(
                    f"{root} is in use by {_holder(path)}; wait until it ends, stop it, "
                    "or choose another --run-dir"
                ) from None
            log.warning("%s cannot be locked (%s); start no second training in it", root, error)
        if _is_same(file, path):  # else its last holder has just removed it
            break
        file.close()
    file.truncate(0)
    started = time.strftime("%Y-%m-%d %H:%M:%S")
    json.dump({"pid": os.getpid(), "host": socket.gethostname(), "started": started}, file)
    file.flush()
    _all_held.append(_Held(file))
    return _all_held[-1]


def _lock(handle: int) -> None:
    if os.name == "nt":
        import msvcrt

        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(path: Path) -> str:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return f"process {values['pid']} on {values['host']} since {values['started']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _is_same(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False
