"""Writing files so that a reader never meets half of one, and noticing damaged ones.

A file is written under a temporary name in the same directory, flushed to the
disk, and renamed over the old one: a crash, a kill or a full disk leaves either
the old file or the new one, never a mixture.

`checksums.json` holds the CRC-32 of other files of its directory. It is written last,
and a file that is written again is removed from it first; so a kill at any moment leaves
a file without a checksum at worst, never with a wrong one. A directory without it is read
without a check.
"""

import json
import os
import secrets
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from clearhead.errors import UserError

Item = TypeVar("Item")
CHECKSUMS = "checksums.json"
BLOCK = 1 << 20  # bytes read at a time
IN_USE = (5, 32, 1224)  # on Windows: access denied, sharing violation, mapped
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)  # seconds


def atomic_write(path: str | Path, content: str | bytes) -> None:
    """Replace `path` by `content` (text is written as UTF-8 with `\\n` line ends)."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    atomic_save(path, lambda temporary: temporary.write_bytes(data))


def atomic_save(path: str | Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, then rename it to `path`, or to where that link leads.

    An existing file keeps its permissions; a new one has those that the umask allows.
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
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary, mode = _new_file_beside(target)
        try:
            write(temporary)
            _flush_to_disk(temporary)
            temporary.chmod(mode)
            forget_checksum(target)
            rename_over(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def temporary_name(target: Path) -> Path:
    """An unused hidden name beside the target."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}")


def is_special(path: Path) -> bool:
    """Whether it is a pipe or a device, which is written to and cannot be replaced."""
    return path.exists() and not (path.is_file() or path.is_dir())


def is_same_file(one: Path, other: Path | str) -> bool:
    """Whether both are existing files and one and the same; names may have any length."""
    return os.path.isfile(one) and os.path.isfile(other) and os.path.samefile(one, other)


@contextmanager
def explained(target: Path) -> Iterator[None]:
    """Turn an error of the file system into one line that names `target`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot write {target}: {reason}; free some space or choose a directory "
            "that you may write to (what was saved there before is untouched)"
        ) from error


def crc32_of(path: Path) -> int:
    """The CRC-32 of a file's bytes; about 2.5 GB a second."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def record_checksums(directory: Path, names: Iterable[str]) -> None:
    """Add these files, as they are now, to the directory's checksums.json."""
    new = {name: f"{crc32_of(directory / name):08x}" for name in sorted(names)}
    _write_checksums(directory, _checksums(directory) | new)


def verify_checksum(path: Path) -> None:
    """Refuse a file that differs from its checksum, if it has one, or a damaged checksums.json."""
    expected = _checksums(path.parent).get(path.name)
    if expected is None or not path.is_file():
        return
    if f"{crc32_of(path):08x}" != expected:
        raise UserError(
            f"{path} is damaged: its checksum differs from the one in {CHECKSUMS}; restore it from "
            f"a copy (if it was changed on purpose, delete {path.with_name(CHECKSUMS)})"
        )


def missing_files(directory: Path) -> list[Path]:
    """The files of a directory that have a checksum and are not there.

    Raises:
        UserError: checksums.json is damaged.
    """
    return [directory / name for name in _checksums(directory) if not (directory / name).exists()]


def read_json_object(path: Path, expected: str) -> dict[str, Any]:
    """A JSON object in a file of a model.

    Raises:
        UserError: the file cannot be read (the message ends with what is `expected`), is damaged,
            or holds something else.
    """
    verify_checksum(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; {expected}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a JSON file ({error}); copy the model again") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} holds no JSON object; copy the model again")
    return values


def forget_checksum(path: Path) -> None:
    """Remove a file that is about to be written from the checksums of its directory."""
    listing = path.with_name(CHECKSUMS)
    if path == listing or not listing.exists():
        return
    try:
        sums = _checksums(path.parent)
    except UserError:  # damaged: it protects nothing any more
        listing.unlink()
        return
    if sums.pop(path.name, None) is not None:
        _write_checksums(path.parent, sums)


def _checksums(directory: Path) -> dict[str, str]:
    path = directory / CHECKSUMS
    try:
        sums = json.loads(path.read_text(encoding="utf-8"))["crc32"]
        return {str(name): str(value) for name, value in sums.items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}; make it readable, or delete it to read the "
            "directory without checksums"
        ) from error
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{path} is damaged: it holds no checksums; restore it from a copy, or delete it to "
            "read the directory without checksums"
        ) from error


def _write_checksums(directory: Path, sums: dict[str, str]) -> None:
    atomic_write(directory / CHECKSUMS, json.dumps({"crc32": sums}, indent=2) + "\n")


def _new_file_beside(target: Path) -> tuple[Path, int]:
    """An empty file that is renamed later, and the permissions that it must have by then."""
    old = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    temporary = temporary_name(target)
    # A private file stays private while it is written; the system applies the umask to a new one.
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    handle = os.open(temporary, flags, 0o666 if old is None else 0o600)
    try:
        return temporary, stat.S_IMODE(os.fstat(handle).st_mode) if old is None else old
    finally:
        os.close(handle)


def rename_over(temporary: Path, target: Path) -> None:
    """Windows refuses while another process, say a virus scanner, reads the old file: try again."""
    for pause in PAUSES:
        try:
            temporary.replace(target)
            return
        except OSError as error:
            if getattr(error, "winerror", None) not in IN_USE:
                raise
        time.sleep(pause)
    temporary.replace(target)


def _write_through(target: Path, write: Callable[[Path], object]) -> None:
    with explained(target), tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / "content"
        write(temporary)
        with temporary.open("rb") as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink)


def _flush_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def begun(found: Iterable[Item]) -> Iterator[Item]:
    """The same items, the first computed now: if that fails, no header has been written."""
    every = iter(found)
    return chain(list(islice(every, 1)), every)
