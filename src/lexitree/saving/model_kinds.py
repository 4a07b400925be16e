"""Saving and loading models of every kind: `save_model`, `load_model` and `push_to_hub`.

Each kind of model has a `ModelKind` beside its code, which says what the model is made of and how to build it again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor

from lexitree.errors import FileError, LexitreeError, ModelFileError, import_extra
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.ops.devices import choose_device
from lexitree.ops.openmp import one_thread
from lexitree.plugins import Later, Registry, Source
from lexitree.saving.card import Card, render_card
from lexitree.saving.model_folder import (
    CARD_FILE,
    CHECKSUM,
    CONFIG_FILE,
    ENCODER_FOLDER,
    FILES,
    FORMAT,
    ModelFolder,
    checksum,
    config_checksum,
)
from lexitree.saving.quantized import shrink_tensors
from lexitree.saving.stored_arrays import TableForm
from lexitree.version import __version__
from lexitree.writing import atomic_folder


class SavableModel(Protocol):
    """A model that can be saved: it names its kind and carries its training record."""

    kind: ClassVar[str]
    training_record: dict[str, Any]


Model = TypeVar("Model", bound=SavableModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParts:
    """What a model is made of on disk."""

    settings: Mapping[str, Any]
    """The settings that it is built from."""
    card: Card
    tensors: Mapping[str, Mapping[str, Tensor]]
    """Its weights, by file."""
    tables: Collection[str] = ()
    """The weights with a row for each word, which are most of its size."""
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict[str, Vocabulary])
    """Its words, by file."""
    entries: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further entries of config.json."""
    write_encoder: Callable[[Path, TableForm], None] | None = None
    """Writes its transformer into the folder of the model, if it has one that must be saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind(Generic[Model]):
    """A kind of model: how to take one apart for saving, and how to build it again."""

    name: str
    """The kind as config.json has it."""
    take_apart: Callable[[Model, Mapping[str, Any]], ModelParts]
    """Takes a model and its training record."""
    build: Callable[..., Model]
    """Takes a `ModelFolder`, the device, and the options of `load`."""
    table: TableForm = "float32"
    """How weights are written unless asked otherwise."""

    @one_thread()  # copying a few megabytes is done before OpenMP has started its threads
    def load(
        self,
        name: str | Path | ModelFolder,
        *,
        device: str | torch.device = "auto",
        revision: str | None = None,
        **options: Any,
    ) -> Model:
        """Load a model of this kind; see `load_model`."""
        folder = name if isinstance(name, ModelFolder) else ModelFolder.find(name, revision=revision)
        folder.must_be(self.name)
        device = choose_device(device) if isinstance(device, str) else device
        model = self.build(folder, device, **options)
        model.training_record = folder.training
        return model


def _admit(name: str, value: Any, source: Source) -> ModelKind[Any]:
    if not isinstance(value, ModelKind):
        raise TypeError("must be a ModelKind")
    kind = cast(ModelKind[Any], value)
    if kind.name != name:
        raise TypeError(f"must have the name of its entry point, not {kind.name!r:.40}")
    return kind


KINDS: Registry[ModelKind[Any]] = Registry(
    "model kind",
    {
        "classifier": Later("lexitree.saving.pretrained:KIND"),
        "parser": Later("lexitree.parsers.parser_kind:KIND"),
    },
    _admit,
)
"""The kinds of models by name. Each is imported when a model of that kind is met."""


def save_model(
    model: SavableModel,
    folder: str | Path,
    *,
    training: Mapping[str, Any] | None = None,
    table: TableForm | None = None,
) -> Path:
    """Write a model of any kind to a folder, completely or not at all.

    Args:
        model: A classifier, a parser, or a model of a kind that another package adds.
        folder: The folder. An older model of the same kind in it is replaced; anything else is left alone.
        training: The training record (data, scores, settings) for its card; by default the one it was loaded with.
        table: How word vectors and the matrices of a transformer are written: in `float32`, or with two bytes
            (`float16`) or one (`int8`) per number; all other weights then take two. A loaded model always computes
            in 32 bits. By default, parsers are written in `float16` and other models as they are.

    Returns:
        The folder.

    Raises:
        FileError: If the folder holds other files, or cannot be written.
    """
    kind = KINDS.find(model.kind)
    record = dict(model.training_record if training is None else training)
    return write_model(kind.name, kind.take_apart(model, record), folder, record, table=table or kind.table)


def load_model(
    name: str | Path | ModelFolder,
    *,
    device: str | torch.device = "auto",
    revision: str | None = None,
    **options: Any,
) -> Any:
    """Load a model of any kind.

    Args:
        name: The name of a shipped model, a folder, `owner/name` on the Hugging Face hub, or an opened folder.
        device: Where the model computes; `auto` is a GPU if there is one.
        revision: The branch, tag or commit on the hub.
        **options: Further options of its kind, such as `backend` for a classifier or `style` for a parser.

    Returns:
        A `TreeClassifier`, a `NeuralParser`, or a model of a kind that another package adds.

    Raises:
        ModelFileError: If the model is missing, damaged, of a newer version, or of a kind whose package is missing.
    """
    folder = name if isinstance(name, ModelFolder) else ModelFolder.find(name, revision=revision)
    if folder.kind not in KINDS:
        raise folder.unknown_kind()
    return KINDS[folder.kind].load(folder, device=device, **options)


def push_to_hub(model: SavableModel, name: str, *, private: bool = False, revision: str | None = None) -> str:
    """Upload a model of any kind to the Hugging Face hub.

    Args:
        model: The model.
        name: Its name on the hub, `owner/name`.
        private: Whether to make a new repository private.
        revision: The branch to upload to.

    Returns:
        The address of the upload.
    """
    hub = import_extra("huggingface_hub", extra="hub", purpose="Uploading to the hub")
    try:
        api = hub.HfApi()
        api.create_repo(name, private=private, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = save_model(model, Path(scratch) / "model")
            return str(api.upload_folder(repo_id=name, folder_path=folder, revision=revision))
    except LexitreeError:
        raise
    except Exception as error:  # the client raises many kinds, all of them about the network or the name
        raise ModelFileError(
            name,
            f"could not be uploaded to the hub ({type(error).__name__}: {error})",
            remedy="Check the name, the network and your login (huggingface-cli login).",
        ) from error


def write_model(
    kind: str,
    parts: ModelParts,
    folder: str | Path,
    training: Mapping[str, Any],
    *,
    table: TableForm = "float32",
    weights_of: str | None = None,
) -> Path:
    """Write the parts of a model to a folder, completely or not at all.

    Args:
        kind: The kind of the model.
        parts: Its parts.
        folder: The folder.
        training: The training record.
        table: How weights are written.
        weights_of: The shipped model whose weights it uses; nothing but the description is written then.
    """
    folder = Path(folder)
    _refuse_other_content(folder, kind)
    with atomic_folder(folder, SafetensorError) as temporary:
        if weights_of is None:
            _write_weights(parts, temporary, table)
        checksums = {
            path.relative_to(temporary).as_posix(): checksum(path)
            for path in sorted(temporary.rglob("*"))
            if path.is_file()
        }
        about = {"table": table, **parts.entries} if weights_of is None else {"weights_of": weights_of}
        config: dict[str, Any] = {
            "library": "lexitree",
            "format": FORMAT,
            "kind": kind,
            "version": __version__,
            **about,
            "checksums": checksums,
            "model": parts.settings,
            "training": training,
        }
        config[CHECKSUM] = config_checksum(config)
        _write_text(temporary / CONFIG_FILE, json.dumps(config, indent=2, ensure_ascii=False) + "\n")
        _write_text(temporary / CARD_FILE, render_card(parts.card, training))
    return folder


def _write_weights(parts: ModelParts, folder: Path, table: TableForm) -> None:
    for name, tensors in parts.tensors.items():
        write_tensors(shrink_tensors(tensors, parts.tables, table), folder / name)
    for name, vocabulary in parts.vocabularies.items():
        _write_text(folder / name, vocabulary.to_json())
    if parts.write_encoder is not None:
        parts.write_encoder(folder, table)


def write_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write tensors to a file that whoever may read its folder may read; safetensors leaves it to its owner."""
    save_file(dict(tensors), path, metadata={"format": "pt"})
    path.chmod(0o644)


def _write_text(path: Path, text: str) -> None:
    # A lone surrogate, which UTF-8 cannot hold, is written as JSON escapes it.
    path.write_bytes(text.encode("utf-8", "backslashreplace"))


def _refuse_other_content(folder: Path, kind: str) -> None:
    """Saving replaces the whole folder, so it must hold nothing but an older model of the same kind."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileError(folder, f"is a file, and a {kind} is a directory")
    present = {path.name for path in folder.iterdir()}
    others = sorted(present - {*FILES, ENCODER_FOLDER})
    if others or (present and _kind_in(folder) != kind):
        names = ", ".join((others or sorted(present))[:3])
        raise FileError(
            folder,
            f"holds other things than a {kind}: {names}",
            remedy="Choose another directory, or move them away; nothing was changed.",
        )


def _kind_in(folder: Path) -> str | None:
    try:
        return ModelFolder(folder).kind
    except ModelFileError:
        return None
