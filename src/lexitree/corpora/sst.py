"""The Stanford Sentiment Treebank, as phrase trees and as dependency trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal, get_args

from lexitree.corpora.corpus import SPLITS, Corpus, shorten, with_answers
from lexitree.errors import ConfigError, CorpusNotFoundError, DependencyError, LabelError, Place
from lexitree.labels import LabelSet
from lexitree.trees.brackets import read_trees, same_surface
from lexitree.trees.dependencies import (
    PARENTS_SUFFIX,
    WORDS_SUFFIX,
    label_by_spans,
    read_dependencies,
)
from lexitree.trees.tree import NO_LABEL, Tree

SstTask = Literal["fine", "binary", "polarity"]

FINE_LABELS = ("0", "1", "2", "3", "4")
FINE_NAMES = {"0": "very negative", "1": "negative", "2": "neutral", "3": "positive", "4": "very positive"}
BINARY_LABELS = ("negative", "positive")
POLARITY = {"0": "negative", "1": "negative", "2": NO_LABEL, "3": "positive", "4": "positive"}
"""What each of the five labels counts for in the binary task."""

FOLDERS = ("sst", "trees", "sst/trees", ".")
"""Relative to the data folder: our own layout, that of the public archive, and the folder itself."""

ABOUT = (
    "Stanford Sentiment Treebank: sentences of film reviews, binary trees, a sentiment from 0 to 4 on every "
    "phrase. Source: https://nlp.stanford.edu/sentiment/. Licence: none stated. Cite: Socher et al. 2013, "
    "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank, EMNLP."
)


def find_sst(folder: str | Path) -> Path | None:
    """Return the folder with train.txt, dev.txt and test.txt, at or below the one given; None if there is none."""
    for below in FOLDERS:
        candidate = Path(folder, below)
        if all((candidate / f"{split}.txt").is_file() for split in SPLITS):
            return candidate
    return None


def load_sst(folder: str | Path, task: SstTask = "fine") -> Corpus:
    """Load the treebank.

    The binary task follows the literature: neutral phrases have no label, neutral sentences are skipped, and all
    other trees stay whole. `polarity` has the same development and test splits, but keeps all training sentences with
    the labels 0 to 4, from which there is more to learn.

    Args:
        folder: A folder at or below which the treebank is.
        task: "fine" (0 to 4), "binary" (negative, positive) or "polarity".

    Raises:
        CorpusNotFoundError: The treebank is not there.
        ConfigError: The task is unknown.
        LabelError: The files have labels other than 0 to 4.
    """
    found = find_sst(folder)
    if found is None:
        raise CorpusNotFoundError(
            f"the Stanford Sentiment Treebank (train.txt, dev.txt, test.txt) is not at or below {folder}",
            remedy="Download it with `lexitree data fetch sst`.",
        )
    if task not in SENTIMENT_TASKS:
        raise ConfigError(f"unknown task {task!r}: SST has the tasks {', '.join(SENTIMENT_TASKS)}")
    return SENTIMENT_TASKS[task](f"sst-{task}", read_sst(found), ABOUT)


def read_sst(folder: Path) -> dict[str, tuple[Tree, ...]]:
    """Read the three files in a folder found by `find_sst`."""
    splits = {split: tuple(read_trees(folder / f"{split}.txt")) for split in SPLITS}
    for split, trees in splits.items():
        _refuse_other_labels(folder / f"{split}.txt", trees)
    return splits


def fine_sentiment(name: str, splits: dict[str, tuple[Tree, ...]], about: str) -> Corpus:
    """Make the five-way task from trees labelled 0 to 4."""
    inference = f"labels on all nodes, {len(FINE_LABELS)} labels"
    return Corpus(name, splits, LabelSet(FINE_LABELS, FINE_NAMES), "all", about, inference)


def binary_sentiment(name: str, splits: dict[str, tuple[Tree, ...]], about: str) -> Corpus:
    """Make the binary task from trees labelled 0 to 4; see `load_sst`."""
    inference = "labels on all nodes that are not neutral, 2 labels; neutral sentences skipped"
    binary = {split: tuple(with_answers(trees, POLARITY)) for split, trees in splits.items()}
    return Corpus(name, binary, LabelSet(BINARY_LABELS), "all", about, inference)


def polarity_sentiment(name: str, splits: dict[str, tuple[Tree, ...]], about: str) -> Corpus:
    """Make the binary task that is learned from all five labels; see `load_sst`."""
    binary = binary_sentiment(name, splits, about)
    inference = (
        f"training: labels on all nodes, {len(FINE_LABELS)} labels; development and test: on all nodes that are "
        "not neutral, 2 labels, neutral sentences skipped"
    )
    return replace(
        binary,
        splits={**binary.splits, "train": splits["train"]},
        label_set=LabelSet(BINARY_LABELS, FINE_NAMES, POLARITY),
        inference=inference,
    )


SENTIMENT_TASKS = {"fine": fine_sentiment, "binary": binary_sentiment, "polarity": polarity_sentiment}
"""How to make each task from trees labelled 0 to 4."""


def _refuse_other_labels(path: Path, trees: Iterable[Tree]) -> None:
    others = {label for tree in trees for label in tree.labels} - set(FINE_LABELS)
    if others:
        raise LabelError(
            f"{path}: labels other than 0 to 4: {shorten(sorted(repr(label) for label in others))}",
            remedy="This is not the Stanford Sentiment Treebank; load any other treebank by its path.",
        )


DependencyTask = Literal["fine", "binary"]

FOLDER = "dependencies"
"""Inside the folder of the treebank, with which it is aligned line by line."""

HOW_TO_GET = (
    f"Parse the treebank with a dependency parser into sst/{FOLDER}/ next to its trees: train{WORDS_SUFFIX} and "
    f"train{PARENTS_SUFFIX}, likewise dev and test, one sentence per line in the treebank's order"
)

_WHERE = "labels on all nodes over the words of one phrase"
_ABOUT = (
    f"{ABOUT} As dependency trees, labelled after Tai et al. 2015, Improved Semantic Representations, ACL."
)


def find_sst_dependencies(folder: str | Path) -> Path | None:
    """Return the treebank's folder at or below the one given, if it has dependency parses; else None."""
    found = find_sst(folder)
    if found is None:
        return None
    files = [
        found / FOLDER / (split + suffix) for split in SPLITS for suffix in (WORDS_SUFFIX, PARENTS_SUFFIX)
    ]
    return found if all(file.is_file() for file in files) else None


def load_sst_dependencies(folder: str | Path, task: DependencyTask = "fine") -> Corpus:
    """Load the treebank as dependency trees.

    As in Tai et al. (2015), nodes have the labels of the phrases over the same words.

    Args:
        folder: A folder at or below which the treebank and its parses are.
        task: "fine" (0 to 4) or "binary" (negative, positive).

    Raises:
        CorpusNotFoundError: The parses are not there.
        ConfigError: The task is unknown.
        DependencyError: The parses do not match the treebank.
    """
    found = find_sst_dependencies(folder)
    if found is None:
        raise CorpusNotFoundError(
            f"the Stanford Sentiment Treebank with dependency parses is not at or below {folder}",
            remedy=f"{HOW_TO_GET}.",
        )
    if task not in get_args(DependencyTask):
        raise ConfigError(f"unknown task {task!r}: dependency trees of SST have the tasks fine and binary")
    splits = {
        split: tuple(_labelled(found / FOLDER / (split + WORDS_SUFFIX), phrases))
        for split, phrases in read_sst(found).items()
    }
    corpus = SENTIMENT_TASKS[task](f"sst-dependencies{'' if task == 'fine' else '-binary'}", splits, _ABOUT)
    return replace(corpus, inference=corpus.inference.replace("labels on all nodes", _WHERE))


def _labelled(path: Path, phrases: tuple[Tree, ...]) -> list[Tree]:
    """Label the dependency trees of a split; a mismatch with the phrases would corrupt the labels."""
    trees: list[Tree] = []
    for number, (tree, whole) in enumerate(zip_longest(read_dependencies(path), phrases), 1):
        if tree is None or whole is None:
            problem = (
                f"{'more' if whole is None else 'fewer'} sentences than the {len(phrases):,} of the treebank"
            )
            raise DependencyError(Place(str(path), number), problem, remedy=f"{HOW_TO_GET}.")
        if not same_surface(tree.words, whole.words):
            problem = f"these are not the words of the treebank's line {number}: {' '.join(whole.words)}"
            raise DependencyError(Place(str(path), number), problem, remedy=f"{HOW_TO_GET}.")
        trees.append(label_by_spans(tree, whole))
    return trees
