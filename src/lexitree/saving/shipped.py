"""The name of a model that comes with the package in, its directory out; they lie beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from lexitree.errors import ModelFileError

FOLDER = Path(__file__).parent.parent / "shipped"

ClassifierName = Literal["sentiment", "sentiment-binary", "questions"]
ParserName = Literal["parser"]
NAMES: tuple[str, ...] = (*get_args(ClassifierName), *get_args(ParserName))
DEFAULT_MODEL: ClassifierName = "sentiment"
"""What labels a text when no model is named."""
BUILTIN_PARSER = "builtin"
"""What the parser among them is called where others could be asked for; the models have it by default."""


def shipped_names() -> tuple[str, ...]:
    """The models that are there: a version may come without some."""
    return tuple(name for name in NAMES if (FOLDER / name / "config.json").is_file())


def is_shipped(name: str | Path) -> bool:
    """Whether this is the name of a model that is there; a path never is, not even `./sentiment`."""
    return isinstance(name, str) and name in shipped_names()


def shipped_folder(name: str) -> Path:
    """The directory of a model of the package."""
    if name not in shipped_names():
        there = ", ".join(shipped_names()) or "none"
        raise ModelFileError(
            name,
            "does not come with this version of lexitree",
            remedy=f"Those that do: {there}. Or give the directory of a saved model.",
        )
    return FOLDER / name
