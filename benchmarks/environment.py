"""Describe where and when a figure was measured, for records in results/."""

from __future__ import annotations

import datetime
import os
import sys
from pathlib import Path
from typing import Any

from lexitree.learning.provenance import checksum, describe_code, machine

__all__ = ["checksum", "corpus_files", "describe_code", "describe_run", "machine", "shorten"]


def describe_run(data: dict[str, Path | None]) -> dict[str, Any]:
    """The command, the commit, the data (by checksum; None for embedded) and the machine."""
    return {
        "command": " ".join(["python", *program(), *map(shorten, sys.argv[1:])]),
        **describe_code(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "data": {name: checksum(path) if path else "embedded" for name, path in data.items()},
        "machine": machine(),
    }


def program() -> list[str]:
    """The words that start this program: its path, or -m and its module."""
    spec = sys.modules["__main__"].__spec__
    return ["-m", spec.name.removesuffix(".__main__")] if spec else [shorten(sys.argv[0])]


def corpus_files(name: str) -> dict[str, Path | None]:
    """The file of the training trees, for a record; None for an embedded corpus."""
    folder = os.environ.get("LEXITREE_DATA")
    file = Path(folder) / "sst" / "train.txt" if folder and name.startswith("sst") else None
    return {f"{name} train": file}


def shorten(argument: str) -> str:
    """An argument without the folders of this machine."""
    folder = os.environ.get("LEXITREE_DATA")
    if folder and argument.startswith(folder):
        return argument.replace(folder.rstrip("/"), "$LEXITREE_DATA", 1)
    return Path(argument).name if Path(argument).is_absolute() else argument
