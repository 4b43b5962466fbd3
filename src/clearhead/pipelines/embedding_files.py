"""Files of embeddings, written as a stream: TSV or npz.

The vectors are not kept in memory. An npz file begins with their number, so they are stored in a
temporary file until it is known.
"""

import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, Self

import numpy as np

from clearhead.files import begun
from clearhead.pipelines.embedding import Embedded
from clearhead.text.inputs import as_cell

Piece = Callable[[int], str]
BLOCK_ROWS = 4096


class Write(Protocol):
    """Writes embeddings to a file."""

    def __call__(self, found: Iterable[Embedded], file: BinaryIO, width: int) -> None:
        """`width` is the number of dimensions."""


def write_tsv(found: Iterable[Embedded], file: BinaryIO, width: int) -> None:
    """One line per text: its name and vector, with the nine digits that represent a float32."""
    numbers = "\t%.9g" * width
    found = begun(found)
    file.write(("id" + "".join(f"\t{i}" for i in range(width)) + "\n").encode())
    for embedded in found:
        file.write(
            f"{as_cell(embedded.named.name)}{numbers % tuple(embedded.vectors.tolist())}\n".encode()
        )
        file.flush()


def token_tsv(piece: Piece) -> Write:
    """One line per token: name of the text, position, token, vector."""

    def write(found: Iterable[Embedded], file: BinaryIO, width: int) -> None:
        numbers = "\t%.9g" * width + "\n"
        head = "id\tposition\ttoken" + "".join(f"\t{i}" for i in range(width)) + "\n"
        found = begun(found)
        file.write(head.encode())
        for named, ids, vectors in found:
            for position, (token, row) in enumerate(zip(ids, vectors.tolist(), strict=True)):
                start = f"{as_cell(named.name)}\t{position}\t{as_cell(piece(token))}"
                file.write((start + numbers % tuple(row)).encode())
            file.flush()

    return write


def write_npz(found: Iterable[Embedded], file: BinaryIO, width: int) -> None:
    """`ids`, `embeddings` (texts, d_model), and `headers` if the input is FASTA.

    Unpooled, `embeddings` holds all tokens of all texts: those of text i are rows offsets[i] to
    offsets[i + 1].
    """
    pooled, rows, offsets = True, 0, [0]
    with tempfile.TemporaryFile() as vectors, StringArray() as names, StringArray() as headers:
        for embedded in found:
            pooled = embedded.vectors.ndim == 1
            vectors.write(np.ascontiguousarray(embedded.vectors, np.float32).tobytes())
            names.add(embedded.named.name)
            headers.add(embedded.named.header)
            rows += 1 if pooled else len(embedded.vectors)
            offsets.append(rows)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            _member(archive, "ids", (len(offsets) - 1,), names.dtype, names.blocks())
            if headers.longest:
                _member(archive, "headers", (len(offsets) - 1,), headers.dtype, headers.blocks())
            _member(archive, "embeddings", (rows, width), "<f4", _blocks(vectors))
            if not pooled:
                content = np.array(offsets, "<i8").tobytes()
                _member(archive, "offsets", (len(offsets),), "<i8", [content])


class StringArray:
    """An array of texts in a temporary file, since its width is known only at the end."""

    def __init__(self) -> None:
        self.longest = 0

    def __enter__(self) -> Self:
        self.file = tempfile.TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, text: str) -> None:
        """Append a text without line feeds."""
        self.file.write(f"{text}\n".encode())
        self.longest = max(self.longest, len(text))

    @property
    def dtype(self) -> str:
        """In numpy's notation; the width is at least 1."""
        return f"<U{max(1, self.longest)}"

    def blocks(self) -> Iterator[bytes]:
        """The bytes of the array, block by block."""
        self.file.seek(0)
        while lines := list(islice(self.file, BLOCK_ROWS)):
            texts = [line.decode().removesuffix("\n") for line in lines]
            yield np.array(texts, dtype=self.dtype).tobytes()


def _member(
    archive: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    content: Iterable[bytes],
) -> None:
    """One array in the format of `numpy.save`, from blocks of bytes."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        header: dict[str, Any] = {"descr": dtype, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(member, header)
        for block in content:
            member.write(block)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while block := file.read(1 << 20):
        yield block


def writer_for(output: Path | None, pooled: bool, piece: Piece) -> Write:
    """By the extension of the file; standard output is TSV."""
    if output is not None and output.suffix.lower() == ".npz":
        return write_npz
    return write_tsv if pooled else token_tsv(piece)
