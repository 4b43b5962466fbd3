"""One file over HTTP, taken up where the last attempt broke off."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clearhead.data.partial import Partial

Report = Callable[[int, int | None], None]
"""Called with the bytes that are there and, if the server says, how many there will be."""

TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 16
# Some servers turn away the name that Python gives by default.
HEADERS = {"User-Agent": "clearhead (a corpus for learning)"}


class TransferFailed(Exception):
    """A mirror did not deliver; `broke_off` says that a further attempt may go on."""

    def __init__(self, reason: str, broke_off: bool = False) -> None:
        super().__init__(reason)
        self.broke_off = broke_off


def transfer(url: str, part: Partial, report: Report) -> bool:
    """Bring the content of `url` to `part`, continuing what is there of it.

    Returns:
        Whether earlier bytes were kept.

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
    """Ask for the rest of the file, or for all of it where nothing can be continued.

    With `If-Range` a server whose file has changed sends all of it.
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
    strong = "" if etag.startswith("W/") else etag  # If-Range takes no weak mark
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
