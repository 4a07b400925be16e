"""A folder of output, on this machine or in a store, in which every file is written completely or not at all."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lexitree.errors import FileError
from lexitree.files import file_errors, to_json
from lexitree.stores import (
    describe_stored,
    find_stored,
    is_address,
    list_stored,
    open_stored,
    put_stored,
    remove_stored,
)
from lexitree.writing import atomic_path, exclusive_lock

_MAGIC = re.compile(r"[*?\[]")
"""What makes a name a pattern."""
UNFINISHED = ".*.part"
"""What a killed process leaves of a file that it was writing."""


def is_folder_name(output: str | Path | None) -> bool:
    """Whether an output is to be a folder: an address of a store, a folder, or a name that ends in a slash."""
    if output is None:
        return False
    name = str(output)
    return is_address(name) or name.endswith(("/", os.sep)) or Path(name).is_dir()


@dataclass(frozen=True)
class PartFolder:
    """A folder in which files have names such as `reviews.csv/part-00000.csv`."""

    place: str
    """A path, or the address of a store."""

    @property
    def is_stored(self) -> bool:
        return is_address(self.place)

    def path(self, name: str) -> str:
        """The path or address of a file."""
        return f"{self.place.rstrip('/')}/{name}" if name else self.place

    def names(self, inner: str = "") -> set[str]:
        """The names of what the folder, or a folder in it, holds; hidden files are left out."""
        if self.is_stored:
            found = list_stored(self.path(inner))
        else:
            folder = Path(self.path(inner))
            with file_errors(folder):
                found = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        return {name for name in found if not name.startswith(".")}

    @contextmanager
    def new_file(self, name: str) -> Generator[Path]:
        """Provide a local path to write to; the file appears in the folder, complete, when the block ends."""
        if not self.is_stored:
            with atomic_path(self.path(name)) as path:
                yield path
            return
        with tempfile.TemporaryDirectory(prefix="lexitree-") as scratch:
            path = Path(scratch) / "part"
            with file_errors(self.path(name), "written"):
                yield path
            put_stored(path, self.path(name))

    def write_json(self, name: str, values: Mapping[str, Any]) -> None:
        """Write a file of values."""
        with self.new_file(name) as path:
            path.write_text(to_json(dict(values), indent=1) + "\n", encoding="utf-8")

    def read_json(self, name: str) -> dict[str, Any]:
        """Read a file of values.

        Raises:
            FileError: It is missing, or holds something else.
        """
        path = self.path(name)
        try:
            with open_stored(path) if self.is_stored else open(path, "rb") as stream:
                values: object = json.loads(stream.read())
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(path, f"cannot be read ({error})") from error
        if not isinstance(values, dict):
            raise FileError(path, "does not hold what lexitree has written there")
        return cast("dict[str, Any]", values)

    def remove(self, name: str) -> None:
        """Remove a file."""
        path = self.path(name)
        if self.is_stored:
            remove_stored(path)
        else:
            with file_errors(path, "removed"):
                Path(path).unlink()

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep other processes of this machine from writing to the folder; stores have no locks."""
        with nullcontext() if self.is_stored else exclusive_lock(self.place.rstrip("/"), "writes to it"):
            yield

    def remove_unfinished(self, inner: str) -> None:
        """Remove what a process that was killed has left in a folder; in a store, it leaves nothing."""
        if not self.is_stored:
            for left in Path(self.path(inner)).glob(UNFINISHED):
                shutil.rmtree(left, ignore_errors=True)

    def holds(self, path: str | Path) -> bool:
        """Whether a file is inside of the folder."""
        if self.is_stored or is_address(path):
            return str(path).startswith(self.place.rstrip("/") + "/")
        return Path(path).resolve().is_relative_to(Path(self.place).resolve())


@dataclass(frozen=True)
class InputFile:
    """A file whose results go to a folder of parts."""

    path: str | Path
    """A path, or an address of a store."""
    name: str
    """Its name in the output: its path after the folder that its pattern begins with."""

    def describe(self) -> dict[str, str | int]:
        """What tells whether it is still the same file."""
        if is_address(self.path):
            return describe_stored(str(self.path))
        with file_errors(self.path):
            found = Path(self.path).stat()
        return {"size": found.st_size, "version": str(found.st_mtime_ns)}

    def check(self, described: Mapping[str, str | int]) -> None:
        """Raise an error if it is not the file any more that was described."""
        if self.describe() != described:
            raise self.change_error()

    def change_error(self) -> FileError:
        """The error that it does not hold the rows any more that were counted."""
        return FileError(
            self.path,
            "has changed while it was labelled",
            remedy="Run the same command again when nothing writes to it any more.",
        )


def find_inputs(pattern: str | Path) -> list[InputFile]:
    """The file of this name or, for a pattern such as `data/*.csv`, the files that match it, sorted.

    Raises:
        FileError: There is none.
    """
    name = str(pattern)
    magic = _MAGIC.search(name)
    if magic is None or (not is_address(name) and Path(name).is_file()):
        return [InputFile(pattern, name.rpartition("/")[2])]
    root = name[: magic.start()].rpartition("/")[0]
    found = find_stored(name) if is_address(name) else sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    files = [
        InputFile(path if is_address(path) else Path(path), _below(path, root))
        for path in found
        if is_address(path) or Path(path).is_file()
    ]
    if not files or any(".." in each.name.split("/") for each in files):
        problem = ".. stands after the first *, ? or [" if files else "no file matches this pattern"
        raise FileError(name, problem)
    return files


def _below(path: str, root: str) -> str:
    """The path after a folder; slashes may be written twice in addresses."""
    parts, start = [[each for each in name.split("/") if each not in ("", ".")] for name in (path, root)]
    return "/".join(parts[len(start) :])
