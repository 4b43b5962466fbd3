"""Writing files so that a reader never meets half of one.

A file is written under a temporary name in the same directory, flushed to the
disk, and renamed over the old one: a crash, a kill or a full disk leaves either
the old file or the new one, never a mixture.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clearhead.errors import UserError


def atomic_write(path: str | Path, content: str | bytes) -> None:
    """Replace `path` by `content` (text is written as UTF-8 with `\\n` line ends)."""
    data = content.encode("utf-8") if isinstance(content, str) else content

    def write(temporary: Path) -> None:
        temporary.write_bytes(data)

    atomic_save(path, write)


def atomic_save(path: str | Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file, then rename it to `path`, or to where that link leads.

    A device or a pipe (/dev/null, /dev/stdout) cannot be replaced: it is written to.

    Raises:
        UserError: the directory cannot be written or the disk is full; what
            stood at `path` before still stands there.
    """
    target = Path(path)
    if is_special(target):
        _write_through(target, write)
        return
    target = Path(os.path.realpath(target))
    with _explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            _flush_to_disk(temporary)
            temporary.chmod(0o644)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def is_special(path: Path) -> bool:
    """Whether it is a pipe or a device, which is written to and cannot be replaced."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _write_through(target: Path, write: Callable[[Path], None]) -> None:
    with _explained(target), tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / "content"
        write(temporary)
        with temporary.open("rb") as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink)


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot write {target}: {reason}; free some space or choose a directory "
            "that you may write to (what was saved there before is untouched)"
        ) from error


def _flush_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
