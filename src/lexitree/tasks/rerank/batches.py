"""Batches of candidate lists, laid out so that the trees of a list share words and subtrees."""

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
from lexitree.batch.forest import lay_out_forests
from lexitree.ops.tree_batch import TreeBatch, send
from lexitree.tasks.rerank.examples import ListExample
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class ListBatch:
    """Lists side by side. Candidates are numbered through; `[lists, ranks]` tables have one row a list."""

    up: TreeBatch
    """What is computed from the words upwards: distinct subtrees or, for a backend without them, single trees."""
    word_index: Int[Tensor, " words"]
    """The row of the lexicon for each word of each sentence, once a list."""
    leaf_word: Int[Tensor, " leaves"] | None
    """The word of each leaf of `up`; None where leaves and words are the same."""
    down: TreeBatch | None
    """Trees of their own, for a model that goes down as well; with sharing, those of one shape are one."""
    down_source: Int[Tensor, " down_nodes"] | None
    """The node of `up` for each node of `down`; None where they are the same."""
    node: Int[Tensor, " scored"]
    """All nodes of all candidates, among those of `down` or, for a model that goes up only, of `up` ..."""
    label: Int[Tensor, " scored"]
    """... the label that each has in its tree ..."""
    candidate: Int[Tensor, " scored"]
    """... and whose node it is."""
    place: Int[Tensor, " candidates"]
    """Where each candidate stands in a table `[lists, ranks]` that is read as a list."""
    base_scores: Float[Tensor, "lists ranks"]
    """The parser's scores, less the highest of the list; 0 where a list has no such rank."""
    wrong: Float[Tensor, "lists ranks"]
    """The numbers of wrong constituents; 0 where nothing is known of them."""
    is_there: Bool[Tensor, "lists ranks"]
    """Whether a list has a candidate of that rank."""

    @property
    def num_lists(self) -> int:
        return len(self.base_scores)

    @property
    def num_candidates(self) -> int:
        return len(self.place)

    def table(self, values: Float[Tensor, " candidates"], empty: float) -> Float[Tensor, "lists ranks"]:
        """Values of all candidates, a row a list."""
        filled = values.new_full((self.is_there.numel(),), empty)
        return filled.index_copy(0, self.place, values).view(self.is_there.shape)


def batch_lists(
    examples: Sequence[ListExample], device: torch.device | str = "cpu", *, goes_down: bool, shares: bool
) -> ListBatch:
    """Lay lists out for a model that goes down the trees as well, or only up; `shares` computes subtrees once."""
    layout = _lay_out(examples, goes_down=goes_down, shares=shares)
    is_there = _presence(examples)

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
        base_scores=move(_fill(is_there, [_below_best(example) for example in examples])),
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
    """Candidates that differ in nothing but their labels are one tree to a model that goes down."""
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
    """Where the nodes of some trees of each list stand among those of all its trees, list after list."""
    found: list[IndexArray] = []
    first = 0
    for size, trees, number in zip(sizes, chosen, num_trees, strict=True):
        found.append((first + size * trees[:, None] + np.arange(size)).reshape(-1))
        first += size * number
    return _join(found)


def _candidates(examples: Sequence[ListExample]) -> Tensor:
    """The number of the candidate of each node that is scored."""
    sizes = [example.binary.tree_size for example in examples for _ in range(example.num_candidates)]
    return torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))


def _leaf_words(examples: Sequence[ListExample]) -> Tensor:
    """The word of each leaf of single trees, words numbered once a list."""
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
    """[lists, ranks]: which ranks each list has, in a table that is as wide as the longest."""
    sizes = torch.tensor([example.num_candidates for example in examples])
    return torch.arange(int(sizes.max())) < sizes.unsqueeze(1)


def _fill(is_there: Tensor, values: Sequence[npt.NDArray[np.float64]]) -> Tensor:
    """A table of the candidates' values, 0 elsewhere."""
    table = torch.zeros(is_there.shape, dtype=torch.float32)
    table[is_there] = torch.from_numpy(np.concatenate(values)).float()
    return table


def _below_best(example: ListExample) -> npt.NDArray[np.float64]:
    """Scores of a parser can be large, with differences that 32 bits would lose."""
    return example.base_scores - example.base_scores.max()


def _wrong(example: ListExample) -> npt.NDArray[np.float64]:
    if example.counts is None:
        return np.zeros(example.num_candidates)
    return example.counts.wrong.astype(np.float64)
