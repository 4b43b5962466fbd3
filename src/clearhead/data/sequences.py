"""Sequences and their labels from FASTA, FASTQ and tables, one record at a time, also gzipped.

| file | what it holds |
|---|---|
| `.fasta`, `.fa`, `.fna`, `.faa`, `.ffn`, `.fas` | sequences; a genome's chromosomes |
| `.fastq`, `.fq` | reads; their quality values are not used |
| `.rda` | a data frame of an R package: mlbench's `DNA.rda`, kernlab's `promotergene.rda` |
| `.csv`, `.tsv`, `.jsonl` | a column of sequences, a column of labels, perhaps names and folds |

Where no column is named, the usual names are tried, in upper or lower case: see `Columns`.

An `.rda` file holds a data frame with a column `Class` and a column for each position: a letter, or
in mlbench's splice junctions three columns of 0 and 1 for each base (A 100, C 010, G 001, T 000).
"""

import io
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from clearhead.data.fasta import ENDINGS, read_fasta
from clearhead.data.lines import open_binary, read_lines
from clearhead.data.pairs import is_blank
from clearhead.data.table import KINDS, Row, kind_of, read_table, text_of
from clearhead.errors import UserError, listed

READS = (".fastq", ".fq")
R_DATA = (".rda", ".rdata")
R_LABEL = "Class"
BASE_OF = {"100": "A", "010": "C", "001": "G", "000": "T"}
_BREAKS = re.compile(r"[\t\r\n\v\f]+")
MISSING = ("nan", "NaN")  # how pandas writes a label that is not known; R's NA may be a class
USUAL = {
    "sequence": ("sequence", "seq", "sequence56", "text"),
    "label": ("label", "labels", "class", "target", "fitness"),
    "name": ("id", "name"),
    "split": ("split", "fold", "set"),
    "mask": ("mask",),
}


class Columns(NamedTuple):
    """What the columns of a table are called; an empty name means the first usual name."""

    sequence: str = ""
    label: str = ""
    split: str = ""


class Record(NamedTuple):
    """A sequence, its label as the file writes it, and which part of the data it belongs to.

    The label is None where the file gives none, or leaves it empty.
    """

    place: str  # FILE, line N
    name: str
    sequence: str
    label: str | None = None
    split: str | None = None
    mask: str | None = None  # 1 where a position's label counts

    @property
    def content(self) -> str:
        """The sequence: equal contents are duplicates."""
        return self.sequence

    @property
    def labels(self) -> list[str]:
        """The label, if there is one."""
        return [] if self.label is None else [self.label]

    @property
    def counted(self) -> list[int]:
        """The positions whose labels count."""
        mask = self.mask or "1" * len(self.sequence)
        return [position for position, one in enumerate(mask) if one == "1"]


def read_records(path: str | Path, columns: Columns | None = None) -> Iterator[Record]:
    """Stream the records of a file; its extension decides the format. Memory holds one record.

    Raises:
        UserError: while iterating: a form that is not read, an empty sequence, the same name
            twice, a missing column (the columns that exist are named), or no record at all.
    """
    refuse_what_is_no_file(path)
    kind = kind_of(path)
    if kind in KINDS:
        found = _from_table(path, columns or Columns())
    elif kind in ENDINGS:
        found = _from_fasta(path)
    elif kind in READS:
        found = _from_fastq(path)
    elif kind in R_DATA:
        found = _from_r(path)
    else:
        raise UserError(
            f"{path}: unknown file extension; expected {', '.join((*ENDINGS, *READS, *KINDS))}, "
            f"each also with .gz, or {', '.join(R_DATA)}; cells also as .h5ad or .mtx"
        )
    return distinct(found, path)


def refuse_what_is_no_file(path: str | Path) -> None:
    """Refuse a directory or a missing file, before its name tells its form."""
    if Path(path).is_dir():
        raise UserError(f"cannot read {path}: it is a directory; give a file in it")
    if not Path(path).exists():
        raise UserError(f"cannot read {path}: no such file; give the name of a file")


def labelled(records: Iterable[Record], path: str | Path) -> list[Record]:
    """All records; each must have a label, and text where there is a column of parts or masks."""
    found = list(records)
    some = any(record.label is not None for record in found)
    for record in found:
        if "" in (record.split, record.mask):
            what = "split" if record.split == "" else "mask"
            raise UserError(f"{record.place}: no {what}; fill it in or remove the record")
        if record.label is None:
            hint = "fill it in or remove the record" if some else _where_labels_are(path)
            raise UserError(f"{record.place}: no label; {hint}")
    return found


def _where_labels_are(path: str | Path) -> str:
    """What to do about records without a label."""
    kind = kind_of(path)
    if kind in KINDS:
        columns = listed([*next(read_table(path)).values])
        return f"the columns are {columns}: name that of the labels: --label-column NAME"
    if kind == ".h5ad":
        return "name the column of obs that holds the cell types: --label-column NAME"
    return (
        "training needs a table (.csv, .tsv, .jsonl) with a column of sequences and a column of "
        "labels, or .h5ad"
    )


def _from_table(path: str | Path, columns: Columns) -> Iterator[Record]:
    rows = read_table(path)
    first = next(rows, None)
    if first is None:
        return
    sequence = _column(first, "sequence", columns.sequence)
    if sequence is None:
        raise UserError(
            f"{first.place}: which of {listed([*first.values])} is the column of sequences? Give "
            "--sequence-column NAME, or begin the file with column names such as sequence,label"
        )
    label = _column(first, "label", columns.label)
    name, mask = _column(first, "name", ""), _column(first, "mask", "")
    split = _column(first, "split", columns.split)
    if label is None and len(first.values) == 2:
        label = next((key for key in first.values if key not in (sequence, name, split)), None)
    if split == label and not columns.split:  # such as a protein's fold, which is to be learned
        split = None
    for number, row in enumerate(chain([first], rows), start=1):
        yield Record(
            row.place,
            text_of(row, name).strip() if name else str(number),
            text_of(row, sequence).strip(),
            _label(row, label) if label else None,
            *(_text(row, key) if key else None for key in (split, mask)),
        )


def _text(row: Row, column: str) -> str:
    """A text that training alone reads: empty where the row has none."""
    value = row.values.get(column)
    return "" if value is None or is_blank(str(value)) else text_of(row, column).strip()


def _label(row: Row, column: str) -> str | None:
    value = row.values.get(column)
    if value is None:
        return None
    # JSON has numbers as well.
    text = json.dumps(value) if isinstance(value, float) else str(value).strip()
    if is_blank(text) or text in MISSING:
        return None
    return text if isinstance(value, float) else text_of(row, column).strip()


def _column(row: Row, role: str, wanted: str) -> str | None:
    """The column of a role: the wanted one, or the first usual name that occurs."""
    if wanted and wanted not in row.values:
        raise UserError(f"{row.place}: no column {wanted!r}; give one of {listed([*row.values])}")
    by_lower_case = {name.lower(): name for name in reversed(row.values)}
    return wanted or next((by_lower_case[n] for n in USUAL[role] if n in by_lower_case), None)


def _from_fasta(path: str | Path) -> Iterator[Record]:
    headers: list[int] = []  # their lines, as far as the file was read

    def lines() -> Iterator[str]:
        for number, line in enumerate(read_lines(path), start=1):
            if line.startswith(">"):
                headers.append(number)
            yield line

    for number, found in enumerate(read_fasta(lines(), str(path))):
        yield Record(f"{path}, line {headers[number]}", found.name, found.sequence)


def _from_fastq(path: str | Path) -> Iterator[Record]:
    try:
        from Bio.SeqIO.QualityIO import FastqGeneralIterator
    except ImportError as error:
        raise UserError(f"{path}: FASTQ needs Biopython: pip install 'clearhead[bio]'") from error

    number = 0
    try:
        with open_binary(path) as stream, io.TextIOWrapper(stream, "utf-8-sig") as lines:
            reads = FastqGeneralIterator(lines)
            for number, (title, sequence, _) in enumerate(reads, start=1):
                name = (title.split() or [str(number)])[0]
                yield Record(f"{path}, read {number}", name, sequence.upper())
    except UserError:  # which is a ValueError as well
        raise
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}, after read {number}: not a text in UTF-8; expected four lines a read, in "
            "plain text or compressed as .gz"
        ) from error
    except ValueError as error:
        raise UserError(
            f"{path}, after read {number}: {str(error).rstrip('.')}; expected four lines a read: "
            "@name, bases, +, qualities"
        ) from error


def _from_r(path: str | Path) -> Iterator[Record]:
    frame = _data_frame(path)
    columns = [name for name in frame.columns if name != R_LABEL]
    texts = ("".join(row) for row in frame[columns].astype(str).to_numpy().tolist())
    for number, (text, label) in enumerate(zip(texts, frame[R_LABEL].astype(str), strict=True), 1):
        sequence = _bases(text) if set(text) <= {"0", "1"} else text.upper()
        known = label if isinstance(label, str) and label not in MISSING else None
        yield Record(f"{path}, row {number}", str(number), sequence, known)


def _data_frame(path: str | Path) -> Any:
    try:
        import rdata
    except ImportError as error:
        raise UserError(f"{path}: .rda needs rdata: pip install 'clearhead[bio]'") from error
    try:
        found = rdata.read_rda(path, default_encoding="ascii")
    except Exception as error:  # the package raises many kinds for a damaged file
        raise UserError(f"cannot read {path} as R data ({error}); copy it again") from error
    frames = [value for value in found.values() if R_LABEL in getattr(value, "columns", ())]
    if len(frames) != 1:
        raise UserError(
            f"{path} holds {', '.join(found)}; expected one data frame with a column {R_LABEL}"
        )
    return frames[0]


def _bases(text: str) -> str:
    return "".join(BASE_OF.get(text[i : i + 3], "N") for i in range(0, len(text), 3))


def distinct(records: Iterable[Record], path: str | Path) -> Iterator[Record]:
    """The records, each with a sequence and a name of its own.

    Tabs and line ends in names and labels become spaces, since results are lines with tabs.

    Raises:
        UserError: while iterating: an empty sequence, the same name twice, or no record at all.
    """
    seen: set[str] = set()
    for found in records:
        label = None if found.label is None else _BREAKS.sub(" ", found.label)
        record = found._replace(name=_BREAKS.sub(" ", found.name), label=label)
        if not record.sequence:
            raise UserError(f"{record.place}: {record.name!r} has no sequence; remove the record")
        if record.name in seen:
            raise UserError(
                f"{record.place}: the name {record.name!r} occurs twice; give each record a name "
                "of its own"
            )
        seen.add(record.name)
        yield record
    if not seen:
        raise UserError(f"{path} holds no record; expected one sequence or more")
