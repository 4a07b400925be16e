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
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from lexitree import writing
from lexitree.errors import FileError
from lexitree.writing import atomic_path, atomic_write, exclusive_lock, open_output


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

    for raw, expected in ((io.BytesIO(), "caf\xe9 \u2013".encode()), (Terminal(), b"caf\xe9 -")):
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
        (writing, "_exchange"),
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
    with writing.atomic_folder(folder) as temporary:
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
        monkeypatch.setattr(writing, "_exchange", lambda *_: False)
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
        writing.recover_folder(folder)
        seen.append({name: (folder / name).read_text() for name in (*old, *new) if (folder / name).exists()})
    assert {json.dumps(content) for content in seen} == {json.dumps(old), json.dumps(new)}
    assert len(seen) > 10


def test_the_content_of_a_folder_is_on_disk_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = writing.sync_path

    def note(path: Path) -> None:
        assert (tmp_path / "model").exists() == (path == tmp_path)
        synced.append(path.name)
        sync(path)

    monkeypatch.setattr(writing, "sync_path", note)
    replace(tmp_path / "model", {"a": "1", "below/b": "2"})
    assert sorted(synced[:-2]) == ["a", "b", "below"]
    assert synced[-2].startswith(".model.")
    assert synced[-1] == tmp_path.name


def test_of_a_link_to_a_folder_the_target_is_replaced(tmp_path: Path) -> None:
    replace(tmp_path / "model", {"a": "old"})
    (tmp_path / "link").symlink_to("model")
    replace(tmp_path / "link", {"a": "new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model/a").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "model"]


def test_a_folder_does_not_take_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("mine")
    with pytest.raises(FileError, match="it is a file"):
        replace(tmp_path / "model", {"a": "new"})
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_text() == "mine"


@pytest.mark.parametrize("name", ["/", "."])
def test_places_without_a_name_of_their_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="cannot be written"), atomic_write(name) as stream:
        stream.write("x")
    with pytest.raises(FileError), exclusive_lock("/", "writes it"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("old")
    path.chmod(0o600)
    with atomic_write(path) as stream:
        stream.write("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_interrupted_replacement_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between the two steps of a system that cannot exchange folders."""
    monkeypatch.setattr(writing, "_exchange", lambda *_: False)
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
from lexitree.writing import exclusive_lock
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


def test_a_lock_can_be_waited_for(tmp_path: Path) -> None:
    with another_holder(tmp_path / "out") as process:
        with pytest.raises(FileError), exclusive_lock(tmp_path / "out", "holds it", wait=0.15):
            pass
        process.kill()
        with exclusive_lock(tmp_path / "out", "holds it", wait=60):
            pass


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

    monkeypatch.setattr(writing, "_try_lock", lock_late)
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
