"""One JSON object a line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clearhead.data.lines import read_lines
from clearhead.data.pairs import Pair, Pairs, is_blank
from clearhead.data.records import pair_from_record
from clearhead.errors import UserError


@dataclass
class JsonlPairs(Pairs):
    """Pairs from JSON lines in one of the forms of `records.pair_from_record`.

    Blank lines are skipped.

    Raises:
        UserError: while iterating, for a line that is not such an object.
    """

    path: Path
    source_lang: str = "en"
    target_lang: str = "fr"

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (said by Pairs)
        for number, line in enumerate(read_lines(self.path), start=1):
            if is_blank(line):
                continue
            place = f"{self.path}, line {number}"
            record = _parse(line, place)
            yield pair_from_record(record, place, self.source_lang, self.target_lang)


def _parse(line: str, place: str) -> object:
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it cannot be parsed")
        column = getattr(error, "colno", 1)
        raise UserError(
            f"{place}, column {column}: not JSON ({reason}); expected one object a line"
        ) from None
    return parsed
