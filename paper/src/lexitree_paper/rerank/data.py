"""Reading the lists of a reranker's recipe, and cutting lists into folds for cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lexitree.errors import ConfigError, FileError, OnError
from lexitree.tasks.parse.data import COMMONPLACE_WORDS, find_data_file, hold_out, sentence_key
from lexitree.trees.binarize import Direction
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import Tree
from lexitree_paper.rerank.examples import BinaryList, binarize_list
from lexitree_paper.rerank.lists import read_lists
from lexitree_paper.rerank.recipe import RerankRecipe

SPLIT_SEED = 1
"""What is held out, and which fold a list is in, is the same for all seeds of a run."""


@dataclass(frozen=True, slots=True)
class RerankData:
    """The lists of a run, each with its gold tree."""

    train: Sequence[BinaryList]
    dev: Sequence[BinaryList]
    test: Sequence[BinaryList] = ()

    @property
    def parts(self) -> dict[str, Sequence[BinaryList]]:
        return {"train": self.train, "dev": self.dev, "test": self.test}

    def sizes(self) -> dict[str, int]:
        return {part: len(lists) for part, lists in self.parts.items()}


def load_rerank_data(
    recipe: RerankRecipe,
    data: str | Path | None = None,
    *,
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> RerankData:
    """Read the lists of a recipe. A sentence of more than three words that is tested on is not trained on."""

    def read(names: Iterable[str]) -> list[BinaryList]:
        return read_prepared(names, recipe.direction, data, on_error=on_error, report=report)

    test = read(recipe.test)
    train = without_sentences_of(test, read(recipe.lists))
    if recipe.dev:
        return RerankData(train, without_sentences_of(test, read(recipe.dev)), test)
    kept, dev = hold_out(train, recipe.held_out, [SPLIT_SEED])
    if not kept or not dev:
        raise ConfigError(
            f"{len(train):,} lists are too few to hold out {recipe.held_out:.0%} of them for development",
            remedy="Give more lists, of other sentences than those of the test, or lists for development (--dev).",
        )
    return RerankData(kept, dev, test)


def read_prepared(
    names: Iterable[str],
    direction: Direction,
    data: str | Path | None = None,
    *,
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> list[BinaryList]:
    """The lists of some files, with gold trees, as a model reads them."""
    prepared: list[BinaryList] = []
    for name in names:
        path = find_data_file(name, data)
        lists = read_lists(path, on_error=on_error, report=report, needs_gold=True)
        found = [binarize_list(candidates, direction) for candidates in lists]
        if not found:
            raise FileError(path, "has no lists")
        prepared += found
    return prepared


def without_sentences_of(test: Sequence[BinaryList], lists: Sequence[BinaryList]) -> list[BinaryList]:
    """The lists of other sentences than those of the test; short ones (`Yes .`) belong to no text in particular."""
    tested = {sentence_key(_tree(each)) for each in test if _tree(each).num_words > COMMONPLACE_WORDS}
    return [each for each in lists if sentence_key(_tree(each)) not in tested]


def cut_folds(lists: Sequence[BinaryList], num_folds: int, *, dev_share: float) -> list[RerankData]:
    """A cross-validation: each part is the test once, and of the others a share is held out for development.

    The same sentence is never in two parts.
    """
    if not 2 <= num_folds <= len(lists):
        raise ConfigError(f"{len(lists):,} lists cannot be cut into {num_folds} folds")
    keys = [sentence_key(_tree(each)) for each in lists]
    distinct = list(dict.fromkeys(keys))
    order: list[int] = np.random.Generator(np.random.PCG64([SPLIT_SEED])).permutation(len(distinct)).tolist()
    fold_of = {distinct[number]: place % num_folds for place, number in enumerate(order)}
    folds: list[RerankData] = []
    for fold in range(num_folds):
        others = [each for each, key in zip(lists, keys, strict=True) if fold_of[key] != fold]
        test = [each for each, key in zip(lists, keys, strict=True) if fold_of[key] == fold]
        train, dev = hold_out(others, dev_share, [SPLIT_SEED, fold])
        folds.append(RerankData(train, dev, test))
    return folds


def _tree(prepared: BinaryList) -> Tree:
    return prepared.source.candidates[0].tree
