"""A directory that appears whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clearhead.errors import UserError


def check_free(path: Path) -> None:
    """Nothing may stand where the export shall appear, an empty directory excepted.

    Raises:
        UserError: something does.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UserError(f"{path} is a file or a link; give the name of a new directory, --output")
    if path.is_dir() and any(path.iterdir()):
        raise UserError(
            f"{path} exists and is not empty; give another directory with --output, or remove it"
        )


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A temporary directory to fill; it becomes `path` when the block ends without an error.

    Raises:
        UserError: `path` is taken, or cannot be written.
    """
    check_free(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield temporary
        _publish(temporary, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _publish(temporary: Path, path: Path) -> None:
    for file in temporary.rglob("*"):
        if file.is_file():
            file.chmod(0o644)
            with file.open("rb+") as handle:
                os.fsync(handle.fileno())
    temporary.chmod(0o755)
    check_free(path)
    if path.is_dir():
        path.rmdir()  # empty, see above; Windows renames onto nothing only
    temporary.rename(path)


def _unwritable(path: Path, error: OSError) -> UserError:
    reason = error.strerror or str(error)
    return UserError(
        f"cannot write {path}: {reason}; free some space or choose a directory that you may "
        "write to with --output"
    )
