"""Parsers in and out of directories: weights in float16, words and labels as text, a card; nothing is pickled."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor
from torch.overrides import TorchFunctionMode

from lexitree.errors import FileError, LexitreeError, ModelFileError
from lexitree.files import atomic_folder
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.ops.threads import one_thread
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_card import parser_card
from lexitree.parsers.parser_config import ParserConfig
from lexitree.saving.model_folder import CARD_FILE, CONFIG_FILE, FORMAT, locate_model, read_config_file
from lexitree.saving.quantized import restore_tensors, shrink_tensors
from lexitree.version import __version__

WEIGHTS_FILE, VECTORS_FILE, VECTOR_WORDS_FILE, TRAINED_WORDS_FILE = (
    "model.safetensors",
    "vectors.safetensors",
    "vocabulary.json",
    "trained_words.json",
)
FILES = (WEIGHTS_FILE, VECTORS_FILE, VECTOR_WORDS_FILE, TRAINED_WORDS_FILE, CONFIG_FILE, CARD_FILE)
CHECKED_FILES = FILES[:4]
KIND = "parser"
DAMAGED_REMEDY = "Copy or download the parser again."


def save_parser(
    parser: NeuralParser,
    folder: str | Path,
    *,
    training: Mapping[str, Any] | None = None,
    table: Literal["float16", "int8"] = "float16",
) -> Path:
    """Write a parser to a directory, whole or not at all.

    `training` (data, scores, settings) goes into its card; without it, what the parser was loaded with. `table` is
    how the fixed word vectors are written: with two bytes a number, or with one.
    """
    folder = Path(folder)
    record = dict(parser.training_record if training is None else training)
    _refuse_other_content(folder)
    with atomic_folder(folder, SafetensorError) as temporary:
        _write_files(parser, temporary, record, table)
        for path in temporary.iterdir():
            path.chmod(0o644)
    return folder


def _write_files(
    parser: NeuralParser, folder: Path, training: dict[str, Any], table: Literal["float16", "int8"]
) -> None:
    model = parser.model
    weights = shrink_tensors(model.state_dict(), (), "float16")
    vectors = shrink_tensors({"vectors": model.vectors}, ("vectors",), table)
    save_file(weights, folder / WEIGHTS_FILE, metadata={"format": "pt"})
    save_file(vectors, folder / VECTORS_FILE, metadata={"format": "pt"})
    _write(folder / VECTOR_WORDS_FILE, model.features.vector_words.to_json())
    _write(folder / TRAINED_WORDS_FILE, model.features.trained_words.to_json())
    config = {
        "library": "lexitree",
        "format": FORMAT,
        "kind": KIND,
        "version": __version__,
        "checksums": {name: _checksum(folder / name) for name in CHECKED_FILES},
        "model": model.config.as_dict(),
        "training": training,
    }
    _write(folder / CONFIG_FILE, json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    _write(
        folder / CARD_FILE, parser_card(model.config, training, model.num_parameters(), len(model.vectors))
    )


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _checksum(path: Path) -> str:
    return f"{zlib.crc32(path.read_bytes()):08x}"


def _refuse_other_content(folder: Path) -> None:
    """Saving replaces the whole directory, so there must be nothing but an older parser in it."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileError(folder, "is a file, and a parser is a directory")
    others = sorted({path.name for path in folder.iterdir()} - set(FILES))
    if others:
        raise FileError(
            folder,
            f"holds other things than a parser: {', '.join(others[:3])}",
            remedy="Choose another directory, or move them away; nothing was changed.",
        )


# Copying a few megabytes is done before OpenMP has started its threads.
@one_thread()
def load_parser(
    name: str | Path, *, device: str | torch.device = "cpu", style: str | None = None
) -> NeuralParser:
    """Read a parser from a directory; `style` chooses the treebank whose conventions it follows."""
    folder = locate_model(name)
    config, values = _read_config(folder)
    _compare_checksums(folder, values.get("checksums"))
    vocabularies = [
        _read_vocabulary(folder / file_name) for file_name in (VECTOR_WORDS_FILE, TRAINED_WORDS_FILE)
    ]
    weights = _read_tensors(folder / WEIGHTS_FILE)
    vectors = _read_tensors(folder / VECTORS_FILE).get("vectors")
    with torch.device("meta"), _NothingDrawn():
        model = ParserModel(config, *vocabularies)
    if vectors is None or vectors.shape != model.vectors.shape:
        raise ModelFileError(folder, f"{VECTORS_FILE} and {VECTOR_WORDS_FILE} do not belong together")
    try:
        model.load_state_dict(weights, assign=True)
    except RuntimeError as error:
        problem = " ".join(str(error).split())[:300]
        raise ModelFileError(folder, f"{WEIGHTS_FILE} does not fit {CONFIG_FILE} ({problem})") from error
    model.requires_grad_(True)
    model.set_vectors(vectors)
    parser = NeuralParser(model.to(device), style=style)
    parser.training_record = values.get("training") or {}
    return parser


class _NothingDrawn(TorchFunctionMode):
    """Leaves the weights of new modules as they are: they are about to be replaced, and to draw them takes time."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        values = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init":
            return values["tensor"] if "tensor" in values else args[0]
        return func(*args, **values)


def _read_config(folder: Path) -> tuple[ParserConfig, dict[str, Any]]:
    values = read_config_file(folder)
    if values.get("kind") != KIND:
        raise ModelFileError(
            folder,
            "is a saved model but not a parser",
            remedy="Train a parser with `lexitree parser train`.",
        )
    try:
        return ParserConfig.from_dict(values["model"]), values
    except (LexitreeError, TypeError) as error:
        raise ModelFileError(folder / CONFIG_FILE, f"is not a parser's ({error})") from error


def _compare_checksums(folder: Path, checksums: object) -> None:
    known = cast(dict[str, Any], checksums) if isinstance(checksums, dict) else {}
    for name in CHECKED_FILES:
        path = folder / name
        try:
            found = _checksum(path)
        except FileNotFoundError as error:
            raise ModelFileError(path, "is missing", remedy=DAMAGED_REMEDY) from error
        except OSError as error:
            raise ModelFileError(path, f"cannot be read ({error.strerror or error})") from error
        if known.get(name) != found:
            raise ModelFileError(path, "is damaged, cut off or of another parser", remedy=DAMAGED_REMEDY)


def _read_vocabulary(path: Path) -> Vocabulary:
    return Vocabulary.from_json(path.read_bytes(), path)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return restore_tensors(load_file(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(path, f"is damaged or cut off ({error})", remedy=DAMAGED_REMEDY) from error
