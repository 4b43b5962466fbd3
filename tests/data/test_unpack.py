import zipfile
from pathlib import Path

import pytest

from clearhead.data.remote import Member
from clearhead.data.unpack import check_members, unpack
from clearhead.errors import UserError


def zipped(directory: Path, contents: dict[str, bytes]) -> Path:
    path = directory / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("hostile", ["../out.txt", "/out.txt", "deep/../../out.txt"])
def test_an_archive_does_not_choose_where_its_content_goes(hostile: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    archive = zipped(inside, {hostile: b"x"})
    assert unpack(archive, [Member("out.txt", "out.txt")], inside) == [inside / "out.txt"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.zip", "inside", "out.txt"]


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"other.txt": b"x"})
    with pytest.raises(UserError, match=r"it has no member fra\.txt; delete it and get it again"):
        unpack(archive, [Member("fra.txt", "fra.txt")], tmp_path)


def test_a_member_with_another_checksum_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"fra.txt": b"x"})
    trouble = check_members(archive, [Member("fra.txt", "fra.txt", "0" * 64)], "a.zip")
    assert trouble is not None
    assert trouble.startswith("wrong checksum: fra.txt has sha256")


@pytest.mark.parametrize("keep", [0, 20, 100, -30])
def test_a_damaged_archive_is_one_line_and_writes_nothing(keep: int, tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"fra.txt": bytes(range(256)) * 40})
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"not a whole \.zip archive"):
        unpack(archive, [Member("fra.txt", "fra.txt")], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_flipped_byte_is_noticed(tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"fra.txt": bytes(range(256)) * 40})
    content = bytearray(archive.read_bytes())
    content[60] ^= 1
    archive.write_bytes(content)
    with pytest.raises(UserError, match=r"not a whole \.zip archive"):
        unpack(archive, [Member("fra.txt", "fra.txt")], tmp_path)
