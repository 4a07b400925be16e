"""The Stanford Sentiment Treebank and dependency parses of it go in; its tasks on dependency trees come out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from lexitree.corpora.corpus import SPLITS, Corpus, shorten, with_answers
from lexitree.errors import ConfigError, CorpusNotFoundError, DependencyError, LabelError, Place
from lexitree.labels import LabelSet
from lexitree.trees.brackets import read_trees, surface_form
from lexitree.trees.dependencies import (
    PARENTS_SUFFIX,
    WORDS_SUFFIX,
    DependencyTree,
    label_by_spans,
    read_dependencies,
)
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
    return Corpus(name, splits, LabelSet(FINE_LABELS, FINE_NAMES), "all", about, inference)


def binary_sentiment(name: str, splits: dict[str, tuple[Tree, ...]], about: str) -> Corpus:
    """The binary task on trees labelled 0 to 4; see `load_sst`."""
    inference = "labels on all nodes that are not neutral, 2 labels; neutral sentences left out"
    binary = {split: tuple(with_answers(trees, POLARITY)) for split, trees in splits.items()}
    return Corpus(name, binary, LabelSet(BINARY_LABELS), "all", about, inference)


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
        label_set=LabelSet(BINARY_LABELS, FINE_NAMES, POLARITY),
        inference=inference,
    )


def _refuse_other_labels(path: Path, trees: Iterable[Tree]) -> None:
    others = {label for tree in trees for label in tree.labels} - set(FINE_LABELS)
    if others:
        raise LabelError(
            f"{path}: labels other than 0 to 4: {shorten(sorted(repr(label) for label in others))}",
            remedy="This is not the Stanford Sentiment Treebank; any other treebank is read by its path.",
        )


DependencyTask = Literal["fine", "binary"]

FOLDER = "dependencies"
"""Below the folder of the treebank, which it is aligned with line by line."""

HOW_TO_GET = (
    f"Parse the treebank with a dependency parser into sst/{FOLDER}/ beside its trees: train{WORDS_SUFFIX} and "
    f"train{PARENTS_SUFFIX}, likewise dev and test, one sentence a line in the treebank's order"
)

_WHERE = "labels on all nodes over the words of one phrase"


def find_sst_dependencies(folder: str | Path) -> Path | None:
    """The folder of the treebank at or below the one given, if the dependency parses are there too."""
    found = find_sst(folder)
    if found is None:
        return None
    files = [
        found / FOLDER / (split + suffix) for split in SPLITS for suffix in (WORDS_SUFFIX, PARENTS_SUFFIX)
    ]
    return found if all(file.is_file() for file in files) else None


def load_sst_dependencies(folder: str | Path, task: DependencyTask = "fine") -> Corpus:
    """Read the dependency trees; as in Tai et al. (2015), phrases give their labels to nodes over the same words."""
    found = find_sst_dependencies(folder)
    if found is None:
        raise CorpusNotFoundError(
            f"no Stanford Sentiment Treebank with dependency parses at or below {folder}",
            remedy=f"{HOW_TO_GET}.",
        )
    splits = {
        split: tuple(_labelled(found / FOLDER / (split + WORDS_SUFFIX), phrases))
        for split, phrases in read_sst(found).items()
    }
    if task == "fine":
        return _about_dependencies(fine_sentiment("sst-dependencies", splits, ABOUT))
    if task == "binary":
        return _about_dependencies(binary_sentiment("sst-dependencies-binary", splits, ABOUT))
    raise ConfigError(f"SST has the tasks fine and binary as dependency trees, not {task!r}")


def _labelled(path: Path, phrases: tuple[Tree, ...]) -> list[Tree]:
    """The dependency trees of a split with the labels of its phrases; another sentence's would poison them."""
    trees: list[Tree] = []
    for number, (tree, whole) in enumerate(zip_longest(read_dependencies(path), phrases), 1):
        if tree is None or whole is None:
            problem = (
                f"{'more' if whole is None else 'fewer'} sentences than the {len(phrases):,} of the treebank"
            )
            raise DependencyError(Place(str(path), number), problem, remedy=f"{HOW_TO_GET}.")
        if not _same_words(tree, whole):
            problem = f"these are not the words of the treebank's line {number}: {' '.join(whole.words)}"
            raise DependencyError(Place(str(path), number), problem, remedy=f"{HOW_TO_GET}.")
        trees.append(label_by_spans(tree, whole))
    return trees


def _same_words(tree: DependencyTree, whole: Tree) -> bool:
    return list(map(surface_form, tree.words)) == list(map(surface_form, whole.words))


def _about_dependencies(corpus: Corpus) -> Corpus:
    return replace(corpus, inference=corpus.inference.replace("labels on all nodes", _WHERE), about=_ABOUT)


_ABOUT = (
    f"{ABOUT} As dependency trees, labelled after Tai et al. 2015, Improved Semantic Representations, ACL."
)
