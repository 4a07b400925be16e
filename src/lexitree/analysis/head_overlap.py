"""How often learned head words agree with Collins' head rules, for classifiers and rerankers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from lexitree.arrays import BoolArray, DoubleArray, IndexArray
from lexitree.batch.examples import make_examples
from lexitree.batch.tree_layout import TreeLayout
from lexitree.corpora.treebank import Strip, read_any, strip_trees
from lexitree.errors import ConfigError, TreeError
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import run_examples
from lexitree.ops.threads import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.tasks.rerank.model import RerankerModel
from lexitree.trees.binarize import Direction, binarize, collapse_unary, unbinarize
from lexitree.trees.head_rules import head_words
from lexitree.trees.tree import Tree, intermediate_nodes

CHOICES = ("learned", "always_left", "always_right", "random_child")
"""The model's heads, and what taking one child everywhere, or any of the two, would give."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """The share of phrases whose head agrees with Collins', for each way to choose it."""

    phrases: str
    """Which phrases these are."""
    num_phrases: int
    learned: float
    always_left: float
    always_right: float
    random_child: float
    """The expected share, exactly: a head that is three steps down is met once in eight."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class HeadOverlap:
    """The overlap on a treebank, by what counts as a phrase."""

    num_trees: int
    all_phrases: Overlap
    """All inner nodes, those that binarization put in (@NP) included."""
    whole_phrases: Overlap
    """Inner nodes that are phrases of the treebank itself."""
    sentences: Overlap
    """The roots."""

    def rows(self) -> tuple[Overlap, ...]:
        return self.all_phrases, self.whole_phrases, self.sentences

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def binary_penn_tree(tree: Tree, direction: Direction) -> Tree:
    """A Penn tree as a model reads it, with labels from which Collins' rules still find the same heads."""
    return tree if tree.is_binary else binarize(collapse_unary(unbinarize(tree)), direction)


def same_brackets(penn: Iterable[Tree], others: Iterable[Tree]) -> Iterator[Tree | None]:
    """The trees of the first file that have the words and brackets of their like in the second, None for others."""
    pairs = zip(penn, others, strict=True)
    try:
        for tree, other in pairs:
            is_same = tree.words == other.words and np.array_equal(tree.arity, other.arity)
            yield tree if is_same else None
    except ValueError as error:
        raise TreeError(
            "the two files do not have the same number of trees, so lines cannot be paired"
        ) from error


def read_penn_trees(
    path: Path, *, same_as: Path | None = None, encoding: str = "utf-8", strip: Collection[Strip] = ()
) -> tuple[list[Tree], int]:
    """The trees of a file, and how many were left out because `same_as` brackets them differently."""
    trees = strip_trees(read_any(path, encoding=encoding), strip)
    if same_as is None:
        return list(trees), 0
    compared = list(same_brackets(trees, read_any(same_as, encoding=encoding)))
    kept = [tree for tree in compared if tree is not None]
    return kept, len(compared) - len(kept)


def model_overlap(model: TreeClassifier, trees: Iterable[Tree]) -> HeadOverlap:
    """Compare the heads that a model has learned with Collins', on trees with Penn labels of any arity."""
    config = model.config
    # Not around the heads that are compared: their shape would tell the model something of the answer.
    binary = [binary_penn_tree(tree, config.binarization) for tree in trees]
    examples = make_examples(binary, model.lexicon, labels=None, direction=config.binarization)
    learned = [output.head_index for output in run_examples(model, examples, heads=True)]
    found = [heads for heads in learned if heads is not None]
    if len(found) < len(binary):
        raise ConfigError(
            f"the model {config.model} has no head words",
            remedy="Take one of contree-lex, topdown and bicontree.",
        )
    return head_overlap(binary, found)


def head_overlap(trees: Iterable[Tree], learned: Iterable[npt.NDArray[np.int64]]) -> HeadOverlap:
    """Compare learned heads with Collins'.

    The trees are binary and have Penn labels (see `binary_penn_tree`); the learned heads are the word of each
    node, as `LabelledTree.head_index` has them.
    """
    tables: list[DoubleArray] = [np.zeros((0, len(CHOICES)))]
    is_whole: list[BoolArray] = [np.zeros(0, dtype=np.bool_)]
    is_root: list[BoolArray] = [np.zeros(0, dtype=np.bool_)]
    num_trees = 0
    for tree, heads in zip(trees, learned, strict=True):
        phrases = np.flatnonzero(tree.arity)
        tables.append(agreements(tree, heads))
        is_whole.append(~intermediate_nodes(tree)[phrases])
        is_root.append(phrases == 0)
        num_trees += 1
    table = np.concatenate(tables)
    return HeadOverlap(
        num_trees=num_trees,
        all_phrases=_overlap("all inner nodes", table),
        whole_phrases=_overlap("phrases of the treebank", table[np.concatenate(is_whole)]),
        sentences=_overlap("whole sentences", table[np.concatenate(is_root)]),
    )


def agreements(tree: Tree, learned: npt.NDArray[np.int64]) -> DoubleArray:
    """[phrases, choices]: how likely each way to choose a head takes the word that Collins' rules take."""
    if not tree.is_binary:
        raise TreeError("heads are compared on binary trees", remedy="Use binary_penn_tree.")
    phrases = np.flatnonzero(tree.arity)
    collins = head_words(tree)[phrases]
    num_steps = tree.depths[tree.leaves[collins]] - tree.depths[phrases]
    columns = (
        learned[phrases] == collins,
        tree.starts[phrases] == collins,
        tree.ends[phrases] - 1 == collins,
        0.5**num_steps,
    )
    return np.stack(columns, axis=1).astype(np.float64)


def _overlap(phrases: str, table: DoubleArray) -> Overlap:
    means = table.mean(0).tolist() if len(table) else [0.0] * len(CHOICES)
    return Overlap(phrases, len(table), **dict(zip(CHOICES, means, strict=True)))


TREES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class HeadedTree:
    """A tree as the model reads it, with the head word of every node: the model's, and Collins'."""

    source: Tree
    """The tree as it came."""
    tree: Tree
    learned: IndexArray  # [nodes]
    by_rule: npt.NDArray[np.int32]  # [nodes]

    def source_heads(self) -> list[int]:
        """The learned head of every node of the tree as it came; the binary tree has each of its spans once."""
        head_of = dict(zip(self.tree.spans, self.learned.tolist(), strict=True))
        return [head_of[span] for span in self.source.spans]


def find_reranker_heads(model: RerankerModel, trees: Iterable[Tree]) -> Iterator[HeadedTree]:
    """The heads of the phrases of trees of any arity; traces must have been taken off."""
    if not model.encoder.has_heads:
        raise ConfigError(
            f"the reranker {model.config.model} has no head words", remedy="Take contree-lex or bicontree."
        )
    waiting = iter(trees)
    while chunk := list(islice(waiting, TREES_AT_ONCE)):
        binary = [binary_penn_tree(tree, model.config.binarization) for tree in chunk]
        for source, tree, learned in zip(chunk, binary, _learned_heads(model, binary), strict=True):
            yield HeadedTree(source, tree, learned, head_words(tree))


@torch.inference_mode()
@one_thread()
def _learned_heads(model: RerankerModel, trees: Sequence[Tree]) -> list[IndexArray]:
    layout = TreeLayout.from_trees(trees, [model.lexicon.index(tree.words) for tree in trees])
    heads = model.find_heads(TreeBatch.from_layout(layout, model.device))
    assert heads is not None
    first_leaves = layout.span_start[layout.root_index]
    by_tree = zip(layout.split(heads.leaf.cpu().numpy()), first_leaves, strict=True)
    return [leaves - first for leaves, first in by_tree]


def reranker_overlap(model: RerankerModel, trees: Iterable[Tree]) -> HeadOverlap:
    """How often the learned head of a phrase is its head by Collins' rules; see `evaluation.heads`."""
    found = list(find_reranker_heads(model, trees))
    return head_overlap([each.tree for each in found], [each.learned for each in found])
