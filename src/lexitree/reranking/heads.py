"""Trees with Penn labels and a reranker in, the head words that it has learned out, beside Collins' heads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

import numpy as np
import numpy.typing as npt
import torch

from lexitree.batch import TreeBatch
from lexitree.errors import ConfigError
from lexitree.evaluation.heads import HeadOverlap, binary_penn_tree, head_overlap
from lexitree.ops.threads import one_thread
from lexitree.reranking.model import RerankerModel
from lexitree.trees.head_rules import head_words
from lexitree.trees.tree import Tree

IndexArray = npt.NDArray[np.int64]

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
    batch = TreeBatch.from_trees(trees, [model.lexicon.index(tree.words) for tree in trees]).to(model.device)
    heads = model.find_heads(batch)
    assert heads is not None
    firsts = cast(list[int], batch.span_start.index_select(0, batch.root_index).tolist())
    by_tree = zip(batch.split(heads.leaf), firsts, strict=True)
    return [(leaves - first).cpu().numpy() for leaves, first in by_tree]


def reranker_overlap(model: RerankerModel, trees: Iterable[Tree]) -> HeadOverlap:
    """How often the learned head of a phrase is its head by Collins' rules; see `evaluation.heads`."""
    found = list(find_reranker_heads(model, trees))
    return head_overlap([each.tree for each in found], [each.learned for each in found])
