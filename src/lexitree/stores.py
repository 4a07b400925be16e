"""Files of stores such as S3, by their addresses (`s3://bucket/reviews.csv`), through fsspec."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from lexitree.errors import ConfigError, FileError, LexitreeError, MissingExtraError, import_extra

_ADDRESS = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)
"""Two characters at least: `C:` is a drive of Windows. The web is not a store: nothing can be listed there."""
_WHOLE_AT_ONCE = frozenset(("abfs", "abfss", "az", "gcs", "gs", "memory", "oss", "s3", "s3a"))
"""Stores in which an object appears when all of it has arrived, and not before."""
_SIGNS_OF_CHANGE = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "updated", "modified", "created")
"""What stores say of a file that differs when it is written again, the best first."""


def is_address(name: object) -> bool:
    """Whether a name is the address of a file or folder in a store, such as `s3://bucket/data`."""
    return isinstance(name, str) and _ADDRESS.match(name) is not None


@contextmanager
def _store_errors(address: str, what: str) -> Generator[None]:
    """Report whatever a store's driver raises: each has exceptions of its own, not all of them an OSError."""
    try:
        yield
    except LexitreeError:
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise FileError(address, f"cannot be {what} ({reason})") from error


def _open_store(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it.

    Raises:
        MissingExtraError: fsspec, or the package that it needs for this store, is not installed.
        ConfigError: fsspec knows no such store.
    """
    fsspec = import_extra("fsspec", extra="stores", purpose=f"Reading and writing {address}")
    try:
        return fsspec.core.url_to_fs(address)
    except ImportError as error:
        named = re.search(r"install (\w+)", str(error), re.IGNORECASE)
        package = error.name or (named[1] if named else str(error))
        raise MissingExtraError(package, "stores", f"Reading and writing {address}") from error
    except ValueError as error:
        raise ConfigError(f"{address}: no such store ({error})", remedy="Is it a local path?") from error


@contextmanager
def open_stored(address: str) -> Generator[BinaryIO]:
    """Open a file of a store for reading bytes."""
    store, path = _open_store(address)
    with _store_errors(address, "read"):
        stream = store.open(path, "rb")
    with stream:
        yield cast(BinaryIO, stream)


def find_stored(pattern: str) -> list[str]:
    """The addresses of the files that match a pattern such as `s3://bucket/*.csv`, sorted."""
    store, path = _open_store(pattern)
    with _store_errors(pattern, "read"):
        found: list[str] = store.glob(path)
        return sorted(store.unstrip_protocol(each) for each in found if not each.endswith("/"))


def describe_stored(address: str) -> dict[str, str | int]:
    """The size of a file in a store, and what tells that it was written again."""
    store, path = _open_store(address)
    with _store_errors(address, "read"):
        # What another process has written since is not in the driver's memory.
        store.invalidate_cache()
        details: dict[str, Any] = store.info(path)
    changed = next((details[sign] for sign in _SIGNS_OF_CHANGE if details.get(sign)), "")
    return {"size": int(details["size"]), "version": str(changed).strip('"')}


def list_stored(folder: str) -> list[str]:
    """The names of the files and folders in a folder of a store; none if there is no such folder."""
    store, path = _open_store(folder)
    with _store_errors(folder, "read"):
        # What another process has written since is not in the driver's memory.
        store.invalidate_cache()
        try:
            found: list[str] = store.ls(path, detail=False)
        except FileNotFoundError:
            return []
        own = path.rstrip("/")
        return [each.rstrip("/").rpartition("/")[2] for each in found if each.rstrip("/") != own]


def remove_stored(address: str) -> None:
    """Remove a file of a store."""
    store, path = _open_store(address)
    with _store_errors(address, "removed"):
        store.rm_file(path)


def put_stored(file: Path, address: str) -> None:
    """Copy a local file to a store, where it appears when it is complete."""
    store, path = _open_store(address)
    folder, _, name = path.rpartition("/")
    with _store_errors(address, "written"):
        if _WHOLE_AT_ONCE.intersection(
            [store.protocol] if isinstance(store.protocol, str) else store.protocol
        ):
            store.put_file(str(file), path)
            return
        temporary = f"{folder}/.{name}.part"
        store.makedirs(folder, exist_ok=True)
        store.put_file(str(file), temporary)
        store.mv(temporary, path)
