"""The folder that a model is saved in: finding it, and reading its files with a check of each.

Every model is a folder with `config.json` (what it is, its settings, its training record, checksums of itself and of
the other files), weights as safetensors, vocabularies as JSON, and a card (`README.md`) without a checksum, because
people may edit it. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from lexitree.errors import ConfigError, LexitreeError, ModelFileError, import_extra
from lexitree.installation import PAPER, install_package_command
from lexitree.lazy import cached_property
from lexitree.lexicon.normal_forms import Lookup
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.saving import shipped
from lexitree.saving.stored_arrays import (
    RELOAD,
    StoredTable,
    TableForm,
    read_stored_arrays,
    stored_tables,
)
from lexitree.writing import recover_folder

FORMAT = 2
"""The version of the folder that is written; increase it when older releases could not read the result."""
READABLE_FORMATS = (1, 2)
"""Format 1 has no checksums for classifiers and rerankers, and no kind for classifiers."""

CONFIG_FILE, CARD_FILE = "config.json", "README.md"
WEIGHTS_FILE, VECTORS_FILE = "model.safetensors", "vectors.safetensors"
VOCABULARY_FILE, TRAINED_WORDS_FILE = "vocabulary.json", "trained_words.json"
FILES = (CONFIG_FILE, CARD_FILE, WEIGHTS_FILE, VECTORS_FILE, VOCABULARY_FILE, TRAINED_WORDS_FILE)
"""All files that a model may have."""
MODEL_FOLDER = "model"
"""Where a training run has its model."""
ENCODER_FOLDER = "encoder"
"""Where a model has its transformer, as the library `transformers` writes it."""
QUANTIZED_ENCODER = f"{ENCODER_FOLDER}/quantized.safetensors"
"""The weights of a transformer in int8, which the library does not read."""

CLASSIFIER = "classifier"
COMMANDS = {CLASSIFIER: "lexitree predict", "parser": "lexitree parser"}
"""The kinds of models of this package, and the command that uses each."""
PACKAGES = {"reranker": PAPER}
"""Kinds of models that are known to belong to other packages."""
PLUGINS = "plugins"
"""The entry of config.json with what the model needs of other packages."""
CHECKSUM = "checksum"
"""The entry of config.json with the checksum of its others; models of older versions have none."""

_CHUNK_BYTES = 1 << 20
Settings = TypeVar("Settings")


def locate_model(name: str | Path, *, revision: str | None = None) -> Path:
    """Find the folder of a model.

    Args:
        name: The name of a shipped model, the folder of a model or of a run, or `owner/name` on the Hugging Face
            hub. The name of a shipped model takes precedence over a folder of the same name; write `./sentiment` for
            the folder.
        revision: The branch, tag or commit on the hub.

    Raises:
        ModelFileError: If there is no such model.
        MissingExtraError: If the model is on the hub and `huggingface_hub` is not installed.
    """
    folder = Path(name)
    if not shipped.is_shipped(name):
        recover_folder(folder)
    is_folder = os.path.isdir(folder)  # noqa: PTH112 - Path.is_dir fails for names that are too long
    if shipped.is_shipped(name) or (shipped.is_known(name) and not is_folder):
        return shipped.shipped_folder(str(name))
    if is_folder:
        return _inside_run(folder)
    if not shipped.is_hub_name(str(name)):
        raise shipped.no_such_model(name)
    return _download_from_hub(str(name), revision)


def _inside_run(folder: Path) -> Path:
    """The model in the folder of a run; any other folder as it is.

    Raises:
        ModelFileError: If these are runs with several seeds, each with a model.
    """
    if (folder / CONFIG_FILE).is_file():
        return folder
    if (folder / MODEL_FOLDER / CONFIG_FILE).is_file():
        return folder / MODEL_FOLDER
    several = sorted(str(path.parent) for path in folder.glob(f"*/{MODEL_FOLDER}/{CONFIG_FILE}"))
    if several:
        problem = f"holds {len(several)} runs, each with a model"
        raise ModelFileError(folder, problem, remedy=f"Name one of them, such as {several[0]}")
    return folder


def _download_from_hub(name: str, revision: str | None) -> Path:
    hub = import_extra("huggingface_hub", extra="hub", purpose=f"Loading '{name}' from the hub")
    try:
        patterns = [*FILES, f"{ENCODER_FOLDER}/*"]
        return Path(hub.snapshot_download(name, revision=revision, allow_patterns=patterns))
    except Exception as error:  # the client raises many kinds, all of them about the network or the name
        problem = f"is neither a folder here nor could be loaded from the hub ({type(error).__name__})"
        missing = shipped.no_such_model(name, problem)
        missing.remedy = f"Check the name and the network. {missing.remedy}"
        raise missing from error


class ModelFolder:
    """A saved model whose `config.json` has been read and checked; its other files are read when asked for.

    Raises:
        ModelFileError: If the folder has no `config.json` that this version can read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = _read_config(path)
        """The content of config.json."""

    @classmethod
    def find(cls, name: str | Path, *, revision: str | None = None) -> ModelFolder:
        """Open a model by its name or path; see `locate_model`."""
        return cls(locate_model(name, revision=revision))

    @property
    def kind(self) -> str:
        """What the model is: a classifier, a parser, or of a kind that another package adds."""
        return self.values.get("kind", CLASSIFIER)

    def must_be(self, kind: str) -> None:
        """Check that the model is of a kind.

        Raises:
            ModelFileError: If it is of another one.
        """
        if self.kind == kind:
            return
        if self.kind not in (*COMMANDS, *PACKAGES):
            raise self.unknown_kind()
        owner = f"the package {PACKAGES[self.kind]}" if self.kind in PACKAGES else f"`{COMMANDS[self.kind]}`"
        problem = f"is a {self.kind}, not a {kind}"
        raise ModelFileError(self.path, problem, remedy=f"Use {owner} for a {self.kind}.")

    def unknown_kind(self) -> ModelFileError:
        """The error for a kind of model that no installed package can load."""
        package = PACKAGES.get(self.kind)
        if package is None:
            problem = f"is of an unknown kind, {self.kind!r:.40}"
            return ModelFileError(self.path / CONFIG_FILE, problem, remedy="Upgrade lexitree.")
        problem = f"is a {self.kind}, which needs the package {package}"
        return ModelFileError(self.path, problem, remedy=f"Install it: {install_package_command(package)}")

    @property
    def num_bytes(self) -> int:
        """The size of all its files, those of its transformer included."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    @property
    def training(self) -> dict[str, Any]:
        """What is known of its training: data, scores, settings."""
        return self.values.get("training") or {}

    @property
    def plugins(self) -> list[dict[str, str]]:
        """What the model needs of other packages: each with its kind, name, module and perhaps package."""
        found: object = self.values.get(PLUGINS, [])
        entries = cast(list[object], found) if isinstance(found, list) else [None]
        if not all(_is_table_of_texts(each) for each in entries):
            raise ModelFileError(self.path / CONFIG_FILE, f"has an invalid entry {PLUGINS!r}: {found!r:.40}")
        return cast(list[dict[str, str]], entries)

    @cached_property
    def weights(self) -> ModelFolder:
        """The folder that holds its weights: a shipped model may use another's and only answer differently."""
        other = self.values.get("weights_of")
        if other is None:
            return self
        if self.path.resolve().parent != shipped.FOLDER.resolve() or not shipped.is_shipped(other):
            raise ModelFileError(
                self.path / CONFIG_FILE,
                f"has no weights of its own, and there is no shipped model {other!r:.40}",
                remedy="Only shipped models can use each other's weights.",
            )
        return ModelFolder(shipped.shipped_folder(other))

    def settings(self, from_dict: Callable[[Mapping[str, Any]], Settings]) -> Settings:
        """The settings that the model is built from."""
        try:
            return from_dict(self.values["model"])
        except (LexitreeError, TypeError) as error:
            raise ModelFileError(
                self.path / CONFIG_FILE, f"has invalid settings for a {self.kind} ({error})"
            ) from error

    def vocabulary(self, name: str = VOCABULARY_FILE, lookup: Lookup = "written") -> Vocabulary:
        """Read a vocabulary."""
        path = self.checked_path(name)
        return Vocabulary.from_json(path.read_bytes(), path, lookup)

    def tables(self, name: str = WEIGHTS_FILE, *, form: TableForm = "float32") -> dict[str, StoredTable]:
        """Map weights into memory, as they were saved.

        Args:
            name: The file.
            form: How the weights were saved, for folders whose config.json does not say.
        """
        path, form = self.checked_path(name), self.values.get("table", form)
        arrays = read_stored_arrays(path)
        try:
            return stored_tables(arrays, form)
        except ValueError as error:
            if form == "float32":
                raise ModelFileError(path, str(error), remedy=RELOAD) from error
            raise ModelFileError(path, f"is not in the form that {CONFIG_FILE} says ({error})") from error

    @property
    def encoder_folder(self) -> Path:
        """The folder of its transformer, whose files have been compared with their checksums.

        Another library reads it, which would follow links and wait for devices.
        """
        inside = self.path / ENCODER_FOLDER
        if not inside.is_dir():
            # The hub may have one of this name, but not the one that was trained with the model.
            problem = "is missing, and with it the model's transformer"
            raise ModelFileError(inside, problem, remedy=RELOAD)
        # Those of older versions have none for these files.
        for name in self._checksums:
            if name.startswith(f"{ENCODER_FOLDER}/"):
                self.checked_path(name)
        for place, folders, files in os.walk(inside):
            for name in (*folders, *files):
                path = (Path(place) / name).relative_to(self.path)
                check_inside(self.path, path.as_posix(), is_folder=name in folders)
        return inside

    @property
    def _checksums(self) -> dict[str, Any]:
        return self.values.get("checksums") or {}

    def checked_path(self, name: str) -> Path:
        """Compare a file with its checksum, and return its path.

        Raises:
            ModelFileError: It is missing, cannot be read, has another checksum, or is no plain file of this folder.
        """
        path = self.path / name
        try:
            check_inside(self.path, name)
            found = checksum(path)
        except FileNotFoundError as error:
            raise ModelFileError(path, "is missing", remedy=RELOAD) from error
        except OSError as error:
            raise ModelFileError(path, f"cannot be read ({error.strerror or error})") from error
        if self.values["format"] == 1 and "checksums" not in self.values:
            return path
        if found != self._checksums.get(name):
            raise ModelFileError(path, "is damaged, cut off or from another model", remedy=RELOAD)
        return path

    def mismatched_words(self) -> ModelFileError:
        """The error for a vocabulary and a table of vectors of different models."""
        problem = f"{WEIGHTS_FILE} and {VOCABULARY_FILE} do not belong together"
        return ModelFileError(self.path, problem, remedy=RELOAD)

    @contextmanager
    def must_fit(self) -> Generator[None]:
        """Report whatever goes wrong inside as weights that do not fit the settings."""
        try:
            yield
        except (RuntimeError, TypeError, ValueError, ConfigError) as error:
            problem = " ".join(str(error).split())[:300]
            raise ModelFileError(
                self.path, f"{WEIGHTS_FILE} does not fit {CONFIG_FILE} ({problem})"
            ) from error


def check_inside(folder: Path, name: str, *, is_folder: bool = False) -> None:
    """Refuse what is not inside the folder of a model: a model of a stranger must not have other files read.

    Args:
        folder: The folder.
        name: The name of a file in it, with slashes between its parts.
        is_folder: Whether it must be a folder, and not a plain file.

    Raises:
        ModelFileError: The name or a link leads out of the folder, or it is a pipe, a device or the like.
        OSError: It is missing or cannot be looked at.
    """
    remedy = f"A model consists of plain files in its folder. {RELOAD}"
    parts = name.split("/")
    if {"", ".", ".."} & set(parts) or "\0" in name or Path(name).is_absolute() or "\\" in name:
        raise ModelFileError(folder / CONFIG_FILE, f"names a file outside: {name!r:.80}", remedy=remedy)
    path = folder / name
    mode = path.stat().st_mode
    if not (stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode)):
        raise ModelFileError(path, "is no plain file", remedy=remedy)
    real = Path(os.path.realpath(path))
    if not any(real.is_relative_to(os.path.realpath(root)) for root in _roots(folder)):
        raise ModelFileError(path, "is a link that leads out of the model's folder", remedy=remedy)


def _roots(folder: Path) -> tuple[Path, ...]:
    """Where the files of a model lie: in its folder or, of a model from the hub, in the folder of its contents."""
    snapshots = Path(os.path.realpath(folder)).parent
    return (folder, snapshots.parent / "blobs") if snapshots.name == "snapshots" else (folder,)


def checksum(path: Path) -> str:
    """The CRC-32 of a file, as config.json has it."""
    value = 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            value = zlib.crc32(chunk, value)
    return f"{value:08x}"


def config_checksum(values: Mapping[str, Any]) -> str:
    """The CRC-32 of everything that config.json says besides this checksum, however it is laid out."""
    others = {name: value for name, value in values.items() if name != CHECKSUM}
    return f"{zlib.crc32(json.dumps(others).encode()):08x}"


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG_FILE
    try:
        check_inside(folder, CONFIG_FILE)
        loaded: object = json.loads(path.read_text(encoding="utf-8"))
        values = cast(dict[str, Any], loaded) if isinstance(loaded, dict) else {}
        found = config_checksum(values)
    except FileNotFoundError as error:
        problem = f"is not a saved model: it has no {CONFIG_FILE}"
        remedy = "Training leaves its model in the folder `model` of the run. To label files, name the files."
        raise ModelFileError(folder, problem, remedy=remedy) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(path, f"cannot be read ({error})") from error
    _check_config(path, values, found)
    return values


def _check_config(path: Path, values: Mapping[str, Any], found: str) -> None:
    if values.get("library") != "lexitree" or not isinstance(values.get("model"), dict):
        raise ModelFileError(path, "does not describe a lexitree model")
    # True is equal to 1.
    if type(values.get("format")) is not int or values["format"] not in READABLE_FORMATS:
        raise ModelFileError(
            path,
            f"has format {values.get('format')!r:.40}; this version reads up to {FORMAT}",
            remedy="Upgrade lexitree.",
        )
    if values.get(CHECKSUM, found) != found:
        raise ModelFileError(
            path,
            "is damaged: its checksum is wrong",
            remedy=f"{RELOAD} If you have edited the file, remove its entry {CHECKSUM!r}.",
        )
    for name, kind in (("kind", str), ("training", dict), ("checksums", dict)):
        if values.get(name) is not None and not isinstance(values[name], kind):
            raise ModelFileError(path, f"has an invalid entry {name!r}: {values[name]!r:.40}")
    if values.get("table", "float32") not in get_args(TableForm):
        raise ModelFileError(path, f"names an unknown table form: {values['table']!r:.40}")


def _is_table_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(each, str) for pair in cast(dict[object, object], value).items() for each in pair
    )
