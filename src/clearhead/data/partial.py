"""A download that is not complete yet, and where its bytes came from."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from clearhead.errors import UserError


class Partial:
    """`NAME.part`, and beside it `NAME.part.from`: the address, and the edition of the file.

    The edition is the mark that the server gave (ETag or date). Only bytes of
    the same address and edition may be continued, or two editions would become
    one file.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self._origin = target.with_name(f"{target.name}.part.from")

    def resumable(self, url: str) -> tuple[int, str]:
        """How many bytes of this address are there, and their edition; or (0, "")."""
        try:
            origin = json.loads(self._origin.read_text(encoding="utf-8"))
            same = origin["url"] == url and bool(origin["edition"])
            return (self.path.stat().st_size, origin["edition"]) if same else (0, "")
        except (OSError, ValueError, KeyError, TypeError):
            return 0, ""

    @contextmanager
    def writing(self, url: str, edition: str, keep: bool) -> Iterator[IO[bytes]]:
        """Open for adding bytes, after those that are there or instead of them.

        Raises:
            UserError: the disk is full, or the directory cannot be written.
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
        """Forget what is there."""
        self.path.unlink(missing_ok=True)
        self._origin.unlink(missing_ok=True)

    def complete(self) -> None:
        """Give the complete file its name."""
        with self.explained():
            self.path.replace(self.target)
            self._origin.unlink(missing_ok=True)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Say in one line what the disk refuses."""
        try:
            yield
        except OSError as error:
            raise UserError(
                f"cannot write {self.path}: {error.strerror or error}; free some space or choose "
                "another directory (what has arrived is kept and continued)"
            ) from None
