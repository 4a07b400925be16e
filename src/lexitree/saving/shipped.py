"""The names and folders of the models that come with the package; importing this does not import torch."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from lexitree.errors import ModelFileError

FOLDER = Path(__file__).parent.parent / "shipped"

ClassifierName = Literal["sentiment", "sentiment-binary", "questions"]
ParserName = Literal["parser"]
NAMES: tuple[str, ...] = (*get_args(ClassifierName), *get_args(ParserName))
DEFAULT_MODEL: ClassifierName = "sentiment"
"""The model that labels text when none is named."""
BUILTIN_PARSER = "builtin"
"""What `open_parser` calls the shipped parser; shipped models use it by default."""


def shipped_names() -> tuple[str, ...]:
    """The shipped models that are installed; a version may come without some."""
    return tuple(name for name in NAMES if (FOLDER / name / "config.json").is_file())


def is_shipped(name: str | Path) -> bool:
    """Whether this is the name of an installed shipped model; a path such as `./sentiment` never is."""
    return isinstance(name, str) and name in shipped_names()


def shipped_folder(name: str) -> Path:
    """The folder of a shipped model.

    Raises:
        ModelFileError: If this version comes without it.
    """
    if name not in shipped_names():
        there = ", ".join(shipped_names()) or "none"
        raise ModelFileError(
            name,
            "does not come with this version of lexitree",
            remedy=f"Available: {there}. Or give the directory of a saved model.",
        )
    return FOLDER / name
