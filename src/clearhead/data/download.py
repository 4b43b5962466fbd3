"""Fetching a corpus of the catalogue: mirrors in turn, checked by sha256, then unpacked."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from clearhead.data.partial import Partial
from clearhead.data.remote import Corpus, RemoteFile
from clearhead.data.transfer import Report, TransferFailed, transfer
from clearhead.data.unpack import check_members, sha256_of, unpack
from clearhead.errors import UserError
from clearhead.files import atomic_write

ATTEMPTS = 5
"""Times that a mirror which breaks off is asked for the rest."""


def download_corpus(
    corpus: Corpus, directory: Path, report: Callable[[str, int, int | None], None]
) -> str:
    """Bring every file of a corpus to `directory` and unpack it there.

    What is there already is checked and not fetched again, so a file that was
    put there by hand serves as well.

    Args:
        report: called with a file's name, its bytes so far, and its size if known.

    Returns:
        What `--data` takes to train on it.

    Raises:
        UserError: no mirror delivers, or a checksum differs.
    """
    for file in corpus.files:
        archive = fetch(file, directory, partial(report, file.name))
        unpack(archive, file.members, directory)
    return corpus.spec.format(directory)


def fetch(file: RemoteFile, directory: Path, report: Report) -> Path:
    """Bring one file to `directory`, checked; returns its path.

    Raises:
        UserError: no mirror delivers; the file that is there has another checksum.
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
        f"could not get {file.name}: {'; '.join(reasons)}; try again later (what has arrived is "
        f"kept), or get the file by other means, put it at {path} and run the command again"
    )


def _fetch_from(url: str, file: RemoteFile, path: Path, report: Report) -> None:
    """Ask one mirror until the whole file is there and right, or clearly will not be."""
    part = Partial(path)
    failure = TransferFailed("not asked")
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
        if not continued:  # what came in one piece will not come out differently
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
    """Where the checksum of the first download is kept, in the form of `sha256sum -c`."""
    return path.with_name(f"{path.name}.sha256")


def _noted(note: Path) -> str:
    words = note.read_text(encoding="utf-8").split()
    if not words or not re.fullmatch("[0-9a-f]{64}", words[0]):
        raise UserError(f"{note} holds no sha256 checksum; delete it and run the command again")
    return words[0]
