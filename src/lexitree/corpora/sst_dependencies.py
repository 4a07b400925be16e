"""The Stanford Sentiment Treebank and dependency parses of it go in; its tasks on dependency trees come out."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from lexitree.corpora.corpus import SPLITS, Corpus
from lexitree.corpora.sst import ABOUT, binary_sentiment, find_sst, fine_sentiment, read_sst
from lexitree.errors import ConfigError, CorpusNotFoundError, DependencyError, Place
from lexitree.trees.brackets import surface_form
from lexitree.trees.dependencies import (
    PARENTS_SUFFIX,
    WORDS_SUFFIX,
    DependencyTree,
    label_by_spans,
    read_dependencies,
)
from lexitree.trees.tree import Tree

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
