import gzip
import hashlib
import io
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clearhead.data.download import (
    ATTEMPTS,
    Corpus,
    Member,
    RemoteFile,
    check_members,
    download_corpus,
    fetch,
    unpack,
)
from clearhead.errors import UserError
from tests.data.server import Site, serving

TEXT = b"Go.\tVa !\n" * 30_000  # more than one chunk of the transfer
CONTENT = gzip.compress(TEXT, compresslevel=0)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MEMBER = Member("p.tsv")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving({"/p.gz": CONTENT}) as running:
        yield running


def remote(*mirrors: str, sha256: str | None = SHA256) -> RemoteFile:
    return RemoteFile("p.gz", mirrors, (MEMBER,), sha256)


def quiet(have: int, total: int | None) -> None:
    pass


def only(directory: Path, *names: str) -> bool:
    return sorted(path.name for path in directory.iterdir()) == sorted(names)


def test_a_file_arrives_whole_and_progress_is_told(site: Site, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    path = fetch(remote(f"{site.address}/p.gz"), tmp_path / "new", lambda *args: told.append(args))
    assert path.read_bytes() == CONTENT
    assert told[0] == (0, len(CONTENT))
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert only(tmp_path / "new", "p.gz")


def test_what_is_there_is_not_fetched_again(site: Site, tmp_path: Path) -> None:
    for _ in range(2):
        fetch(remote(f"{site.address}/p.gz"), tmp_path, quiet)
    assert len(site.asked) == 1


def test_a_file_placed_by_hand_serves_offline(tmp_path: Path) -> None:
    (tmp_path / "p.gz").write_bytes(CONTENT)
    assert fetch(remote("http://127.0.0.1:1/p.gz"), tmp_path, quiet).read_bytes() == CONTENT


def test_a_download_that_breaks_off_is_continued(site: Site, tmp_path: Path) -> None:
    site.breaks["/p.gz"] = len(CONTENT) // 3 + 1
    path = fetch(remote(f"{site.address}/p.gz"), tmp_path, quiet)
    assert path.read_bytes() == CONTENT
    starts = [0, len(CONTENT) // 3 + 1, 2 * (len(CONTENT) // 3 + 1)]
    assert [asked for _, asked in site.asked] == ["", *(f"bytes={s}-" for s in starts[1:])]
    assert only(tmp_path, "p.gz")


def test_another_day_goes_on_where_the_last_one_stopped(site: Site, tmp_path: Path) -> None:
    file = remote(f"{site.address}/p.gz")
    site.breaks["/p.gz"] = 1_000
    with pytest.raises(UserError, match=f"broke off after {1_000 * ATTEMPTS} of {len(CONTENT)}"):
        fetch(file, tmp_path, quiet)
    site.breaks.clear()
    assert fetch(file, tmp_path, quiet).read_bytes() == CONTENT
    assert site.asked[-1] == ("/p.gz", f"bytes={1_000 * ATTEMPTS}-")


@pytest.mark.parametrize("change", [{"ranges": False}, {"edition": '"2"'}, {"edition": ""}])
def test_where_nothing_can_be_continued_all_is_fetched(
    change: dict[str, object], site: Site, tmp_path: Path
) -> None:
    file = remote(f"{site.address}/p.gz")
    site.breaks["/p.gz"] = 1_000
    with pytest.raises(UserError):
        fetch(file, tmp_path, quiet)
    site.breaks.clear()
    for name, value in change.items():
        setattr(site, name, value)
    assert fetch(file, tmp_path, quiet).read_bytes() == CONTENT


def test_a_server_that_sends_another_range_is_not_believed(site: Site, tmp_path: Path) -> None:
    site.breaks["/p.gz"] = len(CONTENT) - 5
    site.wrong_range = True
    with pytest.raises(UserError, match=r"broke off|sent the range"):
        fetch(remote(f"{site.address}/p.gz"), tmp_path, quiet)
    assert not (tmp_path / "p.gz").exists()


def test_bytes_that_were_damaged_on_disk_are_fetched_anew(site: Site, tmp_path: Path) -> None:
    file = remote(f"{site.address}/p.gz")
    site.breaks["/p.gz"] = 1_000
    with pytest.raises(UserError):
        fetch(file, tmp_path, quiet)
    part = tmp_path / "p.gz.part"
    part.write_bytes(bytes(part.stat().st_size))
    site.breaks.clear()
    assert fetch(file, tmp_path, quiet).read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_is_dropped(site: Site, tmp_path: Path) -> None:
    file = remote(f"{site.address}/p.gz")
    site.breaks["/p.gz"] = 1_000
    with pytest.raises(UserError):
        fetch(file, tmp_path, quiet)
    (tmp_path / "p.gz.part").write_bytes(bytes(len(CONTENT) + 7))
    site.breaks.clear()
    assert fetch(file, tmp_path, quiet).read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_nothing_stays(site: Site, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=rf"wrong checksum: sha256 is {SHA256}, expected {'0' * 64}"
    ):
        fetch(remote(f"{site.address}/p.gz", sha256="0" * 64), tmp_path, quiet)
    assert only(tmp_path)
    assert len(site.asked) == 1


def test_the_next_mirror_is_asked_after_a_404_and_after_a_wrong_file(
    site: Site, tmp_path: Path
) -> None:
    site.files["/wrong.gz"] = gzip.compress(b"another text")
    names = ("none.gz", "wrong.gz", "p.gz")
    path = fetch(remote(*(f"{site.address}/{n}" for n in names)), tmp_path, quiet)
    assert path.read_bytes() == CONTENT
    assert [asked for asked, _ in site.asked] == [f"/{n}" for n in names]


def test_when_all_mirrors_fail_one_line_names_them_and_the_way_out(
    site: Site, tmp_path: Path
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}/p.gz"
    with pytest.raises(UserError) as caught:
        fetch(remote(f"{site.address}/none.gz", dead), tmp_path, quiet)
    message = str(caught.value)
    assert f"{site.address}/none.gz (HTTP 404 Not Found)" in message
    assert f"{dead} (Connection refused)" in message
    assert f"copy the file to {tmp_path / 'p.gz'} and run the command again" in message
    assert "\n" not in message


def test_the_first_checksum_is_kept_and_asked_for_ever_after(site: Site, tmp_path: Path) -> None:
    file = remote(f"{site.address}/p.gz", sha256=None)
    path = fetch(file, tmp_path, quiet)
    assert (tmp_path / "p.gz.sha256").read_text("utf-8") == f"{SHA256}  p.gz\n"
    path.unlink()
    site.files["/p.gz"] = gzip.compress(b"changed")
    with pytest.raises(UserError, match=r"the first download \(see .*p\.gz\.sha256\) had"):
        fetch(file, tmp_path, quiet)
    path.write_bytes(site.files["/p.gz"])
    with pytest.raises(UserError, match="delete it and run the command again"):
        fetch(file, tmp_path, quiet)


def test_a_page_in_place_of_the_archive_is_refused(site: Site, tmp_path: Path) -> None:
    site.files["/p.gz"] = b"<html>Please log in</html>"
    with pytest.raises(UserError, match=r"not a complete \.gz archive"):
        fetch(remote(f"{site.address}/p.gz", sha256=None), tmp_path, quiet)
    assert only(tmp_path)


def test_a_directory_that_cannot_be_written_is_named(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write .*another directory"):
        fetch(remote(f"{site.address}/p.gz"), tmp_path / "file" / "deep", quiet)


def test_a_corpus_is_unpacked_and_says_what_data_takes(site: Site, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("fra-eng/_about.txt", "about")
        archive.writestr("fra-eng/fra.txt", TEXT)
    site.files["/f.zip"] = packed.getvalue()
    member = Member("fra.txt", hashlib.sha256(TEXT).hexdigest())
    files = (
        RemoteFile("f.zip", (f"{site.address}/f.zip",), (member,)),
        remote(f"{site.address}/p.gz"),
    )
    corpus = Corpus("a title", "30,000", "small", "free", files, "{0}/fra.txt,{0}/p.tsv")
    names: set[str] = set()
    spec = download_corpus(corpus, tmp_path, lambda name, have, total: names.add(name))
    assert spec == f"{tmp_path}/fra.txt,{tmp_path}/p.tsv"
    assert (tmp_path / "fra.txt").read_bytes() == (tmp_path / "p.tsv").read_bytes() == TEXT
    assert names == {"f.zip", "p.gz"}
    assert not (tmp_path / "_about.txt").exists()


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
    assert unpack(archive, [Member("out.txt")], inside) == [inside / "out.txt"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.zip", "inside", "out.txt"]


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"other.txt": b"x"})
    with pytest.raises(UserError, match=r"has no member fra\.txt; delete it and download it again"):
        unpack(archive, [Member("fra.txt")], tmp_path)


def test_a_member_with_another_checksum_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"fra.txt": b"x"})
    trouble = check_members(archive, [Member("fra.txt", "0" * 64)], "a.zip")
    assert trouble is not None
    assert trouble.startswith("wrong checksum: fra.txt has sha256")


@pytest.mark.parametrize("keep", [0, 20, 100, -30])
def test_a_damaged_archive_is_one_line_and_writes_nothing(keep: int, tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"fra.txt": bytes(range(256)) * 40})
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"not a complete \.zip archive"):
        unpack(archive, [Member("fra.txt")], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_flipped_byte_is_noticed(tmp_path: Path) -> None:
    archive = zipped(tmp_path, {"fra.txt": bytes(range(256)) * 40})
    content = bytearray(archive.read_bytes())
    content[60] ^= 1
    archive.write_bytes(content)
    with pytest.raises(UserError, match=r"not a complete \.zip archive"):
        unpack(archive, [Member("fra.txt")], tmp_path)
