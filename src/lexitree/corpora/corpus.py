"""The corpus: trees in splits, with a label set and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from lexitree.arrays import NO_INDEX, IndexArray
from lexitree.errors import InputError, LabelError
from lexitree.labels import LabelSet
from lexitree.trees.tree import NO_LABEL, Tree

if TYPE_CHECKING:
    from lexitree.corpora.further import FurtherCorpus
    from lexitree.corpora.text_splits import TextOrigin

Supervision = Literal["all", "root"]
"""Which nodes have labels to learn from: all of them, or the root of each sentence."""

SplitName = Literal["train", "dev", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "dev", "test")


@dataclass(frozen=True)
class Corpus:
    """Trees in splits, with everything a task needs to know about their labels."""

    name: str
    splits: Mapping[str, Sequence[Tree]]
    label_set: LabelSet
    """The labels. If it has finer ones, the training split has those and the other splits the answers."""
    supervision: Supervision
    about: str = ""
    """The origin of the corpus, its licence as stated by its source, and what to cite."""
    inference: str = ""
    """One line on what was inferred from the data."""
    num_skipped: int = 0
    """How many malformed sentences were skipped (see `on_error` of the readers)."""
    skipped: tuple[InputError, ...] = ()
    """The errors of the first sentences that were skipped."""
    texts: TextOrigin | None = None
    """For texts of any number of sentences: a text has one label, which all of its trees carry."""

    further: tuple[FurtherCorpus, ...] = ()
    """Corpora with labels of another grain; their training trees are in the training split, without labels."""

    def document_sizes(self, split: str) -> Sequence[int] | None:
        """How many trees make up each text of a split; None if every tree stands for itself."""
        return None if self.texts is None else self.texts.document_sizes.get(split)

    @property
    def train(self) -> Sequence[Tree]:
        return self.splits.get("train", ())

    @property
    def dev(self) -> Sequence[Tree]:
        return self.splits.get("dev", ())

    @property
    def test(self) -> Sequence[Tree]:
        return self.splits.get("test", ())

    @property
    def labels(self) -> tuple[str, ...]:
        """The ids of the labels that models are scored on."""
        return self.label_set.ids

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(trees):,}" for split, trees in self.splits.items())
        return f"Corpus({self.name!r}: {sizes or 'no trees'}; {len(self.label_set)} labels)"

    def scored_trees(self, split: str) -> Sequence[Tree]:
        """Return the trees of a split with the answers as labels, as models are scored on them."""
        trees = self.splits.get(split, ())
        if not self.label_set.finer or split != "train":
            return trees
        return with_answers(trees, self.label_set.finer, self.supervision)

    def counts(self, split: str) -> SplitCounts:
        """Count the trees, words, nodes and labels of a split."""
        labels = self.label_set.trained_ids if split == "train" else self.labels
        return count_labels(self.splits.get(split, ()), labels, self.supervision)


@dataclass(frozen=True, slots=True)
class SplitCounts:
    """The size of a split and its label frequencies, in the order of the label set."""

    num_trees: int
    num_words: int
    num_nodes: int
    num_labelled: int
    """The number of labelled nodes, which count for the loss and for phrase accuracy."""
    root_labels: Mapping[str, int]
    node_labels: Mapping[str, int]


def task_labels(tree: Tree, supervision: Supervision) -> tuple[str, ...]:
    """Return the labels that belong to the task: all, or the root's only; others (NP, VP) are the parse."""
    return tree.labels if supervision == "all" else tree.labels[:1]


def count_labels(
    trees: Sequence[Tree], labels: Sequence[str], supervision: Supervision = "all"
) -> SplitCounts:
    """Count the trees of a split, and the labels of their roots and of all their nodes."""
    at_roots = Counter(tree.label for tree in trees)
    at_nodes: Counter[str] = Counter()
    for tree in trees:
        at_nodes.update(task_labels(tree, supervision))
    return SplitCounts(
        num_trees=len(trees),
        num_words=sum(tree.num_words for tree in trees),
        num_nodes=sum(tree.num_nodes for tree in trees),
        num_labelled=at_nodes.total() - at_nodes[NO_LABEL],
        root_labels={label: at_roots[label] for label in labels},
        node_labels={label: at_nodes[label] for label in labels},
    )


def with_answers(
    trees: Iterable[Tree], finer_labels: Mapping[str, str], supervision: Supervision = "all"
) -> list[Tree]:
    """Replace finer labels by the answers that they count for, skipping sentences that count for none."""
    answers = {**finer_labels, NO_LABEL: NO_LABEL}
    skipped = {label for label, answer in finer_labels.items() if answer == NO_LABEL}
    return [_relabelled(tree, answers, supervision) for tree in trees if tree.label not in skipped]


def _relabelled(tree: Tree, answers: Mapping[str, str], supervision: Supervision) -> Tree:
    own = task_labels(tree, supervision)
    unknown = [label for label in own if label not in answers]
    if unknown:
        raise LabelError(
            f"the finer label {unknown[0]!r} has no answer; sentence: {sentence_of(tree)}",
            remedy="Add it to the finer labels, with its answer or with '' for none.",
        )
    return tree.with_labels([*(answers[label] for label in own), *tree.labels[len(own) :]])


def label_index(tree: Tree, labels: tuple[str, ...], supervision: Supervision = "all") -> IndexArray:
    """Return the number of each node's label, or -1 if it has none that belongs to the task.

    Args:
        tree: The tree.
        labels: The label set.
        supervision: Which nodes are labelled for the task.

    Raises:
        LabelError: A label is not in the set.
    """
    numbers = _numbers_of(labels)
    index = np.full(tree.num_nodes, NO_INDEX, dtype=np.int64)
    try:
        found = [numbers[label] for label in task_labels(tree, supervision)]
        index[: len(found)] = found
        return index
    except KeyError as error:
        raise LabelError(
            f"the label {error.args[0]!r} is not one of {shorten(labels)}; sentence: {sentence_of(tree)}",
            remedy="A model can only be given labels that it answers with.",
        ) from None


@lru_cache(maxsize=64)
def _numbers_of(labels: tuple[str, ...]) -> dict[str, int]:
    numbers = {label: number for number, label in enumerate(labels)}
    numbers[NO_LABEL] = NO_INDEX
    return numbers


def name_splits(
    train: str | Path | None, dev: str | Path | None, test: str | Path | None
) -> dict[str, str | Path]:
    """Return the given files by the names of their splits."""
    return {split: path for split, path in zip(SPLITS, (train, dev, test), strict=True) if path is not None}


def sentence_of(tree: Tree, num_words: int = 24) -> str:
    """Return the words of a tree for a message, shortened if there are many."""
    return " ".join(tree.words[:num_words]) + (" …" if tree.num_words > num_words else "")


def shorten(labels: Iterable[str], num_shown: int = 10) -> str:
    """Return labels for a message: the first few, and how many more there are."""
    listed = list(labels)
    more = f" and {len(listed) - num_shown} more" if len(listed) > num_shown else ""
    return ", ".join(listed[:num_shown]) + more
