"""Public corpora: the catalogue with addresses, files, sizes and licences, and their download.

Mirrors are tried in turn, and the sha256 is checked. Only members that the catalogue names are
unpacked, under the names in the catalogue: an archive cannot choose where its content is written.
"""

import difflib
import gzip
import hashlib
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, cast

import yaml

from clearhead.data.transfer import Partial, Report, TransferFailed, transfer
from clearhead.errors import UserError
from clearhead.files import atomic_save, atomic_write


@dataclass(frozen=True)
class Member:
    """A file inside an archive; for a plain .gz file, its content.

    Attributes:
        name: its file name in the archive, without directories, and on disk.
        sha256: the checksum of its content, where it is known.
    """

    name: str
    sha256: str | None = None


@dataclass(frozen=True)
class RemoteFile:
    """An archive (.zip or .gz) on the network, and the members that are unpacked.

    `mirrors` are tried in order. Where `sha256` is None, the checksum of the first download is
    saved next to the file and checked from then on.
    """

    name: str
    mirrors: tuple[str, ...]
    members: tuple[Member, ...]
    sha256: str | None = None


@dataclass(frozen=True)
class Corpus:
    """An entry of the catalogue; `spec` is the value of `--data`, with `{}` for the directory."""

    title: str
    pairs: str
    size: str
    licence: str
    files: tuple[RemoteFile, ...]
    spec: str
    unit: str = "pairs"  # of what `pairs` counts
    command: str = "clearhead train en_fr --data"  # that takes `spec`


def find_corpus(name: str) -> Corpus:
    """The entry of this name, or a UserError with the most similar name and all names."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1, cutoff=0.4)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise UserError(f"{name} is not in the catalogue{hint}; expected {', '.join(CATALOGUE)}")


def attribution(spec: str) -> str:
    """Title and licence of each corpus of the catalogue in a value of `--data`.

    A corpus is recognized by the directory and the file name that `clearhead data get` creates.
    """
    named = endings(spec)
    return "; ".join(
        f"{corpus.title}, {corpus.licence}"
        for name, corpus in CATALOGUE.items()
        if named & endings(corpus.spec.format(name))
    )


def endings(spec: str) -> set[tuple[str, ...]]:
    """The last directory and the name of each file in a value of `--data`; ("grammar",) of ours."""
    return {
        ("grammar",) if part.startswith("grammar:") else Path(part).parts[-2:]
        for part in re.split(r" \+ |,", spec)
    }


def _files(groups: list[dict[str, Any]]) -> Iterator[RemoteFile]:
    for group in groups:
        for name, members in group["archives"].items():
            mirrors = tuple(url.format(name=name) for url in group["mirrors"])
            unpacked = tuple(Member(member, sha256) for member, sha256 in members.items())
            yield RemoteFile(name, mirrors, unpacked, group.get("sha256"))


def _read() -> dict[str, Corpus]:
    text = files(__package__).joinpath("catalogue.yaml").read_text(encoding="utf-8")
    return {
        name: Corpus(files=tuple(_files(entry.pop("files"))), **entry)
        for name, entry in yaml.safe_load(text).items()
    }


CATALOGUE = _read()


ATTEMPTS = 5
"""How often a mirror is asked for the rest of an interrupted download."""
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError)


def download_corpus(
    corpus: Corpus, directory: Path, report: Callable[[str, int, int | None], None]
) -> str:
    """Download every file of a corpus to `directory` and unpack it there.

    A file that exists is checked and not downloaded again, even if it was copied there by hand.

    Args:
        report: called with a file's name, its bytes so far, and its size if known.

    Returns:
        The value of `--data` that trains on it.

    Raises:
        UserError: no mirror delivers, or a checksum differs.
    """
    for file in corpus.files:
        archive = fetch(file, directory, partial(report, file.name))
        unpack(archive, file.members, directory)
    return corpus.spec.format(directory)


def fetch(file: RemoteFile, directory: Path, report: Report) -> Path:
    """Download one file to `directory` and check it; returns its path.

    Raises:
        UserError: no mirror delivers, or the existing file has another checksum.
    """
    path = directory / file.name
    if path.exists():
        if trouble := _trouble(path, file, _note(path)):
            raise UserError(f"{path}: {trouble}; delete it and run the command again")
    else:
        _fetch_from_mirrors(file, path, report)
    if file.sha256 is None and not _note(path).exists():
        atomic_write(_note(path), f"{sha256_of(path)}  {path.name}\n")
    return path


def _fetch_from_mirrors(file: RemoteFile, path: Path, report: Report) -> None:
    reasons = []
    for url in file.mirrors:
        try:
            _fetch_from(url, file, path, report)
            return
        except TransferFailed as failure:
            reasons.append(f"{url} ({failure})")
    raise UserError(
        f"could not get {file.name}: {'; '.join(reasons)}; try again later (the part that "
        f"has been downloaded is kept), or copy the file to {path} and run the command again"
    )


def _fetch_from(url: str, file: RemoteFile, path: Path, report: Report) -> None:
    """Request the file from one mirror until it is complete and correct, or attempts run out."""
    part = Partial(path)
    failure = TransferFailed("no attempt was made")
    for _ in range(ATTEMPTS):
        try:
            continued = transfer(url, part, report)
        except TransferFailed as broken:
            if not broken.broke_off:
                raise
            failure = broken
            continue
        trouble = _trouble(part.path, file, _note(path))
        if trouble is None:
            part.complete()
            return
        part.discard()
        failure = TransferFailed(trouble)
        if not continued:  # a complete download would be the same again
            break
    raise failure


def _trouble(path: Path, file: RemoteFile, note: Path) -> str | None:
    """What is wrong with a downloaded file, or None."""
    expected, origin = file.sha256, "expected"
    if expected is None and note.exists():
        expected, origin = _noted(note), f"the first download (see {note}) had"
    if expected:
        found = sha256_of(path)
        if found != expected:
            return f"wrong checksum: sha256 is {found}, {origin} {expected}"
    return check_members(path, file.members, file.name)


def _note(path: Path) -> Path:
    """The file with the checksum of the first download, in the format of `sha256sum -c`."""
    return path.with_name(f"{path.name}.sha256")


def _noted(note: Path) -> str:
    words = note.read_text(encoding="utf-8").split()
    if not words or not re.fullmatch("[0-9a-f]{64}", words[0]):
        raise UserError(f"{note} holds no sha256 checksum; delete it and run the command again")
    return words[0]


def unpack(archive: Path, members: Sequence[Member], directory: Path) -> list[Path]:
    """Write each member into `directory`, atomically; returns their paths.

    Raises:
        UserError: the archive is damaged, or a member is missing or has changed.
    """
    if trouble := check_members(archive, members, archive.name):
        raise UserError(f"{archive}: {trouble}; delete it and download it again")
    paths = []
    for member in members:
        path = directory / member.name
        with _opened(archive, member, archive.name) as stream:
            atomic_save(path, partial(_copy, stream))
        paths.append(path)
    return paths


def check_members(archive: Path, members: Sequence[Member], name: str) -> str | None:
    """What is wrong with an archive, or None: damage, a missing member, a wrong checksum.

    Args:
        name: its extension decides the kind of archive, whatever `archive` is called.
    """
    for member in members:
        try:
            with _opened(archive, member, name) as stream:
                found = _sha256(stream)
        except KeyError:
            return f"it has no member {member.name}"
        except DAMAGED as error:
            return f"it is not a complete {Path(name).suffix} archive ({error})"
        if member.sha256 not in (None, found):
            return f"wrong checksum: {member.name} has sha256 {found}, expected {member.sha256}"
    return None


def sha256_of(path: Path) -> str:
    """The checksum of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return _sha256(stream)


@contextmanager
def _opened(archive: Path, member: Member, name: str) -> Iterator[IO[bytes]]:
    """The content of a member; KeyError if there is none of this name."""
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
