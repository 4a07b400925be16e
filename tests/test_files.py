from __future__ import annotations

import gzip
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree import files
from lexitree.errors import EncodingError, FileError
from lexitree.files import atomic_path, atomic_write, decode_lines, read_lines


def lines_of(content: bytes, encoding: str = "utf-8") -> list[tuple[int, str]]:
    return list(decode_lines(io.BytesIO(content), encoding, "f.txt"))


class Trickle(io.BytesIO):
    """A stream that gives few bytes at a time, as a pipe may."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(3 if size is None or size < 0 else min(3, size))


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(files, "CHUNK_BYTES", 3)
    return


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", ["\n"]),
        (b"a\nb", ["a\n", "b"]),
        (b"a\r\nb\r\n", ["a\n", "b\n"]),
        (b"a\rb\n", ["a\rb\n"]),
        (b"\n\na", ["\n", "\n", "a"]),
        ("a\u2028b\u0085c\x0b\x1c\n".encode(), ["a\u2028b\u0085c\x0b\x1c\n"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a\n", "\ufeffb"]),
        (b"aaa\xef\xbb\xbfb", ["aaa\ufeffb"]),
    ],
)
@pytest.mark.usefixtures("small_chunks")
def test_lines(content: bytes, expected: list[str]) -> None:
    assert lines_of(content) == [(number, line.rstrip("\n")) for number, line in enumerate(expected, 1)]


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))),
    st.sampled_from(["utf-8", "utf-16", "utf-32-be", "gb18030"]),
)
def test_any_lines_in_any_chunks(lines: list[str], encoding: str) -> None:
    content = "".join(line + "\n" for line in lines).encode(encoding)
    if lines and lines[0].startswith("\ufeff"):
        lines = [lines[0][1:], *lines[1:]]
    assert [line for _, line in decode_lines(Trickle(content), encoding, "f")] == lines


@pytest.mark.parametrize(
    ("content", "encoding", "line", "byte"),
    [
        (b"a\nb\n\xffc\n", "utf-8", 3, "0xff"),
        (b"caf\xe9", "utf-8", 1, "0xe9"),
        (b"a\n" * 9 + b"caf\xc3", "utf-8", 10, "0xc3"),
        ("a\nb\n".encode("utf-16-be") + b"\xd8\x00\x00a", "utf-16-be", 3, "0xd8"),
        ("a\nb\n".encode("utf-16") + b"\x00\xdc", "utf-16", 3, "0x00"),
        ("a\nb\n".encode("utf-16") + b"x", "utf-16", 3, "0x78"),
        (b"\xfe\xff" + "a\nb\nc".encode("utf-16-be") + b"\xdc\x00", "utf-16", 3, "0xdc"),
        (b"a\nb\xff\xff", "gb18030", 2, "0xff"),
        (b"a\n\x81", "cp1252", 2, "0x81"),
        (b"a\nb\xe9", "ascii", 2, "0xe9"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 3, 1 << 16])
def test_a_byte_that_does_not_decode(
    monkeypatch: pytest.MonkeyPatch, content: bytes, encoding: str, line: int, byte: str, chunk: int
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    with pytest.raises(EncodingError) as caught:
        lines_of(content, encoding)
    assert caught.value.place.line == line
    assert f"the byte {byte} is not {encoding}" in caught.value.problem


@pytest.mark.parametrize("encoding", ["klingon", "hex", "zlib", "rot13", "base64", "", "utf-8\0"])
def test_no_such_encoding(encoding: str) -> None:
    with pytest.raises(FileError, match="unknown text encoding"):
        lines_of(b"a", encoding)


@pytest.mark.usefixtures("small_chunks")
def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE_CHARACTERS", 10)
    assert lines_of(b"a" * 9 + b"\n" + b"b" * 9 + b"\n") == [(1, "a" * 9), (2, "b" * 9)]
    with pytest.raises(EncodingError, match="line is longer than 10 characters") as caught:
        lines_of(b"a\n" + b"b" * 99)
    assert caught.value.place.line == 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(FileError):
            list(read_lines(path))


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    packed = gzip.compress(os.urandom(200_000).hex().encode() + b"\nend")
    path.write_bytes(packed)
    assert [number for number, _ in read_lines(path)] == [1, 2]
    for damaged in (
        packed[:-20],
        packed[: len(packed) // 2],
        packed[:5],
        packed[:5000] + b"\0" * 5000 + packed[10_000:],
        b"no gzip",
    ):
        path.write_bytes(damaged)
        with pytest.raises(FileError):
            list(read_lines(path))
    path.write_bytes(b"")
    assert list(read_lines(path)) == []


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xff")))
    lines = read_lines("-")
    with pytest.raises(EncodingError, match="<standard input>:2"):
        list(lines)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    def write_half() -> None:
        with atomic_write(path) as stream:
            stream.write("new")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_half()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]


def test_a_full_disk_is_a_file_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fill_disk() -> None:
        with atomic_write(path):
            raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="No space left on device"):
        fill_disk()
    assert path.read_text() == "old"


def test_what_a_library_leaves_beside_a_file_is_removed_with_it(tmp_path: Path) -> None:
    """Safetensors and others write to temporary files of their own first."""

    def write_half() -> None:
        with atomic_path(tmp_path / "out.txt") as temporary:
            temporary.with_name(".tmpABC").write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="No space left on device"):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_a_name_reaches_the_disk_between_the_bytes_and_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    synced: list[tuple[bool, str]] = []

    def sync(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.read_text()))

    monkeypatch.setattr(os, "fsync", sync)
    with atomic_write(path) as stream:
        stream.write("new")
    assert synced == [(False, "old"), (True, "new")]


def test_a_write_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "out.txt"
    with atomic_write(path) as stream:
        stream.write("café\n")
        assert not path.exists()
    assert path.read_bytes() == "café\n".encode()
    assert [entry.name for entry in path.parent.iterdir()] == ["out.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    def write(path: Path) -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("y")

    for path in (tmp_path / "file" / "below", tmp_path):
        with pytest.raises(FileError, match="cannot be written"):
            write(path)
    assert (tmp_path / "file").read_text() == "x"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as stream:
        stream.write("through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
