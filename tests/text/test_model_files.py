"""Damaged files of a tokenizer: one line that says once what is wrong."""

from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.files import CHECKSUMS, atomic_write, record_checksums
from clearhead.text.model_files import read_json


@pytest.mark.parametrize("content", [b'{"a": 2}', b"\xff\xfe\x00"])
def test_a_changed_file_is_damaged_and_nothing_else(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    atomic_write(path, '{"a": 1}')
    record_checksums(tmp_path, ["config.json"])
    path.write_bytes(content)
    with pytest.raises(UserError, match="is damaged: its checksum differs") as caught:
        read_json(path)
    assert str(caught.value).count("config.json ") == 1
    assert "not a JSON file" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000])
def test_a_file_that_is_no_json_is_said_to_be_none_once(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(UserError, match="is not a JSON file") as caught:
        read_json(tmp_path / "config.json")
    assert str(caught.value).count("copy the model again") == 1
    assert "\n" not in str(caught.value)


def test_damaged_checksums_are_named_without_their_content(tmp_path: Path) -> None:
    atomic_write(tmp_path / "config.json", "{}")
    (tmp_path / CHECKSUMS).write_bytes(b'{"crc32": {"config.json"\xff}}')
    with pytest.raises(UserError, match="is damaged: it holds no checksums") as caught:
        read_json(tmp_path / "config.json")
    assert "crc32" not in str(caught.value)
