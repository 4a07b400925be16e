"""Prepared lists in, one batch of tensors out: whole lists, whose trees share their words and subtrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from lexitree.batch import TreeBatch
from lexitree.forest import batch_forests
from lexitree.parsing.model import send
from lexitree.reranking.examples import ListExample

IndexArray = npt.NDArray[np.int64]


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
    """Single trees, for a model that goes down as well."""
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
    scored = layout.down or layout.up
    tree_sizes = torch.tensor(scored.tree_sizes)
    is_there = _presence(examples)

    def move(tensor: Tensor) -> Tensor:
        return send(tensor, device)

    return ListBatch(
        up=layout.up.to(device),
        word_index=move(_join([example.word_index for example in examples])),
        leaf_word=None if layout.leaf_word is None else move(layout.leaf_word),
        down=None if layout.down is None else layout.down.to(device),
        down_source=None if layout.down_source is None else move(layout.down_source),
        node=move(scored.preorder_index),
        label=move(_join([example.label_index for example in examples])),
        candidate=move(torch.arange(len(tree_sizes)).repeat_interleave(tree_sizes)),
        place=move(is_there.flatten().nonzero().squeeze(1)),
        base_scores=move(_fill(is_there, [_below_best(example) for example in examples])),
        wrong=move(_fill(is_there, [_wrong(example) for example in examples])),
        is_there=move(is_there),
    )


class _Layout(NamedTuple):
    """The trees of a batch; see `ListBatch`."""

    up: TreeBatch
    leaf_word: Tensor | None = None
    down: TreeBatch | None = None
    down_source: Tensor | None = None


def _lay_out(examples: Sequence[ListExample], *, goes_down: bool, shares: bool) -> _Layout:
    if not shares:
        trees = _single_trees(examples)
        return _Layout(trees, _leaf_words(examples), trees if goes_down else None)
    forests = [example.binary.forest for example in examples]
    forest = batch_forests(forests, [example.word_index for example in examples])
    if not goes_down:
        return _Layout(forest)
    trees = _single_trees(examples)
    return _Layout(forest, None, trees, _forest_nodes(forest, trees))


def _single_trees(examples: Sequence[ListExample]) -> TreeBatch:
    return TreeBatch.from_trees([tree for example in examples for tree in example.binary.trees])


def _leaf_words(examples: Sequence[ListExample]) -> Tensor:
    """The word of each leaf of single trees, words numbered once a list."""
    first = 0
    found: list[IndexArray] = []
    for example in examples:
        num_words = len(example.word_index)
        found.append(np.tile(np.arange(first, first + num_words), example.num_candidates))
        first += num_words
    return _join(found)


def _forest_nodes(forest: TreeBatch, trees: TreeBatch) -> Tensor:
    """The node of the forest for each node of single trees: both know the nodes of each tree in pre-order."""
    nodes = torch.empty_like(trees.preorder_index)
    return nodes.index_copy_(0, trees.preorder_index, forest.preorder_index)


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
