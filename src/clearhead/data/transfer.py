"""Downloading one file over HTTP; an interrupted download is resumed."""

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from clearhead.errors import UserError

Report = Callable[[int, int | None], None]
"""Called with the number of bytes so far and, if the server sends it, the total."""

TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 16
# Some servers refuse the default name of Python's client.
HEADERS = {"User-Agent": "clearhead (a corpus for learning)"}


class TransferFailed(Exception):
    """A mirror did not deliver; `broke_off`: another attempt may resume the download."""

    def __init__(self, reason: str, broke_off: bool = False) -> None:
        super().__init__(reason)
        self.broke_off = broke_off


class Partial:
    """An incomplete download: `NAME.part`, and `NAME.part.from` with its address and edition.

    The edition is the validator that the server sent (ETag or date). A download is resumed only
    from the same address and edition; otherwise parts of two editions would become one file.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self._origin = target.with_name(f"{target.name}.part.from")

    def resumable(self, url: str) -> tuple[int, str]:
        """The number of bytes from this address, and their edition; or (0, "")."""
        try:
            origin = json.loads(self._origin.read_text(encoding="utf-8"))
            same = origin["url"] == url and bool(origin["edition"])
            return (self.path.stat().st_size, origin["edition"]) if same else (0, "")
        except (OSError, ValueError, KeyError, TypeError):
            return 0, ""

    @contextmanager
    def writing(self, url: str, edition: str, keep: bool) -> Iterator[IO[bytes]]:
        """Open for writing, after the existing bytes (`keep`) or in their place.

        Raises:
            UserError: the disk is full, or the directory is not writable.
        """
        with self.explained():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            origin = json.dumps({"url": url, "edition": edition})
            self._origin.write_text(origin, encoding="utf-8", newline="\n")
            with self.path.open("ab") as stream:
                if not keep:
                    stream.truncate(0)
                    stream.seek(0)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())

    def discard(self) -> None:
        """Delete what has been downloaded."""
        self.path.unlink(missing_ok=True)
        self._origin.unlink(missing_ok=True)

    def complete(self) -> None:
        """Rename the complete file to its final name."""
        with self.explained():
            self.path.replace(self.target)
            self._origin.unlink(missing_ok=True)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn an error of the file system into one line."""
        try:
            yield
        except OSError as error:
            raise UserError(
                f"cannot write {self.path}: {error.strerror or error}; free some space or choose "
                "another directory (the part that has been downloaded is kept and resumed)"
            ) from None


def transfer(url: str, part: Partial, report: Report) -> bool:
    """Download `url` to `part`, resuming it where possible.

    Returns:
        True if earlier bytes were kept.

    Raises:
        TransferFailed: the server cannot be reached, refuses, or breaks off.
        UserError: the file cannot be written.
    """
    with _request(url, part) as response:
        keep = response.status == http.client.PARTIAL_CONTENT
        with part.writing(url, _edition(response), keep) as stream:
            have, total = stream.tell(), _total(response, stream.tell())
            report(have, total)
            for chunk in _chunks(response):
                have += stream.write(chunk)
                report(have, total)
    if total is not None and have < total:
        raise TransferFailed(f"broke off after {have} of {total} bytes", broke_off=True)
    return keep


def _request(url: str, part: Partial) -> http.client.HTTPResponse:
    """Request the rest of the file, or all of it where nothing can be resumed.

    With `If-Range`, a server whose file has changed sends all of it.
    """
    have, edition = part.resumable(url)
    resume = {"Range": f"bytes={have}-", "If-Range": edition} if have else {}
    request = urllib.request.Request(url, headers=HEADERS | resume)
    try:
        with _network():
            response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if have and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.discard()
            raise TransferFailed("has nothing after what is here", broke_off=True) from None
        raise TransferFailed(f"HTTP {error.code} {error.reason}") from None
    sent = response.headers.get("Content-Range", "")
    if response.status == http.client.PARTIAL_CONTENT and not sent.startswith(f"bytes {have}-"):
        response.close()
        part.discard()
        raise TransferFailed(f"sent the range {sent or 'nowhere'}, not {have}-", broke_off=True)
    return response


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        with _network():
            chunk = response.read(CHUNK)
        if not chunk:
            return
        yield chunk


def _edition(response: http.client.HTTPResponse) -> str:
    etag: str = response.headers.get("ETag", "")
    strong = "" if etag.startswith("W/") else etag  # If-Range takes no weak validator
    return strong or response.headers.get("Last-Modified", "")


def _total(response: http.client.HTTPResponse, have: int) -> int | None:
    length: str = response.headers.get("Content-Length", "")
    return have + int(length) if length.isdigit() else None


@contextmanager
def _network() -> Iterator[None]:
    try:
        yield
    except urllib.error.HTTPError:
        raise
    except urllib.error.URLError as error:
        raise TransferFailed(str(getattr(error.reason, "strerror", None) or error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TransferFailed(f"broke off ({reason})", broke_off=True) from None
