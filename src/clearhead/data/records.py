"""One record of a JSONL file or a Hugging Face data set, read as a pair."""

from collections.abc import Mapping

from clearhead.data.lines import one_line
from clearhead.data.pairs import Pair
from clearhead.errors import UserError


def pair_from_record(
    record: object, place: str, source_lang: str = "en", target_lang: str = "fr"
) -> Pair:
    """Read `{"source", "target"}`, `{"en", "fr"}` or `{"translation": {"en", "fr"}}`.

    Line feeds inside a text become spaces: a pair is one line on each side.

    Args:
        record: what the file held at that place.
        place: "FILE, line N" for the error message.

    Raises:
        UserError: the record has none of the three forms, or a side is not a text.
    """
    if isinstance(record, Mapping):
        inner = record.get("translation")
        fields = inner if isinstance(inner, Mapping) else record
        for keys in (("source", "target"), (source_lang, target_lang)):
            if all(key in fields for key in keys):
                source, target = (_text(fields[key], key, place) for key in keys)
                return Pair(source, target)
    found = f"the keys {', '.join(map(str, record))}" if isinstance(record, Mapping) else "no keys"
    raise UserError(
        f'{place}: {found}, expected {{"source": …, "target": …}}, '
        f'{{"{source_lang}": …, "{target_lang}": …}} or {{"translation": {{…}}}}; rename them'
    )


def _text(value: object, key: str, place: str) -> str:
    if not isinstance(value, str):
        raise UserError(f'{place}: "{key}" holds {type(value).__name__}, expected a text')
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(
            f'{place}: "{key}" holds half of a surrogate pair at character {error.start}, '
            "which is no character; expected valid Unicode"
        ) from None
    return one_line(value)
