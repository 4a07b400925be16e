"""The files of the Stanford Sentiment Treebank go in; the sentiment task with five answers or with two comes out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from lexitree.corpora.corpus import SPLITS, Corpus, shorten, with_answers
from lexitree.errors import ConfigError, CorpusNotFoundError, LabelError
from lexitree.trees.brackets import read_trees
from lexitree.trees.tree import NO_LABEL, Tree

SstTask = Literal["fine", "binary", "polarity"]

FINE_LABELS = ("0", "1", "2", "3", "4")
FINE_NAMES = {"0": "very negative", "1": "negative", "2": "neutral", "3": "positive", "4": "very positive"}
BINARY_LABELS = ("negative", "positive")
POLARITY = {"0": "negative", "1": "negative", "2": NO_LABEL, "3": "positive", "4": "positive"}
"""What each of the five labels counts for where there are two answers."""

FOLDERS = ("sst", "trees", "sst/trees", ".")
"""Below the data folder: our own layout, the one of the public archive, and the folder itself."""

ABOUT = (
    "Stanford Sentiment Treebank: sentences of film reviews, binary trees, a sentiment from 0 to 4 on every "
    "phrase. Source: https://nlp.stanford.edu/sentiment/. Licence: none stated. Cite: Socher et al. 2013, "
    "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank, EMNLP."
)


def find_sst(folder: str | Path) -> Path | None:
    """The folder with train.txt, dev.txt and test.txt, at or below the one given."""
    for below in FOLDERS:
        candidate = Path(folder, below)
        if all((candidate / f"{split}.txt").is_file() for split in SPLITS):
            return candidate
    return None


def load_sst(folder: str | Path, task: SstTask = "fine") -> Corpus:
    """Read the treebank; `fine` has the labels 0 to 4, `binary` negative and positive.

    Binary is as the literature has it: a neutral phrase carries no label, a sentence that is neutral as a
    whole is left out, and the trees of all others stay whole. `polarity` has the same development and test
    splits, but all sentences in the training split, with the labels 0 to 4: there is more to learn from them.
    """
    found = find_sst(folder)
    if found is None:
        raise CorpusNotFoundError(
            f"no train.txt, dev.txt and test.txt of the Stanford Sentiment Treebank at or below {folder}",
            remedy="Get them with `lexitree data fetch sst`.",
        )
    splits = read_sst(found)
    if task == "fine":
        return fine_sentiment("sst-fine", splits, ABOUT)
    if task == "binary":
        return binary_sentiment("sst-binary", splits, ABOUT)
    if task == "polarity":
        return polarity_sentiment("sst-polarity", splits, ABOUT)
    raise ConfigError(f"SST has the tasks fine, binary and polarity, not {task!r}")


def read_sst(folder: Path) -> dict[str, tuple[Tree, ...]]:
    """The trees of the three files in a folder that `find_sst` gave."""
    splits = {split: tuple(read_trees(folder / f"{split}.txt")) for split in SPLITS}
    for split, trees in splits.items():
        _refuse_other_labels(folder / f"{split}.txt", trees)
    return splits


def fine_sentiment(name: str, splits: dict[str, tuple[Tree, ...]], about: str) -> Corpus:
    """The five-way task on trees labelled 0 to 4."""
    inference = f"labels on all nodes, {len(FINE_LABELS)} labels"
    return Corpus(name, splits, FINE_LABELS, "all", FINE_NAMES, about, inference)


def binary_sentiment(name: str, splits: dict[str, tuple[Tree, ...]], about: str) -> Corpus:
    """The binary task on trees labelled 0 to 4; see `load_sst`."""
    inference = "labels on all nodes that are not neutral, 2 labels; neutral sentences left out"
    binary = {split: tuple(with_answers(trees, POLARITY)) for split, trees in splits.items()}
    return Corpus(name, binary, BINARY_LABELS, "all", {}, about, inference)


def polarity_sentiment(name: str, splits: dict[str, tuple[Tree, ...]], about: str) -> Corpus:
    """The binary task, learnt from all five labels; see `load_sst`."""
    binary = binary_sentiment(name, splits, about)
    inference = (
        f"training: labels on all nodes, {len(FINE_LABELS)} labels; development and test: on all nodes that are "
        "not neutral, 2 labels, neutral sentences left out"
    )
    return replace(
        binary,
        splits={**binary.splits, "train": splits["train"]},
        finer_labels=POLARITY,
        label_names=FINE_NAMES,
        inference=inference,
    )


def _refuse_other_labels(path: Path, trees: Iterable[Tree]) -> None:
    others = {label for tree in trees for label in tree.labels} - set(FINE_LABELS)
    if others:
        raise LabelError(
            f"{path}: labels other than 0 to 4: {shorten(sorted(repr(label) for label in others))}",
            remedy="This is not the Stanford Sentiment Treebank; any other treebank is read by its path.",
        )
