"""Saved weights as tensors: reading them, and filling modules that were built without weights."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from lexitree.errors import ModelFileError
from lexitree.lexicon.normal_forms import Lookup
from lexitree.models.guesses import VectorGuesser
from lexitree.models.word_table import WordTable
from lexitree.saving.model_folder import (
    CONFIG_FILE,
    QUANTIZED_ENCODER,
    WEIGHTS_FILE,
    ModelFolder,
)
from lexitree.saving.quantized import restore_tensors
from lexitree.saving.stored_arrays import RELOAD, TableForm


def read_tensors(
    folder: ModelFolder, name: str = WEIGHTS_FILE, *, form: TableForm = "float32"
) -> dict[str, Tensor]:
    """Read weights: as they were saved or, if they were shrunk, in 32 bits.

    Args:
        folder: The model.
        name: The file.
        form: How the weights were saved, for folders whose config.json does not say.
    """
    path = folder.checked_path(name)
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(path, f"is damaged or cut off ({error})", remedy=RELOAD) from error
    if folder.values.get("table", form) != "float32":
        try:
            return restore_tensors(tensors)
        except ValueError as error:
            raise ModelFileError(path, f"is not in the form that {CONFIG_FILE} says ({error})") from error
    dtypes = {tensor.dtype for tensor in tensors.values()}
    if len(dtypes) != 1 or not dtypes.pop().is_floating_point:
        raise ModelFileError(path, "must hold floating-point numbers of one precision", remedy=RELOAD)
    return tensors


def read_quantized_encoder(folder: ModelFolder) -> dict[str, Tensor] | None:
    """The weights of a model's transformer in 32 bits if they were saved in int8, else None."""
    return read_tensors(folder, QUANTIZED_ENCODER) if (folder.path / QUANTIZED_ENCODER).is_file() else None


def empty_table(
    folder: ModelFolder, tensors: Mapping[str, Tensor], prefix: str = "lexicon.", lookup: Lookup = "written"
) -> WordTable:
    """Make a table for the words of the vocabulary, without weights but with the sizes of the saved ones."""
    vocabulary = folder.vocabulary(lookup=lookup)
    vectors = tensors.get(prefix + "vectors")
    if vectors is None or vectors.ndim != 2 or len(vectors) != vocabulary.num_rows:
        raise folder.mismatched_words()
    guesser = {
        name.removeprefix(prefix + "guesser."): torch.empty(tensor.shape)
        for name, tensor in tensors.items()
        if name.startswith(prefix + "guesser.")
    }
    return WordTable(vocabulary, torch.empty(vectors.shape), VectorGuesser(**guesser) if guesser else None)


def saved_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model as its folder has them: tables of words with the rows that are never trained."""
    parts = cast(Iterable[tuple[str, nn.Module]], model.named_modules())
    tables = {f"{name}.vectors": part.rows() for name, part in parts if isinstance(part, WordTable)}
    return {**model.state_dict(), **tables}


@contextmanager
def without_weights() -> Generator[None]:
    """Build modules without memory and without drawing their weights, which are read from a file afterwards."""
    with torch.device("meta"), _NothingDrawn():
        yield


class _NothingDrawn(TorchFunctionMode):
    """Skips the initialization of new modules."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        values = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init":
            return values["tensor"] if "tensor" in values else args[0]
        return func(*args, **values)


def fill_weights(model: nn.Module, tensors: Mapping[str, Tensor], *, present: str | None = None) -> None:
    """Give a model its weights, ready for more training.

    Args:
        model: A model that was built without weights.
        tensors: The weights.
        present: The prefix of weights that the model has already.

    Raises:
        ValueError: If weights are missing or unknown.
    """
    found: Any = model.load_state_dict(tensors, strict=False, assign=True)
    missing = [name for name in found.missing_keys if present is None or not name.startswith(present)]
    if wrong := [*found.unexpected_keys, *missing]:
        raise ValueError(f"missing or unknown weights: {', '.join(wrong[:3])}")
    model.requires_grad_(True)
