import os
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.export.directory import new_directory


def fill(path: Path) -> None:
    with new_directory(path) as directory:
        (directory / "weights").write_text("w", encoding="utf-8")
        assert not (path / "weights").exists()


def test_it_appears_whole_with_the_directories_above_it(tmp_path: Path) -> None:
    fill(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "weights").read_text(encoding="utf-8") == "w"
    assert os.listdir(tmp_path / "a") == ["b"]


def test_an_empty_directory_may_stand_there(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    fill(tmp_path / "here")
    assert os.listdir(tmp_path / "here") == ["weights"]


def test_what_stands_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("m", encoding="utf-8")
    for path, message in ((tmp_path, "not empty"), (tmp_path / "mine", "is a file")):
        with pytest.raises(UserError, match=message):
            fill(path)
    assert os.listdir(tmp_path) == ["mine"]


def test_what_arrives_meanwhile_is_not_overwritten_either(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="not empty"),
        new_directory(tmp_path / "here"),
    ):
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "mine").touch()
    assert os.listdir(tmp_path / "here") == ["mine"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_directory(tmp_path / "here") as directory:
        (directory / "half").touch()
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write") as caught:
        fill(tmp_path / "file" / "below")
    assert "\n" not in str(caught.value)
