import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.lines import one_line
from clearhead.data.pairs import JsonlPairs, is_blank
from clearhead.errors import UserError

TEXT = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda t: not is_blank(one_line(t)))


@given(source=TEXT, target=TEXT, ascii_only=st.booleans())
def test_any_text_survives_but_for_its_line_feeds(
    source: str, target: str, ascii_only: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "p.jsonl"
    record = json.dumps({"en": source, "fr": target}, ensure_ascii=ascii_only)
    path.write_bytes(record.encode())
    assert list(JsonlPairs(path)) == [(one_line(source), one_line(target))]


def test_other_languages_have_other_keys(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"translation": {"de": "Ja", "en": "Yes"}}', encoding="utf-8")
    assert list(JsonlPairs(path, "de", "en")) == [("Ja", "Yes")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2, column 2: not JSON"),
        ("[" * 100_000, "line 2.* not JSON"),
        ('["a", "b"]', "line 2: no keys, expected"),
        ('{"en": "a", "de": "b"}', "line 2: the keys en, de, expected"),
        ('{"en": "a", "fr": null}', 'line 2: "fr" holds NoneType, expected a text'),
        ('{"source": "a", "target": ["b"]}', '"target" holds list'),
        ('{"en": "a\\ud800", "fr": "b"}', "half of a surrogate pair at character 1"),
    ],
)
def test_a_line_of_another_form_is_named(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"en": "a", "fr": "b"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(UserError, match=message) as caught:
        list(JsonlPairs(path))
    assert "\n" not in str(caught.value)
