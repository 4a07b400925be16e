"""What someone may have meant who named something that does not exist: names and paths that are spelled alike."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

_MOST_ENTRIES = 10_000
"""So many entries of a folder are compared with a missing name."""


def close_names(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """The known names that are spelled most like this one, whatever their case; the closest first."""
    spelled: dict[str, str] = {}
    for each in known:
        spelled.setdefault(each.lower(), each)
    return [spelled[close] for close in difflib.get_close_matches(name.lower(), spelled, n=most)]


def close_paths(path: str | Path, *, most: int = 3) -> list[str]:
    """The existing paths that differ from a missing one in one name, which is spelled alike.

    `runs/mien/model` is close to `runs/mine/model`, and `review.csv` to `reviews.csv`.
    """
    try:
        missing = Path(path).expanduser()
        rest: list[str] = []
        while not missing.parent.exists():
            rest.insert(0, missing.name)
            missing = missing.parent
        with os.scandir(missing.parent) as entries:
            names = [entry.name for entry in islice(entries, _MOST_ENTRIES)]
        found = [
            missing.with_name(name).joinpath(*rest) for name in close_names(missing.name, names, most=most)
        ]
        return [str(each) for each in found if each.exists()]
    except (OSError, ValueError, RuntimeError):
        # A name that cannot be, a folder that cannot be read, or a user without a home.
        return []


def did_you_mean(close: Iterable[str]) -> str:
    """`Did you mean this or that?`, or nothing if nothing is close."""
    names = list(dict.fromkeys(close))
    return f"Did you mean {' or '.join(names)}?" if names else ""


def suggest_path(path: str | Path) -> str:
    """A remedy for a missing file or folder: similar paths or, if there are none, where it was looked for."""
    suggestion = did_you_mean(close_paths(path))
    if suggestion or not str(path):
        return suggestion
    try:
        parent = Path(path).expanduser().absolute().parent
        return f"It was looked for in {parent}" + ("." if parent.is_dir() else ", which does not exist.")
    except (OSError, ValueError, RuntimeError):
        return ""


def suggest_files(folder: str | Path) -> str:
    """A remedy for a folder where a file is needed: some of the files in it."""
    try:
        files = sorted(path for path in islice(Path(folder).iterdir(), _MOST_ENTRIES) if path.is_file())
    except OSError:
        return ""
    return (
        f"It is a folder. Name a file in it, such as {files[0]}" if files else "It is a folder without files."
    )
