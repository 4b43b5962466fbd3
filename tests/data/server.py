"""A small web server on this machine that misbehaves on command."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server holds, and how it behaves.

    Attributes:
        files: path to content; any other path is a 404.
        breaks: path to how many bytes each answer may carry before the line goes dead.
        ranges: whether `Range` is understood.
        edition: the ETag of every file; "" sends none.
        wrong_range: answer a `Range` with other bytes than those asked for.
        asked: the requests so far, as (path, Range header or "").
    """

    files: dict[str, bytes]
    breaks: dict[str, int] = field(default_factory=dict)
    ranges: bool = True
    edition: str = '"1"'
    wrong_range: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)
    address: str = ""


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Site]:
    site = Site(files)
    handler = type("SiteHandler", (_Handler,), {"site": site})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        site.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        site, asked = self.site, self.headers.get("Range", "")
        site.asked.append((self.path, asked))
        content = site.files.get(self.path)
        if content is None:
            self.send_error(404, "Not Found")
            return
        start = self._start(asked)
        if start > 0 and start >= len(content):
            self.send_error(416)
            return
        self._send(content, start)

    def _start(self, asked: str) -> int:
        same = self.headers.get("If-Range") == self.site.edition
        return int(asked[6:-1]) if asked and same and self.site.ranges else 0

    def _send(self, content: bytes, start: int) -> None:
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            first = 0 if self.site.wrong_range else start
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        if self.site.edition:
            self.send_header("ETag", self.site.edition)
        self.end_headers()
        limit = self.site.breaks.get(self.path, len(content))
        self.wfile.write(content[start : start + limit])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
