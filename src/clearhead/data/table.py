"""Rows with named columns from CSV, TSV and JSONL files."""

import csv
import difflib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from clearhead.data.lines import read_lines
from clearhead.data.pairs import is_blank, parse_json
from clearhead.errors import UserError, counted, listed

KINDS = (".csv", ".tsv", ".jsonl")


class Row(NamedTuple):
    """One row; `place` is its "FILE, line N", for error messages, `header` that of its names."""

    place: str
    values: dict[str, Any]  # texts; JSONL may have other types
    header: str


def kind_of(path: str | Path) -> str:
    """The extension of a file in lower case; `.gz` is ignored."""
    name = Path(path)
    return (name.with_suffix("") if name.suffix == ".gz" else name).suffix.lower()


def read_table(path: str | Path) -> Iterator[Row]:
    """Stream the rows of a file; the first line of CSV and TSV names the columns.

    CSV is comma-separated, with quotes as spreadsheets write them (a quoted text may contain
    commas and line ends); in TSV a quote is an ordinary character. Blank lines are skipped.

    Raises:
        UserError: another kind of file, no header, a row with more or fewer columns than
            the header, or a line that is no JSON object.
    """
    kind = kind_of(path)
    if kind not in KINDS:
        raise UserError(
            f"{path}: unknown file extension, expected {', '.join(KINDS)}, each also with .gz"
        )
    return _objects(path) if kind == ".jsonl" else _lines(path, kind)


def column(row: Row, name: str, keys: Sequence[str] = ("text", "label")) -> Any:
    """The value of a column, or a UserError with those that exist and the keys that name them."""
    if name not in row.values:
        lower = {str(known).lower(): known for known in row.values}
        near = difflib.get_close_matches(name.lower(), lower, n=1)
        hint = f" (did you mean {lower[near[0]]!r}?)" if near else ""
        given = " ".join(f"--set data.{key}=NAME" for key in keys)
        raise UserError(
            f"{row.header}: there is no column {name!r}{hint}; choose among "
            f"{listed([*map(str, row.values)])} with {given} (a CSV or TSV file begins with a line "
            "of column names)"
        )
    return row.values[name]


def text_of(row: Row, name: str) -> str:
    """The text in a column; integers and booleans of JSON are converted to text.

    Raises:
        UserError: there is no such column, or it is empty or not a text.
    """
    value = column(row, name)
    if isinstance(value, bool | int):
        value = json.dumps(value)
    if not isinstance(value, str):
        held = "nothing" if value is None else f"a value of type {type(value).__name__}"
        raise UserError(f"{row.place}: {name!r} holds {held}, expected a text")
    if is_blank(value):
        raise UserError(f"{row.place}: {name!r} is empty; fill it in or remove the row")
    return value


def _lines(path: str | Path, kind: str) -> Iterator[Row]:
    names: list[str] | None = None
    for number, cells in _cells(path) if kind == ".csv" else _columns(path):
        place = f"{path}, line {number}"
        if not cells or (len(cells) == 1 and is_blank(cells[0])):
            continue
        if names is None:
            names, header = _header(cells, place), place
            continue
        if len(cells) != len(names):
            raise UserError(
                f"{place}: {counted(len(cells), 'column')} where the header names {len(names)} "
                f"({listed(names)}); repair or remove the line"
            )
        yield Row(place, dict(zip(names, cells, strict=True)), header)


def _columns(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line of TSV, with its number."""
    return ((n, line.split("\t")) for n, line in enumerate(read_lines(path), start=1))


def _cells(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row of CSV, with the number of its last line."""
    csv.field_size_limit(2**31 - 1)  # of the process; a cell may hold a whole chapter
    reader = csv.reader((f"{line}\n" for line in read_lines(path)), strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise UserError(
            f"{path}, line {reader.line_num}: not CSV ({error}); quote texts with commas or "
            "quotes in them as a spreadsheet does, or save as TSV"
        ) from error


def _header(cells: list[str], place: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(set(names)) != len(names) or not all(names):
        matrix = "; save a matrix of cells by genes as .h5ad" if not names[0] else ""
        raise UserError(
            f"{place}: the header {listed([*map(repr, names)])} does not name each column once; "
            f"expected one name for each, such as text,label{matrix}"
        )
    if len(names) == 1 and (other := [mark for mark in (";", "\t") if mark in names[0]]):
        raise UserError(
            f"{place}: {other[0]!r} seems to separate the columns; expected a comma in .csv and a "
            "tab in .tsv; save or rename the file"
        )
    return names


def _objects(path: str | Path) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path), start=1):
        if is_blank(line):
            continue
        place = f"{path}, line {number}"
        values = parse_json(line, place)
        if not isinstance(values, dict):
            raise UserError(
                f"{place}: not a JSON object; expected one per line, with column names as keys"
            )
        if "\\ud" in line.lower():  # only an escape can be half of a surrogate pair
            try:
                json.dumps(values, ensure_ascii=False).encode("utf-8")
            except UnicodeEncodeError:
                raise UserError(
                    f"{place}: half of a surrogate pair, which is not a character; expected valid "
                    "Unicode"
                ) from None
        yield Row(place, values, place)
