from __future__ import annotations

import gzip
import io
import os
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from encodings.aliases import aliases
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree import files
from lexitree.errors import EncodingError, FileError
from lexitree.files import choose_format, decode_lines, read_lines, to_toml


def lines_of(content: bytes, encoding: str = "utf-8") -> list[tuple[int, str]]:
    return list(decode_lines(io.BytesIO(content), encoding, "f.txt"))


class Trickle(io.BytesIO):
    """A stream that gives few bytes at a time, as a pipe may."""

    def read1(self, size: int | None = -1) -> bytes:
        return super().read1(3 if size is None or size < 0 else min(3, size))


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


@pytest.mark.parametrize(
    ("content", "encoding", "line"),
    [
        (b"ab\ncd\n", "utf-16", 1),
        (b"\xf9\x0e\xc7\xdd\x01\xe4", "utf-16", 1),
        (b"ab", "utf-32", 1),
        (b" \x82<\xfd\xe6\xf1\xc2k", "punycode", 1),
        (b"xn--\xff.\n", "idna", 1),
        (b"a\n\\x", "unicode_escape", 2),
        (b"a\nb\\ud800\nc", "unicode_escape", 2),
        (b"a\nb\\ud800\nc", "raw_unicode_escape", 2),
        (b"a\nb\n+2AA-\n", "utf-7", 3),
    ],
)
@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
def test_codecs_that_fail_in_their_own_way(
    monkeypatch: pytest.MonkeyPatch, content: bytes, encoding: str, line: int, chunk: int
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    with pytest.raises(EncodingError) as caught:
        lines_of(content, encoding)
    assert caught.value.place.line == line
    assert "--encoding" in caught.value.remedy


@given(st.binary(max_size=60), st.sampled_from(sorted(set(aliases.values()))), st.sampled_from([1, 3, 99]))
def test_any_bytes_in_any_encoding(content: bytes, encoding: str, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch, suppress(EncodingError, FileError):
        patch.setattr(files, "CHUNK_BYTES", chunk)
        for _, text in lines_of(content, encoding):
            text.encode()


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


def test_a_line_is_read_as_soon_as_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer waits for each line to be read before it writes the next one."""
    reader, writer = os.pipe()
    with open(reader) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        lines = read_lines("-")
        for number in (1, 2, 3):
            os.write(writer, b"a line\n")
            assert next(lines) == (number, "a line")
        os.close(writer)
        assert list(lines) == []


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xff")))
    lines = read_lines("-")
    with pytest.raises(EncodingError, match="<standard input>:2"):
        list(lines)


ENDINGS = {"json": (".jsonl",), "brackets": (".txt", ".mrg"), "tree": ()}


@pytest.mark.parametrize(
    ("path", "asked", "chosen"),
    [
        (None, None, "json"),
        ("-", None, "json"),
        ("folder.d/name", None, "json"),
        ("a.TXT", None, "brackets"),
        ("a.mrg.gz", None, "brackets"),
        (Path("a.txt"), "brackets", "brackets"),
        ("a.jsonl", "json", "json"),
        # An ending that means nothing in particular may hold anything that is asked for.
        ("a.out", "tree", "tree"),
        ("a", "brackets", "brackets"),
        (None, "tree", "tree"),
    ],
)
def test_the_ending_chooses_the_format(path: str | Path | None, asked: str | None, chosen: str) -> None:
    assert choose_format(path, ENDINGS, asked=asked) == chosen
    assert choose_format(path, ENDINGS, asked=asked, default="tree") in (chosen, "tree")


@pytest.mark.parametrize(
    ("path", "asked", "problem"),
    [
        ("a.html", None, "a.html: cannot be written as .html"),
        ("a.out", None, "a.out: cannot be written as .out"),
        ("a.png.gz", None, "a.png.gz: cannot be written as .png"),
        # What a file is called must be true.
        ("a.txt", "json", "a.txt: .txt is not an ending of json"),
        ("a.html", "json", "a.html: .html is not an ending of json"),
        ("a.png", "tree", "a.png: .png is not an ending of tree"),
    ],
)
def test_an_ending_that_would_lie_is_refused(path: str, asked: str | None, problem: str) -> None:
    with pytest.raises(FileError) as caught:
        choose_format(path, ENDINGS, asked=asked, option="--format")
    assert caught.value.message == problem
    fitting = {None: ".jsonl, .txt, .mrg", "json": ".jsonl", "tree": ".txt"}[asked]
    assert caught.value.remedy.startswith(f"Endings that fit: {fitting}.")
    assert ("--format" in caught.value.remedy) == (asked is None)


def test_toml_that_is_written_reads_the_same() -> None:
    values = {
        "name": 'a "quoted"\nname \x7f é 𝄞',
        "missing": None,
        "numbers": [1, 2.5, 1e-05],
        "table": {"is": True, "odd key": "x", "inner": {"a": [1]}},
        "empty": {},
    }
    expected = {name: value for name, value in values.items() if name != "missing"}
    assert tomllib.loads(to_toml(values)) == expected
