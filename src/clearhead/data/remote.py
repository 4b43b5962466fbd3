"""What can be fetched: a corpus, its files, and what is taken out of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """A file inside an archive; of a plain .gz file, its content.

    Attributes:
        name: its file name in the archive, without directories.
        saved_as: the name that it gets on disk.
        sha256: of its content, where it is known.
    """

    name: str
    saved_as: str
    sha256: str | None = None


@dataclass(frozen=True)
class RemoteFile:
    """An archive (.zip or .gz) on the network, and what is taken out of it.

    `mirrors` are tried in order. Where `sha256` is None, the checksum of the
    first download is kept beside the file and asked for ever after.
    """

    name: str
    mirrors: tuple[str, ...]
    members: tuple[Member, ...]
    sha256: str | None = None


@dataclass(frozen=True)
class Corpus:
    """An entry of the catalogue; `spec` is what `--data` takes, `{}` being the directory."""

    title: str
    pairs: str
    size: str
    licence: str
    files: tuple[RemoteFile, ...]
    spec: str
