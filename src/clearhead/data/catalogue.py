"""The corpora of `clearhead data get`: their addresses, files, sizes and licences.

`catalogue.yaml` lists them.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from clearhead.errors import UserError


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
    """The entry of this name.

    Raises:
        UserError: there is none; the message has the most similar name and all names.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1, cutoff=0.4)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise UserError(f"{name} is not in the catalogue{hint}; expected {', '.join(CATALOGUE)}")


def attribution(spec: str) -> str:
    """Title and licence of each corpus of the catalogue in a value of `--data`.

    A corpus is recognised by the directory and the file name that `clearhead data get` creates.
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
