"""Pairs in JSON lines, and the forms of a pair in one record."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from clearhead.data.lines import one_line, read_lines
from clearhead.data.pairs import Pair, Pairs, is_blank
from clearhead.errors import UserError


class JsonlPairs(Pairs):
    """One JSON object a line, in one of the forms of `pair_from_record`; blank lines are skipped.

    Raises:
        UserError: while iterating, for a line that is not such an object.
    """

    def __init__(self, path: Path, source_lang: str = "en", target_lang: str = "fr") -> None:
        self.path, self.name = path, str(path)
        self.source_lang, self.target_lang = source_lang, target_lang

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (described by Pairs)
        for line in self.numbered(read_lines(self.path)):
            if not is_blank(line):
                location = self.location
                record = parse_json(line, location)
                yield pair_from_record(record, location, self.source_lang, self.target_lang)


def parse_json(line: str, location: str) -> object:
    """The JSON value of a line.

    Raises:
        UserError: the line is not JSON.
    """
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it cannot be parsed")
        column = getattr(error, "colno", 1)
        raise UserError(
            f"{location}, column {column}: not JSON ({reason}); expected one object a line"
        ) from None
    return parsed


def pair_from_record(
    record: object, location: str, source_lang: str = "en", target_lang: str = "fr"
) -> Pair:
    """Read `{"source", "target"}`, `{"en", "fr"}` or `{"translation": {"en", "fr"}}`.

    Line feeds inside a text become spaces: each side of a pair is one line.

    Args:
        record: a JSON object, or a row of a Hugging Face data set.
        location: "FILE, line N" for the error message.

    Raises:
        UserError: the record has none of the three forms, or a side is not a text.
    """
    if isinstance(record, Mapping):
        inner = record.get("translation")
        fields = inner if isinstance(inner, Mapping) else record
        for keys in (("source", "target"), (source_lang, target_lang)):
            if all(key in fields for key in keys):
                source, target = (_text(fields[key], key, location) for key in keys)
                return Pair(source, target)
    found = f"the keys {', '.join(map(str, record))}" if isinstance(record, Mapping) else "no keys"
    raise UserError(
        f'{location}: {found}, expected {{"source": …, "target": …}}, '
        f'{{"{source_lang}": …, "{target_lang}": …}} or {{"translation": {{…}}}}; rename them'
    )


def _text(value: object, key: str, location: str) -> str:
    if not isinstance(value, str):
        raise UserError(f'{location}: "{key}" holds {type(value).__name__}, expected a text')
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(
            f'{location}: "{key}" holds half of a surrogate pair at character {error.start}, '
            "which is no character; expected valid Unicode"
        ) from None
    return one_line(value)
