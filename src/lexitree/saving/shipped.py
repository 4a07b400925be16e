"""The names and folders of the models that come with the package or with packages of their own.

Importing this does not import torch.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, get_args

from lexitree.errors import ModelFileError
from lexitree.installation import install_package_command
from lexitree.plugins import Registry, Source
from lexitree.suggestions import close_names, close_paths, did_you_mean

FOLDER = Path(__file__).parent.parent / "shipped"

IncludedName = Literal["sentiment", "sentiment-binary", "questions"]
SeparateName = Literal["sentiment-accurate"]
ClassifierName = IncludedName | SeparateName
ParserName = Literal["parser"]
NAMES: tuple[str, ...] = (*get_args(IncludedName), *get_args(ParserName))
"""The models that come with this package."""
SEPARATE: dict[str, str] = {"sentiment-accurate": "lexitree-sentiment-accurate"}
"""The models that have packages of their own, which the same repository holds; each with its package."""
DEFAULT_MODEL: IncludedName = "sentiment"
"""The model that labels text when none is named."""
BUILTIN_PARSER = "builtin"
"""What `open_parser` calls the shipped parser; shipped models use it by default."""


def _admit_folder(name: str, value: Any, source: Source) -> Path:
    del name, source
    if not isinstance(value, Path) or not value.is_dir():
        raise TypeError("must be the path of a saved model")
    return value.absolute()


SHIPPED_MODELS: Registry[Path] = Registry(
    "shipped model", {name: Path(name) for name in NAMES}, _admit_folder
)
"""The folders of all shipped models; those of this package below `FOLDER`."""


def shipped_names() -> tuple[str, ...]:
    """The shipped models that are installed; a version may come without some."""
    return tuple(name for name, folder in SHIPPED_MODELS.working() if _is_model(FOLDER / folder))


def missing_names() -> tuple[str, ...]:
    """The models with packages of their own that are not installed."""
    return tuple(name for name in SEPARATE if name not in SHIPPED_MODELS)


def is_shipped(name: str | Path) -> bool:
    """Whether this is the name of an installed shipped model; a path such as `./sentiment` never is."""
    return isinstance(name, str) and name in SHIPPED_MODELS and _is_model(FOLDER / SHIPPED_MODELS[name])


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file()


def shipped_folder(name: str) -> Path:
    """The folder of a shipped model.

    Raises:
        ModelFileError: If it is not installed.
    """
    if is_shipped(name):
        return FOLDER / SHIPPED_MODELS[name]
    if name in SEPARATE:
        raise ModelFileError(
            name,
            "has a package of its own, which is not installed",
            remedy="Install it, and with it the extra transformers: "
            + install_package_command(SEPARATE[name]),
        )
    there = ", ".join(shipped_names()) or "none"
    raise ModelFileError(
        name,
        "does not come with this version of lexitree",
        remedy=f"Available: {there}. Or give the directory of a saved model.",
    )


def is_known(name: str | Path) -> bool:
    """Whether lexitree knows a model of this name, installed or not."""
    return isinstance(name, str) and (name in SHIPPED_MODELS or name in SEPARATE)


def could_be_model(name: str | Path) -> bool:
    """Whether there may be a model of this name: shipped, a folder here, or `owner/name`, which the hub may have."""
    return is_known(name) or os.path.isdir(name) or is_hub_name(str(name))  # noqa: PTH112 - as in `locate_model`


def is_hub_name(name: str) -> bool:
    """Whether this is `owner/name`, as models on the Hugging Face hub are called, and nothing here is called so."""
    return name.count("/") == 1 and not name.startswith((".", "/", "~")) and not os.path.lexists(name)


def no_such_model(name: str | Path, problem: str = "there is no such model") -> ModelFileError:
    """The error for the name of a model that does not exist: what was looked for, and what may have been meant."""
    from lexitree.corpora.named import find_entry

    # Functions of os.path take names that are too long, or of nobody's home, for names of nothing.
    folder = Path(os.path.expanduser(name)).absolute()  # noqa: PTH111
    if os.path.isfile(folder):  # noqa: PTH113
        return ModelFileError(
            name, "is a file, and a model is a folder", remedy=f"Its folder: {folder.parent}"
        )
    folders = [path for path in close_paths(name) if Path(path).is_dir()]
    meant = did_you_mean([*close_names(str(name), (*shipped_names(), *missing_names())), *folders])
    if find_entry(str(name)):
        meant = f"{name} is a corpus; the model comes first."
    looked = (
        f"Looked for a model of the package ({', '.join(shipped_names())}), the folder {folder}"
        " and, for owner/name, the Hugging Face hub."
    )
    return ModelFileError(name, problem, remedy=f"{meant}\n{looked}".lstrip())
