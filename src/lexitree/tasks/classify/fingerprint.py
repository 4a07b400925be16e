"""A recipe, a fresh model and its trees in, what must be the same for a run to go on out."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.batch.examples import Example
from lexitree.models.classifier import TreeClassifier
from lexitree.tasks.classify.recipe import Recipe


def make_fingerprint(recipe: Recipe, model: TreeClassifier, examples: Sequence[Example]) -> dict[str, Any]:
    """The settings of a run, and checksums of its word vectors and trees; more epochs are welcome."""
    settings = recipe.training.as_dict()
    epochs = settings.pop("epochs")
    if recipe.training.schedule != "constant" or recipe.training.warm_up:
        # They rise and fall with the share of all updates that is done, from the first on.
        settings["number of epochs, which the step sizes follow,"] = epochs
    if recipe.teacher:
        settings["teacher"] = recipe.teacher
    else:
        del settings["teacher_weight"]
    return {
        **settings,
        **model.config.as_dict(),
        "vector_length": recipe.vector_length,
        # Its name may change, and what it is shows below.
        "encoder": {
            name: value for name, value in recipe.encoder.items() if name not in ("name", "revision")
        },
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
        yield from (example.pieces.ids, example.pieces.starts, example.pieces.ends)
    if example.targets is not None:
        yield example.targets


def _checksum(arrays: Iterable[npt.NDArray[Any]]) -> int:
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum
