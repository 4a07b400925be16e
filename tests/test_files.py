from __future__ import annotations

import errno
import functools
import gzip
import io
import itertools
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree import files
from lexitree.errors import EncodingError, FileError
from lexitree.files import (
    atomic_path,
    atomic_write,
    decode_lines,
    exclusive_lock,
    open_output,
    read_lines,
)


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


def test_a_packed_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt.gz"
    for _ in range(2):
        with atomic_write(path) as stream:
            stream.write("café\n" * 1000)
        assert gzip.decompress(path.read_bytes()) == "café\n".encode() * 1000
    packed = path.read_bytes()
    (tmp_path / "other").mkdir()
    with atomic_write(tmp_path / "other" / "name.gz") as stream:
        stream.write("café\n" * 1000)
    assert (tmp_path / "other" / "name.gz").read_bytes() == packed

    def write_half() -> None:
        with atomic_write(path) as stream:
            stream.write("x" * 100_000)
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_half()
    assert path.read_bytes() == packed
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["other", "out.txt.gz"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "out.txt", tmp_path / "link.txt"
    if exists:
        target.write_text("old")
    link.symlink_to(Path("data") / "out.txt")
    with atomic_write(link) as stream:
        stream.write("new")
        assert not exists or target.read_text() == "old"
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [entry.name for entry in target.parent.iterdir()] == ["out.txt"]


def test_standard_output_is_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    for raw, expected in ((io.BytesIO(), "caf\xe9 \u2013".encode()), (Terminal(), b"caf\xe9 \\u2013")):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
        with open_output(None) as write:
            write("café \u2013")
        assert raw.getvalue() == expected
    # Whatever else stands there, in a notebook for example, is left alone.
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with open_output("-") as write:
        write("é")
    assert sys.stdout.getvalue() == "é"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as stream:
        stream.write("through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


class Killed(BaseException):
    """Nothing more happens after it."""


class Kill:
    """Stands in for the functions that change the file system; all fail from the n-th call on.

    A process that is killed does not clean up, so those that clean up fail as well.
    """

    STEPS = (
        (os, "mkdir"),
        (os, "fsync"),
        (os, "chmod"),
        (os, "rename"),
        (os, "rmdir"),
        (os, "unlink"),
        (files, "_exchange"),
    )

    def __init__(self, patch: pytest.MonkeyPatch, num_before: int, *, is_done: bool) -> None:
        self.num_left = num_before
        self.is_done = is_done
        """Whether the call that the kill hits is still carried out."""
        for owner, name in self.STEPS:
            patch.setattr(owner, name, functools.partial(self.step, getattr(owner, name)))

    def step(self, function: Callable[..., object], *arguments: Any, **options: Any) -> object:
        self.num_left -= 1
        if self.num_left >= 0:
            return function(*arguments, **options)
        if self.num_left == -1 and self.is_done:
            function(*arguments, **options)
        raise Killed


def replace(folder: Path, content: dict[str, str]) -> None:
    with files.atomic_folder(folder) as temporary:
        for name, text in content.items():
            (temporary / name).parent.mkdir(exist_ok=True)
            (temporary / name).write_text(text)


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("is_done", [True, False])
def test_a_folder_is_whole_wherever_its_replacement_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool, is_done: bool
) -> None:
    old, new = {"a": "old", "below/b": "old"}, {"a": "new", "c": "new", "below/d": "new"}
    folder = tmp_path / "[model]"
    if not can_exchange:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    seen: list[dict[str, str]] = []
    for num_before in itertools.count():
        replace(folder, old)
        try:
            with monkeypatch.context() as patch:
                Kill(patch, num_before, is_done=is_done)
                replace(folder, new)
        except Killed:
            # On a system that can exchange folders, nothing has to be recovered.
            assert folder.exists() or not can_exchange
        else:
            break
        files.recover_folder(folder)
        seen.append({name: (folder / name).read_text() for name in (*old, *new) if (folder / name).exists()})
    assert {json.dumps(content) for content in seen} == {json.dumps(old), json.dumps(new)}
    assert len(seen) > 10


def test_the_content_of_a_folder_is_on_disk_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = files.sync_path

    def note(path: Path) -> None:
        assert not (tmp_path / "model").exists()
        synced.append(path.name)
        sync(path)

    monkeypatch.setattr(files, "sync_path", note)
    replace(tmp_path / "model", {"a": "1", "below/b": "2"})
    assert sorted(synced[:-1]) == ["a", "b", "below"]
    assert synced[-1].startswith(".model.")


def test_an_interrupted_replacement_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between the two steps of a system that cannot exchange folders."""
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    replace(tmp_path / "model", {"a": "old"})
    rename = Path.rename

    def interrupt(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace(tmp_path / "model", {"a": "new"})
    assert {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"a": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


HOLD_LOCK = """
import sys
from lexitree.files import exclusive_lock
with exclusive_lock(sys.argv[1], "holds it"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of a path."""
    command = [sys.executable, "-c", HOLD_LOCK, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def take_lock(path: Path) -> list[str]:
    with exclusive_lock(path, "holds it"):
        return sorted(entry.name for entry in path.parent.iterdir())


def test_one_process_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.jsonl"
    with another_holder(path) as process:
        path.write_text("x")
        (tmp_path / "link").symlink_to(path)
        for name in (path, tmp_path / "link", path.parent / ".." / "new" / "out.jsonl"):
            with pytest.raises(FileError, match="is in use by another process") as caught:
                take_lock(name)
            assert "Wait for the process that holds it" in caught.value.remedy
        process.kill()
        process.wait()
    assert (path.parent / ".out.jsonl.lock").exists()
    assert take_lock(path) == [".out.jsonl.lock", "out.jsonl"]
    assert take_lock(path) == [".out.jsonl.lock", "out.jsonl"]
    assert [entry.name for entry in path.parent.iterdir()] == ["out.jsonl"]


def test_one_thread_at_a_time_and_again_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with exclusive_lock(tmp_path / "out", "holds it"):
            with pytest.raises(FileError, match="is in use"):
                take_lock(tmp_path / "out")
            with exclusive_lock(tmp_path / "other", "holds it"):
                raise RuntimeError("stopped")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="stopped"):
            fail()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_that_was_removed_meanwhile_guards_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder before removes the file between another's opening and locking it."""
    tried: list[int] = []

    def lock_late(handle: int) -> bool:
        tried.append(handle)
        if len(tried) == 1:
            (tmp_path / ".out.lock").unlink()
        return True

    monkeypatch.setattr(files, "_try_lock", lock_late)
    assert take_lock(tmp_path / "out") == [".out.lock"]
    assert len(tried) == 2


def test_a_lock_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="cannot be written"):
        take_lock(tmp_path / "file" / "below")


@pytest.mark.parametrize(("number", "is_fatal"), [(errno.ENOLCK, False), (errno.EIO, True)])
def test_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_fatal: bool
) -> None:
    def refuse(handle: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(FileError, match="cannot be written") if is_fatal else nullcontext():
        assert take_lock(tmp_path / "out") == [".out.lock"]
