"""Batches of candidate lists, in which the trees of a list share their words and, if possible, subtrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from lexitree.arrays import IndexArray
from lexitree.ops.transfers import send
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.tree import Tree
from lexitree_paper.rerank.examples import ListExample
from lexitree_paper.rerank.forest import lay_out_forests


@dataclass(frozen=True, slots=True)
class ListBatch:
    """A batch of lists. Candidates are numbered across all lists; tables `[lists, ranks]` have one row per list."""

    up: TreeBatch
    """The nodes computed bottom-up: distinct subtrees or, for a backend that cannot share them, whole trees."""
    word_index: Int[Tensor, " words"]
    """The lexicon row of each word; the words of a list occur once, whatever its number of candidates."""
    leaf_word: Int[Tensor, " leaves"] | None
    """The word of each leaf of `up`; None if leaves and words are the same."""
    down: TreeBatch | None
    """Whole trees, for a model that also works top-down; with sharing, candidates of the same shape are one tree."""
    down_source: Int[Tensor, " down_nodes"] | None
    """The node of `up` for each node of `down`; None if they are the same."""
    node: Int[Tensor, " scored"]
    """The nodes of all candidates, as indices into `down` or, for a model without it, into `up`."""
    label: Int[Tensor, " scored"]
    """The label of each of these nodes."""
    candidate: Int[Tensor, " scored"]
    """The candidate that each of these nodes belongs to."""
    place: Int[Tensor, " candidates"]
    """The index of each candidate in a flattened table `[lists, ranks]`."""
    base_scores: Float[Tensor, "lists ranks"]
    """The parser's scores minus the highest one of the list; 0 where a list has no such rank."""
    wrong: Float[Tensor, "lists ranks"]
    """The number of wrong constituents of each candidate; 0 for lists without a gold tree."""
    is_there: Bool[Tensor, "lists ranks"]
    """Whether a list has a candidate of that rank."""

    @property
    def num_lists(self) -> int:
        return len(self.base_scores)

    @property
    def num_candidates(self) -> int:
        return len(self.place)

    def table(self, values: Float[Tensor, " candidates"], empty: float) -> Float[Tensor, "lists ranks"]:
        """Arrange the values of all candidates in a table with one row per list."""
        filled = values.new_full((self.is_there.numel(),), empty)
        return filled.index_copy(0, self.place, values).view(self.is_there.shape)


def batch_lists(
    examples: Sequence[ListExample], device: torch.device | str = "cpu", *, goes_down: bool, shares: bool
) -> ListBatch:
    """Make a batch of lists.

    Args:
        examples: The lists.
        device: Where the batch goes.
        goes_down: Whether the model also works top-down.
        shares: Whether equal subtrees are computed once.
    """
    layout = _lay_out(examples, goes_down=goes_down, shares=shares)
    is_there = _presence(examples)
    base_scores = [example.base_scores for example in examples]

    def move(tensor: Tensor) -> Tensor:
        return send(tensor, device)

    return ListBatch(
        up=layout.up.to(device),
        word_index=move(_join([example.word_index for example in examples])),
        leaf_word=None if layout.leaf_word is None else move(layout.leaf_word),
        down=None if layout.down is None else layout.down.to(device),
        down_source=None if layout.down_source is None else move(layout.down_source),
        node=move(layout.node),
        label=move(_join([example.label_index for example in examples])),
        candidate=move(_candidates(examples)),
        place=move(is_there.flatten().nonzero().squeeze(1)),
        # A parser's scores can be so large that 32 bits would lose their differences.
        base_scores=move(_fill(is_there, [scores - scores.max() for scores in base_scores])),
        wrong=move(_fill(is_there, [_wrong(example) for example in examples])),
        is_there=move(is_there),
    )


class _Layout(NamedTuple):
    """The trees of a batch; see `ListBatch`."""

    up: TreeBatch
    node: Tensor
    leaf_word: Tensor | None = None
    down: TreeBatch | None = None
    down_source: Tensor | None = None


def _lay_out(examples: Sequence[ListExample], *, goes_down: bool, shares: bool) -> _Layout:
    if not shares:
        trees = TreeBatch.from_trees([tree for example in examples for tree in example.binary.trees])
        return _Layout(trees, trees.preorder_index, _leaf_words(examples), trees if goes_down else None)
    forests = [example.binary.forest for example in examples]
    forest = TreeBatch.from_layout(lay_out_forests(forests, [example.word_index for example in examples]))
    if not goes_down:
        return _Layout(forest, forest.preorder_index)
    return _lay_out_shapes(examples, forest)


def _lay_out_shapes(examples: Sequence[ListExample], forest: TreeBatch) -> _Layout:
    """Lay out one tree for all candidates of a list that differ only in their labels."""
    shapes = [example.binary.shapes for example in examples]
    trees: list[Tree] = []
    for example, found in zip(examples, shapes, strict=True):
        trees += [example.binary.trees[place] for place in found.first.tolist()]
    down = TreeBatch.from_trees(trees)
    # Both batches know the nodes of each tree in pre-order: all candidates' here, those of the distinct trees there.
    sizes = [example.binary.tree_size for example in examples]
    first_of = _tree_nodes(
        sizes, [found.first for found in shapes], [example.num_candidates for example in examples]
    )
    shape_of = _tree_nodes(
        sizes, [found.shape_of for found in shapes], [len(found.first) for found in shapes]
    )
    source = torch.empty_like(down.preorder_index)
    source.index_copy_(0, down.preorder_index, forest.preorder_index.index_select(0, first_of))
    return _Layout(forest, down.preorder_index.index_select(0, shape_of), None, down, source)


def _tree_nodes(sizes: Sequence[int], chosen: Sequence[IndexArray], num_trees: Sequence[int]) -> Tensor:
    """The indices of the nodes of chosen trees among the nodes of all trees of all lists."""
    found: list[IndexArray] = []
    first = 0
    for size, trees, number in zip(sizes, chosen, num_trees, strict=True):
        found.append((first + size * trees[:, None] + np.arange(size)).reshape(-1))
        first += size * number
    return _join(found)


def _candidates(examples: Sequence[ListExample]) -> Tensor:
    """The candidate of each scored node."""
    sizes = [example.binary.tree_size for example in examples for _ in range(example.num_candidates)]
    return torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))


def _leaf_words(examples: Sequence[ListExample]) -> Tensor:
    """The word of each leaf of whole trees; the candidates of a list share its words."""
    first = 0
    found: list[IndexArray] = []
    for example in examples:
        num_words = len(example.word_index)
        found.append(np.tile(np.arange(first, first + num_words), example.num_candidates))
        first += num_words
    return _join(found)


def _join(arrays: Sequence[IndexArray]) -> Tensor:
    return torch.from_numpy(np.concatenate(arrays))


def _presence(examples: Sequence[ListExample]) -> Tensor:
    """[lists, ranks]: which ranks each list has."""
    sizes = torch.tensor([example.num_candidates for example in examples])
    return torch.arange(int(sizes.max())) < sizes.unsqueeze(1)


def _fill(is_there: Tensor, values: Sequence[npt.NDArray[np.float64]]) -> Tensor:
    """Make a table of the candidates' values, with 0 where there is no candidate."""
    table = torch.zeros(is_there.shape, dtype=torch.float32)
    table[is_there] = torch.from_numpy(np.concatenate(values)).float()
    return table


def _wrong(example: ListExample) -> npt.NDArray[np.float64]:
    if example.counts is None:
        return np.zeros(example.num_candidates)
    return example.counts.wrong.astype(np.float64)
