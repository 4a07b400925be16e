"""Where and when a figure was measured: what every record under results/ carries."""

from __future__ import annotations

import datetime
import os
import sys
from pathlib import Path
from typing import Any

from lexitree.reproduction.records import checksum, commit, machine

__all__ = ["checksum", "commit", "describe_run", "machine", "shorten"]


def describe_run(data: dict[str, Path | None]) -> dict[str, Any]:
    """The command, the commit, the data (by checksum; None for embedded) and the machine."""
    return {
        "command": " ".join(["python", *map(shorten, sys.argv)]),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "data": {name: checksum(path) if path else "embedded" for name, path in data.items()},
        "machine": machine(),
    }


def shorten(argument: str) -> str:
    """An argument without the folders of this machine."""
    folder = os.environ.get("LEXITREE_DATA")
    if folder and argument.startswith(folder):
        return argument.replace(folder.rstrip("/"), "$LEXITREE_DATA", 1)
    return Path(argument).name if Path(argument).is_absolute() else argument
