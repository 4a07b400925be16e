"""The environment goes in; the folders in which corpora and vectors are looked for and kept come out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

DATA_VARIABLE = "LEXITREE_DATA"
CACHE_VARIABLE = "LEXITREE_CACHE"


class DataFolder(NamedTuple):
    """A folder where data may lie, and who named it."""

    path: Path
    named_by: str


def cache_folder() -> Path:
    """Where downloads are kept: $LEXITREE_CACHE, else the user's cache folder as the platform has it."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "lexitree"
    # An XDG variable that is not absolute is to be ignored, says the specification.
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "lexitree"


def data_folders(data: str | Path | None = None) -> list[DataFolder]:
    """Where real data is looked for, in this order: the folder given, $LEXITREE_DATA, the cache."""
    folders = [DataFolder(Path(data).expanduser(), "--data")] if data is not None else []
    named = os.environ.get(DATA_VARIABLE)
    if named:
        folders.append(DataFolder(Path(named).expanduser(), f"${DATA_VARIABLE}"))
    return [*folders, DataFolder(cache_folder(), "downloads")]
