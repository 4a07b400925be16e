from __future__ import annotations

import errno
import hashlib
import io
import random
import shutil
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexitree.corpora import download
from lexitree.corpora.download import Fetched, fetch, fetch_package
from lexitree.corpora.locations import LocalFile, Package, RemoteFile
from lexitree.errors import CorpusNotFoundError, DownloadError
from lexitree.writing import exclusive_lock
from tests.corpora.file_server import Behaviour, serve

CONTENT = random.Random(1).randbytes(1_000_003)


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment must not stand between the test and its server."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[Behaviour]:
    with serve(Behaviour(CONTENT)) as behaviour:
        yield behaviour


def package_of(url: str, content: bytes = CONTENT, members: tuple[LocalFile, ...] = ()) -> Package:
    file = RemoteFile(url, "some/file.bin", len(content), hashlib.sha256(content).hexdigest(), members)
    return Package("some", "a file", "none", (file,))


def part_of(folder: Path) -> Path:
    return folder / "some" / "file.bin.part"


def put_part(folder: Path, content: bytes) -> None:
    part_of(folder).parent.mkdir(parents=True, exist_ok=True)
    part_of(folder).write_bytes(content)


def get(server: Behaviour, folder: Path) -> Fetched:
    fetched = fetch_package(package_of(server.url), folder)
    assert (folder / "some" / "file.bin").read_bytes() == CONTENT
    assert not part_of(folder).exists()
    return fetched


def test_a_file_is_downloaded_once(server: Behaviour, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    package = package_of(server.url)
    first = fetch_package(package, tmp_path, progress=lambda *step: steps.append(step))
    assert not first.already_there
    assert first.paths == (tmp_path / "some" / "file.bin",)
    assert first.paths[0].read_bytes() == CONTENT
    assert steps[0] == ("file.bin", 0, len(CONTENT))
    assert steps[-1] == ("file.bin", len(CONTENT), len(CONTENT))
    assert fetch_package(package, tmp_path).already_there
    assert server.requests == [""]


def test_a_damaged_file_is_downloaded_again(server: Behaviour, tmp_path: Path) -> None:
    target = get(server, tmp_path).paths[0]
    target.write_bytes(b"x" * len(CONTENT))
    assert not get(server, tmp_path).already_there


def test_a_download_is_resumed(server: Behaviour, tmp_path: Path) -> None:
    put_part(tmp_path, CONTENT[:400_000])
    get(server, tmp_path)
    assert server.requests == ["bytes=400000-"]


def test_a_complete_part_needs_no_network(tmp_path: Path) -> None:
    put_part(tmp_path, CONTENT)
    package = package_of("http://127.0.0.1:9/never")
    assert fetch_package(package, tmp_path).paths[0].read_bytes() == CONTENT


def test_a_server_without_ranges_starts_again(server: Behaviour, tmp_path: Path) -> None:
    server.honours_ranges = False
    put_part(tmp_path, CONTENT[:400_000])
    get(server, tmp_path)
    assert server.requests == ["bytes=400000-"]


def test_a_server_that_resumes_elsewhere_starts_again(server: Behaviour, tmp_path: Path) -> None:
    server.starts_wrong = True
    put_part(tmp_path, CONTENT[:400_000])
    get(server, tmp_path)
    assert server.requests == ["bytes=400000-", ""]


def test_a_part_of_another_file_gets_a_fresh_start(server: Behaviour, tmp_path: Path) -> None:
    put_part(tmp_path, b"x" * 400_000)
    get(server, tmp_path)
    assert server.requests == ["bytes=400000-", ""]


def test_a_part_that_is_too_long_is_thrown_away(server: Behaviour, tmp_path: Path) -> None:
    put_part(tmp_path, CONTENT + b"x")
    get(server, tmp_path)
    assert server.requests == [""]


@pytest.mark.parametrize("announces_length", [True, False])
def test_a_cut_connection_is_taken_up_again(
    server: Behaviour, tmp_path: Path, announces_length: bool
) -> None:
    server.cut_after = 300_000
    server.announces_length = announces_length
    get(server, tmp_path)
    assert server.requests == ["", "bytes=300000-", "bytes=600000-", "bytes=900000-"]


def test_a_connection_cut_for_good_keeps_what_came(server: Behaviour, tmp_path: Path) -> None:
    server.cut_after = 1_000
    with pytest.raises(DownloadError, match=r"interrupted after 5,000 of 1,000,003 bytes") as raised:
        get(server, tmp_path)
    assert "Run the command again to resume." in str(raised.value)
    assert part_of(tmp_path).read_bytes() == CONTENT[:5_000]
    server.cut_after = None
    get(server, tmp_path)
    assert server.requests[-1] == "bytes=5000-"


def test_a_wrong_checksum_leaves_nothing_behind(server: Behaviour, tmp_path: Path) -> None:
    server.content = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    with pytest.raises(DownloadError, match="the checksum is wrong") as raised:
        get(server, tmp_path)
    message = str(raised.value)
    for part in (server.url, hashlib.sha256(CONTENT).hexdigest(), str(tmp_path / "some" / "file.bin")):
        assert part in message
    assert not list(tmp_path.iterdir())


def test_one_download_at_a_time(server: Behaviour, tmp_path: Path) -> None:
    target = tmp_path / "some" / "file.bin"
    with exclusive_lock(target, "downloads it"):
        with pytest.raises(DownloadError, match="in use by another process"):
            get(server, tmp_path)
        assert not target.exists()
    get(server, tmp_path)
    assert target.read_bytes() == CONTENT


def test_a_file_of_another_length_is_refused_before_it_comes(server: Behaviour, tmp_path: Path) -> None:
    server.content = b"<html>moved</html>"
    with pytest.raises(DownloadError, match="offers 18 bytes instead of 1,000,003"):
        get(server, tmp_path)


def test_a_file_without_end_is_stopped(server: Behaviour, tmp_path: Path) -> None:
    server.content = CONTENT * 3
    server.announces_length = False
    with pytest.raises(DownloadError, match="sent more than the expected 1,000,003 bytes"):
        get(server, tmp_path)
    assert not part_of(tmp_path).exists()


def test_an_answer_of_the_server_is_passed_on(server: Behaviour, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(DownloadError, match="the server responded with 404"):
        get(server, tmp_path)


def test_without_a_network_it_says_what_to_do_by_hand(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/file.bin"
    with pytest.raises(DownloadError) as raised:
        fetch_package(package_of(url), tmp_path)
    message = str(raised.value)
    assert "cannot connect to 127.0.0.1" in message
    assert f"To do it manually: download {url}" in message
    assert "LEXITREE_DATA" in message
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_and_what_fits_is_kept(
    server: Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SmallDisk(io.FileIO):
        def write(self, data: object, /) -> int:
            if self.tell() >= 300_000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(bytes(data)[: 300_000 - self.tell()])  # type: ignore[call-overload]

    monkeypatch.setattr(download, "open", lambda path, mode, buffering: SmallDisk(path, mode), raising=False)
    with pytest.raises(DownloadError, match="the disk is full"):
        fetch_package(package_of(server.url), tmp_path)
    monkeypatch.undo()
    assert part_of(tmp_path).read_bytes() == CONTENT[:300_000]


def test_a_folder_that_cannot_be_written_is_said(server: Behaviour, tmp_path: Path) -> None:
    (tmp_path / "some").write_text("a file, no folder")
    with pytest.raises(DownloadError, match="cannot be written"):
        fetch_package(package_of(server.url), tmp_path)


class TestArchives:
    """Archives are unpacked member by member and then removed."""

    TEXT = b"(3 (2 a) (4 film))\n"

    def archive(self, **members: bytes) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(f"trees/{name}.txt", content)
            archive.writestr("../../outside.txt", b"must not be written")
        return buffer.getvalue()

    def package(self, server: Behaviour, *names: str) -> Package:
        digest = hashlib.sha256(self.TEXT).hexdigest()
        members = tuple(
            LocalFile(f"sst/{name}.txt", len(self.TEXT), digest, f"trees/{name}.txt") for name in names
        )
        return package_of(server.url, server.content, members)

    def test_members_are_unpacked(self, server: Behaviour, tmp_path: Path) -> None:
        server.content = self.archive(train=self.TEXT, dev=self.TEXT)
        package = self.package(server, "train", "dev")
        folder = tmp_path / "a" / "b"
        fetched = fetch_package(package, folder)
        assert [path.read_bytes() for path in fetched.paths] == [self.TEXT, self.TEXT]
        files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
        assert files == {"a/b/sst/train.txt", "a/b/sst/dev.txt"}
        assert fetch_package(package, folder).already_there

    def test_a_missing_member_is_said(self, server: Behaviour, tmp_path: Path) -> None:
        server.content = self.archive(train=self.TEXT)
        with pytest.raises(DownloadError, match=r"cannot be unpacked .*trees/dev\.txt"):
            fetch_package(self.package(server, "train", "dev"), tmp_path)

    def test_what_is_no_archive_is_said(self, server: Behaviour, tmp_path: Path) -> None:
        with pytest.raises(DownloadError, match="cannot be unpacked"):
            fetch_package(self.package(server, "train"), tmp_path)

    def test_a_member_that_swells_is_stopped(
        self, server: Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(download, "_MAX_MEMBER_BYTES", 1_000)
        server.content = self.archive(train=b"0" * 1_000_000)
        with pytest.raises(DownloadError, match="unpacks to more than 1,000 bytes"):
            fetch_package(self.package(server, "train"), tmp_path)
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]

    def test_names_of_other_members_do_not_matter(self, server: Behaviour, tmp_path: Path) -> None:
        """Only the expected ones are read, and written under names of our own."""
        server.content = self.archive(train=self.TEXT)
        for name in (b"/trees/absolut", b"C:\\trees/absolute", b"\0" * 17):
            server.content = server.content.replace(b"../../outside.txt", name.ljust(17, b"x")[:17])
            folder = tmp_path / name[:2].hex()
            assert fetch_package(self.package(server, "train"), folder).paths[0].read_bytes() == self.TEXT
            assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
            shutil.rmtree(folder)

    def test_a_damaged_archive_is_one_error_or_none(self, server: Behaviour, tmp_path: Path) -> None:
        """Encrypted, compressed in unknown ways, of other lengths: bytes that mean any of that."""
        whole = self.archive(train=self.TEXT)
        num_errors = 0
        for place in range(len(whole)):
            server.content = whole[:place] + bytes([whole[place] ^ 0x09]) + whole[place + 1 :]
            folder = tmp_path / str(place)
            put_part(folder, server.content)
            try:
                fetched = fetch_package(self.package(server, "train"), folder)
            except DownloadError:
                num_errors += 1
                assert not [path for path in folder.rglob("*") if path.is_file()]
            else:
                assert fetched.paths[0].read_bytes() == self.TEXT
        assert num_errors > len(whole) / 4


def test_fetch_goes_by_name_and_into_the_cache(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(Behaviour(CONTENT)) as server:
        monkeypatch.setattr(download, "find_package", lambda name: package_of(server.url))
        assert fetch("some").paths == (no_data / "some" / "file.bin",)
    monkeypatch.undo()
    with pytest.raises(CorpusNotFoundError):
        fetch("nothing")


def test_the_real_files_have_the_stated_checksums(real_data: Path) -> None:
    assert fetch("sst", real_data, opener=_refuse).already_there
    assert fetch("trec-fine", real_data, opener=_refuse).already_there


def _refuse(*args: object, **options: object) -> download.Response:
    raise AssertionError("nothing should be downloaded")
