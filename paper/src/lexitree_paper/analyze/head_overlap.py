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
from lexitree.batch.tree_examples import make_examples
from lexitree.batch.tree_layout import TreeLayout
from lexitree.corpora.treebank import Strip, read_any, strip_trees
from lexitree.errors import ConfigError, TreeError
from lexitree.models.inference import run_examples
from lexitree.models.label_model import LabelModel
from lexitree.ops.openmp import one_thread
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.binarize import Direction, binarize, collapse_unary, unbinarize
from lexitree.trees.head_rules import head_words
from lexitree.trees.tree import Tree, intermediate_nodes
from lexitree_paper.rerank.model import RerankerModel

CHOICES = ("learned", "always_left", "always_right", "random_child")
"""The model's heads, and those of always taking one child, or a random one."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """The share of phrases whose head agrees with Collins' rules, for each way to choose it."""

    phrases: str
    """Which phrases are counted."""
    num_phrases: int
    learned: float
    always_left: float
    always_right: float
    random_child: float
    """The exact expected share: a head three steps down is found once in eight."""


@dataclass(frozen=True, slots=True)
class HeadOverlap:
    """The overlap on a treebank, for three kinds of phrases."""

    num_trees: int
    all_phrases: Overlap
    """All inner nodes, including those added by binarization (@NP)."""
    whole_phrases: Overlap
    """Inner nodes that are phrases of the treebank."""
    sentences: Overlap
    """The roots."""

    def rows(self) -> tuple[Overlap, ...]:
        return self.all_phrases, self.whole_phrases, self.sentences

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def binary_penn_tree(tree: Tree, direction: Direction) -> Tree:
    """Return a Penn tree as a model reads it, with labels from which Collins' rules find the same heads."""
    return tree if tree.is_binary else binarize(collapse_unary(unbinarize(tree)), direction)


def same_brackets(penn: Iterable[Tree], others: Iterable[Tree]) -> Iterator[Tree | None]:
    """Yield the trees of the first file, with None where the second has other words or brackets."""
    pairs = zip(penn, others, strict=True)
    try:
        for tree, other in pairs:
            is_same = tree.words == other.words and np.array_equal(tree.arity, other.arity)
            yield tree if is_same else None
    except ValueError as error:
        raise TreeError("the two files have different numbers of trees") from error


def read_penn_trees(
    path: Path, *, same_as: Path | None = None, encoding: str = "utf-8", strip: Collection[Strip] = ()
) -> tuple[list[Tree], int]:
    """Read trees; also return how many were skipped because `same_as` brackets them differently."""
    trees = strip_trees(read_any(path, encoding=encoding), strip)
    if same_as is None:
        return list(trees), 0
    compared = list(same_brackets(trees, read_any(same_as, encoding=encoding)))
    kept = [tree for tree in compared if tree is not None]
    return kept, len(compared) - len(kept)


def model_overlap(model: LabelModel, trees: Iterable[Tree]) -> HeadOverlap:
    """Compare the heads that a model has learned with Collins' on trees with Penn labels, of any arity.

    Raises:
        ConfigError: The model has no head words.
    """
    config = model.config
    # Not binarized around Collins' heads: the shape would give the answer away.
    binary = [binary_penn_tree(tree, config.binarization) for tree in trees]
    examples = make_examples(binary, model.lexicon, labels=None, direction=config.binarization)
    learned = [output.head_index for output in run_examples(model, examples, heads=True)]
    found = [heads for heads in learned if heads is not None]
    if len(found) < len(binary):
        raise ConfigError(
            f"the model {config.model} has no head words",
            remedy="Use contree-lex, topdown or bicontree.",
        )
    return head_overlap(binary, found)


def head_overlap(trees: Iterable[Tree], learned: Iterable[npt.NDArray[np.int64]]) -> HeadOverlap:
    """Compare learned heads with Collins' head rules.

    Args:
        trees: Binary trees with Penn labels (see `binary_penn_tree`).
        learned: The head word of each node of each tree, as in `LabelledTree.head_index`.

    Returns:
        The share of phrases on which they agree, with chance levels.

    Raises:
        TreeError: A tree is not binary.
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
    """Return [phrases, choices]: the probability that each choice finds the head of Collins' rules."""
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
    """A tree as the model reads it, with the learned head word of every node."""

    source: Tree
    """The original tree."""
    tree: Tree
    learned: IndexArray  # [nodes]

    def source_heads(self) -> list[int]:
        """Return the learned head of every node of the original tree, matched by span."""
        head_of = dict(zip(self.tree.spans, self.learned.tolist(), strict=True))
        return [head_of[span] for span in self.source.spans]


def find_reranker_heads(model: RerankerModel, trees: Iterable[Tree]) -> Iterator[HeadedTree]:
    """Yield trees of any arity with their heads; traces must be stripped.

    Raises:
        ConfigError: The reranker has no head words.
    """
    if not model.encoder.has_heads:
        raise ConfigError(
            f"the reranker {model.config.model} has no head words", remedy="Use contree-lex or bicontree."
        )
    waiting = iter(trees)
    while chunk := list(islice(waiting, TREES_AT_ONCE)):
        binary = [binary_penn_tree(tree, model.config.binarization) for tree in chunk]
        yield from map(HeadedTree, chunk, binary, _learned_heads(model, binary))


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
    """Compare the heads that a reranker has learned with Collins' rules; see `head_overlap`."""
    found = list(find_reranker_heads(model, trees))
    return head_overlap([each.tree for each in found], [each.learned for each in found])
