"""A reader meets the old file or the new one, never a mixture."""

import os
import stat
import threading
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.files import atomic_save, atomic_write


def test_text_is_written_as_utf8_with_unix_line_ends(tmp_path: Path) -> None:
    atomic_write(tmp_path / "a", "« Ça va ? »\n")
    assert (tmp_path / "a").read_bytes() == "« Ça va ? »\n".encode()


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    atomic_write(tmp_path / "a", b"\r\n\0\xff")
    assert (tmp_path / "a").read_bytes() == b"\r\n\0\xff"


def test_directories_on_the_way_are_made(tmp_path: Path) -> None:
    atomic_write(tmp_path / "new" / "newer" / "a", "x")
    assert (tmp_path / "new" / "newer" / "a").read_text(encoding="utf-8") == "x"


def test_others_may_read_what_was_written(tmp_path: Path) -> None:
    atomic_write(tmp_path / "a", "x")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old", encoding="utf-8")

    def half(temporary: Path) -> None:
        temporary.write_text("ne", encoding="utf-8")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        atomic_save(tmp_path / "a", half)
    assert (tmp_path / "a").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_full_disk_is_explained_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device") as caught:
        atomic_write(tmp_path / "a", "x")
    assert "\n" not in str(caught.value) and str(tmp_path / "a") in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_directory_is_explained(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file", encoding="utf-8")
    with pytest.raises(UserError, match="cannot write"):
        atomic_write(tmp_path / "a" / "b", "x")


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    atomic_write(pipe, "un\ndeux\n")
    reader.join(timeout=30)
    assert received == [b"un\ndeux\n"] and pipe.is_fifo()


def test_a_device_stays_a_device() -> None:
    atomic_write(os.devnull, "nothing")
    assert Path(os.devnull).is_char_device()


def test_a_link_stays_a_link_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "link", tmp_path / "far" / "target"
    link.symlink_to(target)
    for content in ("first", "second"):  # a link may lead to what is not there yet
        atomic_write(link, content)
        assert link.is_symlink() and target.read_text(encoding="utf-8") == content
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "far", link])
