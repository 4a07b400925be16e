"""Describes where figures come from: the commit and the sources, the data by checksum, and the machine."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lexitree.corpora.locations import DATA_VARIABLE
from lexitree.version import __version__

_COMMIT_VARIABLE = "LEXITREE_COMMIT"
_ROOT = Path(__file__).parents[3]
_SOURCES = "src"
_NOT_SOURCE = frozenset({"__pycache__"})
_WRITTEN_BY_RUNS = tuple(
    f":(exclude){folder}" for folder in ("results", "docs", "paper/results", "paper/docs")
)


def describe(command: str, files: Iterable[Path], seeds: list[int], *, embedded: str) -> dict[str, Any]:
    """Return what every record starts with: command, commit, date, data, machine and seeds.

    Args:
        command: The command that repeats the measurement.
        files: The files it read.
        seeds: Its seeds.
        embedded: The embedded corpus it used, if it read no files.
    """
    return {
        "command": command,
        **describe_code(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "data": checksums(files) or {embedded: "embedded"},
        "machine": machine(),
        "seeds": seeds,
    }


def describe_code() -> dict[str, str]:
    """Return the commit and the digest of the sources, which tells whether they are those of the commit."""
    return {"commit": commit(), "source": source_digest()}


def commit() -> str:
    """Return the current commit, marked `+changes` if files differ from it; without a history, the version.

    Records and pages, which runs write, do not count: a run of several parts has written some when it records others.

    On a machine without the history, LEXITREE_COMMIT names the commit. Whether its files are there is seen from the
    digest of the sources, here if there is a history after all, and otherwise by whoever has one.
    """
    if told := os.environ.get(_COMMIT_VARIABLE):
        committed = committed_digest(told)
        return told if committed in (None, source_digest()) else f"{told}+changes"
    head = _ask_git("rev-parse", "--short=12", "HEAD")
    changes = "+changes" if _ask_git("status", "--porcelain", "--", ".", *_WRITTEN_BY_RUNS) else ""
    return head + changes if head else f"lexitree {__version__}"


def source_digest() -> str:
    """Return the SHA-256 of the names and contents of all source files."""
    folder = _ROOT / _SOURCES
    paths = [
        path
        for path in folder.rglob("*")
        # Compiled kernels are made from the sources.
        if path.is_file() and not _NOT_SOURCE.intersection(path.parts) and ".so" not in path.suffixes
    ]
    return _digest({path.relative_to(folder).as_posix(): _blob_id(path.read_bytes()) for path in paths})


def committed_digest(name: str) -> str | None:
    """Return what `source_digest` is for the files of a commit; None without the history."""
    listed = _ask_git("ls-tree", "-r", "-z", f"{name}:{_SOURCES}")
    entries = [entry.partition("\t") for entry in listed.split("\0") if entry]
    return _digest({path: details.split()[2] for details, _, path in entries}) if entries else None


def _digest(blobs: Mapping[str, str]) -> str:
    text = "".join(f"{path}\0{blobs[path]}\n" for path in sorted(blobs))
    return hashlib.sha256(text.encode()).hexdigest()


def _blob_id(content: bytes) -> str:
    """Return the name that git gives to a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _ask_git(*arguments: str) -> str:
    """Return what git says of the repository; nothing without git or a history."""
    command = ["git", "-C", str(_ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def checksums(paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of data files by public name."""
    return {public_name(path): checksum(path) for path in paths}


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def public_name(path: str | Path) -> str:
    """Return a path relative to the data folder, or the file name alone."""
    folder = os.environ.get(DATA_VARIABLE)
    resolved = Path(path).resolve()
    if folder and resolved.is_relative_to(Path(folder).resolve()):
        return str(resolved.relative_to(Path(folder).resolve()))
    return resolved.name


def machine() -> dict[str, Any]:
    """Describe the processor, memory, GPU and versions."""
    # Programs that measure work without torch import this module, too.
    import torch

    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _memory_gib() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, ValueError, OSError):
        # Not every system reports it.
        return None


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
