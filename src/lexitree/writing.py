"""Write files and folders completely or not at all, and lock what one process may write at a time."""

from __future__ import annotations

import ctypes
import errno
import glob
import gzip
import io
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from lexitree.errors import FileError
from lexitree.files import STANDARD_STREAM, file_errors
from lexitree.streams import write_utf8

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
"""Linux: paths are relative to the working directory; both names are kept."""

_SECONDS_BETWEEN_TRIES = 0.1
"""While waiting for a lock."""

_UNCHANGED = "The previous contents are untouched; free some space and run the command again."


@contextmanager
def atomic_write(path: str | Path) -> Generator[TextIO]:
    """Open a text file for writing that replaces `path` only when it is complete and on disk; `.gz` is compressed."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        # Without a name and a time in it, the same text makes the same file.
        is_packed = str(path).endswith(".gz")
        packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_packed else nullcontext(file)
        with packed as binary:
            stream = io.TextIOWrapper(cast(BinaryIO, binary), encoding="utf-8", newline="\n")
            yield stream
            stream.flush()
            stream.detach()


@contextmanager
def open_output(path: str | Path | None, *, flush: bool = False) -> Generator[Callable[[str], object]]:
    """Give a function that writes text to a file that appears when complete, or to standard output.

    Args:
        path: The file; None or `-` is standard output.
        flush: Whether each text that is written to standard output is shown at once.
    """
    if path is not None and str(path) != STANDARD_STREAM:
        with atomic_write(path) as stream:
            yield stream.write
        return
    write_utf8(sys.stdout)

    def write_at_once(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    yield write_at_once if flush else sys.stdout.write
    sys.stdout.flush()


@contextmanager
def atomic_path(path: str | Path, *errors: type[Exception]) -> Generator[Path, None, None]:
    """Provide a temporary path that replaces `path` on success and is removed on failure.

    The old file stays in place until the new one is complete on disk, so a full disk, a killed process or a power cut
    damages nothing. Of a symbolic link, the target is replaced. A pipe or a device, such as /dev/null, cannot be
    replaced and is written to directly.

    Args:
        path: The file to create or replace.
        *errors: Exceptions besides OSError that mean that the file cannot be written.
    """
    path = Path(path)
    if is_pipe_or_device(path):
        yield path
        return
    target = _real_path(path)
    # A folder, because libraries such as safetensors make temporary files of their own beside the one they write.
    folder = _unused_name(target)
    temporary = folder / target.name
    try:
        with file_errors(path, "written"):
            target.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(0o700)
        yield temporary
        sync_path(temporary)
        temporary.chmod(target.stat().st_mode & 0o777 if target.is_file() else 0o666 & ~_current_umask())
        temporary.replace(target)
    except (OSError, *errors) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(path, f"cannot be written ({reason})", remedy=_UNCHANGED) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sync_name(target)


def is_pipe_or_device(path: Path) -> bool:
    """Whether there is something of this name that is neither a file nor a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


def hidden_beside(path: str | Path, suffix: str) -> Path:
    """The hidden file `.NAME` with a suffix beside a file or folder; all names of it, such as links, share one."""
    real = _real_path(path)
    return real.with_name(f".{real.name}{suffix}")


def _real_path(path: str | Path) -> Path:
    """The path without symbolic links: the target of a link is written, and the link stays."""
    real = Path(os.path.realpath(path))
    if not real.name:
        raise FileError(path, "cannot be written: it is the root of the file system")
    return real


@contextmanager
def atomic_folder(folder: Path, *errors: type[Exception]) -> Generator[Path, None, None]:
    """Provide a new folder to fill, which replaces the old one on success, when it is on disk.

    Of a symbolic link, the target is replaced.

    Args:
        folder: The folder to create or replace.
        *errors: Exceptions besides OSError that mean that the folder cannot be written.
    """
    target = _real_path(folder)
    temporary = _unused_name(target)
    recover_folder(target)
    if target.exists() and not target.is_dir():
        raise FileError(folder, "cannot be written: it is a file, not a folder")
    try:
        with file_errors(folder, "written"):
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir(0o700)
        yield temporary
        temporary.chmod(0o755)
        for path in (*temporary.rglob("*"), temporary):
            sync_path(path)
        if target.exists() and _exchange(temporary, target):
            # Before the old one, now under the temporary name, is removed.
            sync_name(target)
        else:
            _replace_folder(temporary, target)
    except (OSError, *errors) as error:
        raise FileError(folder, f"cannot be written ({error})", remedy=_UNCHANGED) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _unused_name(path: Path, end: str = "part") -> Path:
    """A hidden name beside a file or folder, known before it is made: a signal in between leaves nothing behind."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{end}")


def sync_path(path: Path) -> None:
    """Wait until a file or the names in a folder are on disk, so that a name never gets there before its content."""
    if sys.platform == "win32" and path.is_dir():
        return  # Windows cannot open folders.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_name(path: Path) -> None:
    """Have the name of a new file or folder on disk, if that is possible.

    Without it, a power cut may bring the old one back, which is not worth an error.
    """
    with suppress(OSError):
        sync_path(path.parent)


def _exchange(first: Path, second: Path) -> bool:
    """Let two folders change places in one step; False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, TypeError, AttributeError):
        return False  # Only Linux has it.
    return rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0


def _replace_folder(temporary: Path, folder: Path) -> None:
    """Replace a folder in two steps: the old one moves aside, and back if the second step fails.

    A process that is killed in between leaves it aside; see `recover_folder`.
    """
    if not folder.exists():
        temporary.rename(folder)
        sync_name(folder)
        return
    aside = _unused_name(folder, "old")
    try:
        aside.mkdir(0o700)
        folder.rename(aside / folder.name)
        temporary.rename(folder)
    except BaseException:
        recover_folder(folder)
        # Not rmtree: if the old folder could not be moved back, it must stay there.
        with suppress(OSError):
            aside.rmdir()
        raise
    sync_name(folder)
    shutil.rmtree(aside, ignore_errors=True)


def recover_folder(folder: Path) -> None:
    """Move a folder back, if that is possible, which a killed process had moved aside to replace it."""
    if not folder.name or os.path.lexists(folder):
        return
    with suppress(OSError):
        for old in folder.parent.glob(f".{glob.escape(folder.name)}.*.old/{glob.escape(folder.name)}"):
            old.rename(folder)
            old.parent.rmdir()
            return


@contextmanager
def exclusive_lock(path: str | Path, what: str, *, wait: float = 0.0) -> Generator[None]:
    """Keep other processes, and other threads, from using a file or folder inside the `with` block.

    The lock is held on an empty file `.NAME.lock` beside `path` and belongs to the process, so it vanishes however
    the process ends: a lock file that a killed process left behind blocks nobody. Where the file system has no locks,
    nothing is locked.

    Args:
        path: The file or folder, which need not exist yet. All names of it, such as symbolic links, share one lock.
        what: What is done to it, for the remedy, such as "labels texts into it".
        wait: How many seconds to wait for another process that holds the lock.

    Raises:
        FileError: Another living process holds the lock, or the lock file cannot be made.
    """
    lock = hidden_beside(path, ".lock")
    with file_errors(path, "written"):
        lock.parent.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + wait
        while (handle := _open_locked(lock)) is None and time.monotonic() < deadline:
            time.sleep(_SECONDS_BETWEEN_TRIES)
    if handle is None:
        remedy = f"Wait for the process that {what} to end, or stop it, or use another output."
        raise FileError(path, "is in use by another process", remedy=remedy)
    try:
        yield
    finally:
        _remove_locked(lock, handle)


def _open_locked(lock: Path) -> int | None:
    """Create and lock a file; None if somebody else holds it."""
    while True:
        handle, is_held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666), False
        try:
            if not _try_lock(handle):
                return None
            # The holder before may have removed the file after it was opened here: then this lock guards nothing.
            with suppress(FileNotFoundError):
                is_held = os.path.samestat(os.fstat(handle), lock.stat())
            if is_held:
                return handle
        finally:
            if not is_held:
                os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS):
            raise
    return True


def _remove_locked(lock: Path, handle: int) -> None:
    """Give a lock back. POSIX removes the file while it is still locked; Windows cannot remove an open file."""
    if sys.platform == "win32":
        os.close(handle)
    with suppress(OSError):
        lock.unlink()
    if sys.platform != "win32":
        os.close(handle)


def _current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
