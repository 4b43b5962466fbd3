"""A reader meets the old file or the new one, never a mixture."""

import os
import stat
import threading
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.files import (
    CHECKSUMS,
    atomic_save,
    atomic_write,
    record_checksums,
    verify_checksum,
)


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


def test_on_windows_a_file_that_is_read_for_a_moment_is_replaced_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals, replace, pauses = [5, 32], Path.replace, list[float]()

    def refuse(path: Path, target: Path) -> Path:
        if refusals:
            error = PermissionError(13, "Access is denied", str(target))
            error.winerror = refusals.pop()  # type: ignore[attr-defined, unused-ignore]
            raise error
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr("time.sleep", pauses.append)
    atomic_write(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "new" and len(pauses) == 2
    refusals.extend([5] * 99)
    with pytest.raises(UserError, match="Access is denied"):
        atomic_write(tmp_path / "a", "newer")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "new"


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


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_an_existing_file_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch(mode)
    path.chmod(mode)
    atomic_write(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch(0o600)
    seen = []
    atomic_save(path, lambda temporary: seen.append(stat.S_IMODE(temporary.stat().st_mode)))
    assert seen == [0o600]


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_a_new_file_has_the_permissions_of_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        atomic_write(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~umask


def recorded(directory: Path) -> Path:
    atomic_write(directory / "a.json", "[1, 22, 333]")
    record_checksums(directory, ["a.json"])
    return directory / "a.json"


@pytest.mark.parametrize("position", range(12))
def test_any_changed_byte_is_noticed(position: int, tmp_path: Path) -> None:
    path = recorded(tmp_path)
    verify_checksum(path)
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match="is damaged: its checksum differs") as caught:
        verify_checksum(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_a_file_that_is_written_again_has_no_old_checksum(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    atomic_write(path, "something else")
    verify_checksum(path)  # as after a kill before the new checksum was written


def test_a_directory_without_checksums_is_read(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    (tmp_path / CHECKSUMS).unlink()
    path.write_bytes(b"?")
    verify_checksum(path)


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"crc32": 3}', "[" * 100_000, "\xff"])
def test_damaged_checksums_are_one_line_and_can_be_written_anew(
    content: str, tmp_path: Path
) -> None:
    path = recorded(tmp_path)
    (tmp_path / CHECKSUMS).write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match="is damaged") as caught:
        verify_checksum(path)
    assert "\n" not in str(caught.value)
    recorded(tmp_path)
    verify_checksum(path)
