"""Taking named files out of a .zip or .gz archive, and nothing else.

Only members that the catalogue names are written, under the names that it gives:
an archive cannot choose where its content goes.
"""

import gzip
import hashlib
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, cast

from clearhead.data.remote import Member
from clearhead.errors import UserError
from clearhead.files import atomic_save

DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError)


def unpack(archive: Path, members: Sequence[Member], directory: Path) -> list[Path]:
    """Write each member into `directory`, atomically; returns their paths.

    Raises:
        UserError: the archive is damaged, or a member is not in it or has changed.
    """
    if trouble := check_members(archive, members, archive.name):
        raise UserError(f"{archive}: {trouble}; delete it and get it again")
    paths = []
    for member in members:
        path = directory / member.saved_as
        with _opened(archive, member, archive.name) as stream:
            atomic_save(path, partial(_copy, stream))
        paths.append(path)
    return paths


def check_members(archive: Path, members: Sequence[Member], name: str) -> str | None:
    """What is wrong with an archive, or None: damage, a missing member, a wrong checksum.

    Args:
        name: tells the kind of archive by its ending, whatever `archive` is called.
    """
    for member in members:
        try:
            with _opened(archive, member, name) as stream:
                found = _sha256(stream)
        except KeyError:
            return f"it has no member {member.name}"
        except DAMAGED as error:
            return f"it is not a whole {Path(name).suffix} archive ({error})"
        if member.sha256 not in (None, found):
            return f"wrong checksum: {member.name} has sha256 {found}, expected {member.sha256}"
    return None


def sha256_of(path: Path) -> str:
    """The checksum of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return _sha256(stream)


@contextmanager
def _opened(archive: Path, member: Member, name: str) -> Iterator[IO[bytes]]:
    """The content of a member; KeyError if there is none of that name."""
    if not name.endswith(".zip"):
        with gzip.open(archive, "rb") as content:
            yield cast(IO[bytes], content)
        return
    with zipfile.ZipFile(archive) as whole:
        found = [full for full in whole.namelist() if full.rpartition("/")[2] == member.name]
        if not found:
            raise KeyError(member.name)
        with zipfile.Path(whole, found[0]).open("rb") as stream:
            yield stream


def _sha256(stream: IO[bytes]) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def _copy(stream: IO[bytes], path: Path) -> None:
    with path.open("wb") as target:
        shutil.copyfileobj(stream, target, 1 << 20)
