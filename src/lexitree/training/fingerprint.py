"""A recipe, a fresh model and its trees in, what must be the same for a run to go on out."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.examples import Example
from lexitree.models.classifier import TreeClassifier
from lexitree.training.recipe import Recipe


def make_fingerprint(recipe: Recipe, model: TreeClassifier, examples: Sequence[Example]) -> dict[str, Any]:
    """The settings of a run, and checksums of its word vectors and trees; more epochs are welcome."""
    settings = recipe.training.as_dict()
    # The step size falls to zero with the last epoch, so their number counts from the first on.
    if recipe.training.schedule == "constant":
        del settings["epochs"]
    if recipe.teacher:
        settings["teacher"] = recipe.teacher
    else:
        del settings["teacher_weight"]
    return {
        **settings,
        **model.config.as_dict(),
        "vector_length": recipe.vector_length,
        "lexicon parameters": sum(weight.numel() for weight in model.lexicon.parameters()),
        "checksum of the word vectors": _checksum(
            weight.numpy(force=True) for weight in model.lexicon.parameters()
        ),
        "checksum of the trees": _checksum(array for example in examples for array in _numbers(example)),
    }


def _numbers(example: Example) -> Iterator[npt.NDArray[Any]]:
    tree = example.binary.tree
    yield from (tree.arity, tree.leaves, example.word_index, example.label_index)
    if example.pieces is not None:
        yield example.pieces.ids
    if example.targets is not None:
        yield example.targets


def _checksum(arrays: Iterable[npt.NDArray[Any]]) -> int:
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum
