"""Candidate lists as a reranker reads them: binary trees in one forest, with numbered words and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lexitree.arrays import DoubleArray, IndexArray
from lexitree.batch.forest import Forest
from lexitree.errors import JsonLinesError, TreeError
from lexitree.evaluation.bracket_counts import SentenceCounts, count_sentence
from lexitree.models.word_table import Lexicon
from lexitree.tasks.rerank.lists import CandidateList
from lexitree.tasks.rerank.packing import PackedTrees, pack_trees
from lexitree.tasks.rerank.recipe import OTHER_LABEL
from lexitree.trees.binarize import Direction
from lexitree.trees.tree import Tree


@dataclass(frozen=True)
class BinaryList:
    """A list as the tree model reads it; `source` has the trees as they came, which are what is given back."""

    source: CandidateList
    packed: PackedTrees
    counts: GoldCounts | None
    """None for a list without a gold tree."""

    @property
    def words(self) -> tuple[str, ...]:
        return self.source.words

    @property
    def forest(self) -> Forest:
        return self.packed.forest

    @property
    def tree_size(self) -> int:
        """The number of nodes of each binary tree."""
        return 2 * self.forest.num_words - 1

    @cached_property
    def shapes(self) -> Shapes:
        """Which candidates have the same binary tree, whatever its labels: those with the same root in the forest."""
        roots = self.forest.nodes[:: self.tree_size]
        _, first, shape_of = np.unique(roots, return_index=True, return_inverse=True)
        return Shapes(first, shape_of)

    @cached_property
    def trees(self) -> list[Tree]:
        """The binary trees one by one, with phrase labels, for a model that goes down; made when asked for."""
        return self.packed.single_trees(self.words)


class Shapes(NamedTuple):
    """The distinct binary trees of a list."""

    first: IndexArray  # [shapes]
    """The place of the first candidate of each shape."""
    shape_of: IndexArray  # [candidates]

    @property
    def num_candidates(self) -> int:
        return len(self.shape_of)


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """What the candidates of a list share with the gold tree, in brackets as evalb counts them."""

    sentences: tuple[SentenceCounts, ...]
    """One a candidate; punctuation is what the gold tags say."""
    matched: IndexArray  # [candidates]
    guessed: IndexArray  # [candidates]

    @classmethod
    def of(cls, candidates: CandidateList) -> GoldCounts | None:
        """Compare all candidates with the gold tree, where there is one."""
        gold = candidates.gold
        if gold is None:
            return None
        sentences = tuple(count_sentence(gold, candidate.tree) for candidate in candidates.candidates)
        matched, guessed = np.array([(count.matched, count.guessed) for count in sentences]).T
        return cls(sentences, matched, guessed)

    @property
    def gold(self) -> int:
        return self.sentences[0].gold

    @property
    def wrong(self) -> IndexArray:
        """The number of constituents of each candidate that are wrong: too many or missing.

        If only those counted that the gold tree does not have, flat trees would be the safe choice.
        """
        return self.guessed + self.gold - 2 * self.matched


@dataclass(frozen=True, slots=True)
class ListExample:
    """One list, prepared once and batched many times."""

    binary: BinaryList
    word_index: IndexArray  # [words]
    label_index: IndexArray  # [nodes of all trees]
    base_scores: DoubleArray  # [candidates]

    @property
    def counts(self) -> GoldCounts | None:
        return self.binary.counts

    @property
    def num_candidates(self) -> int:
        return len(self.base_scores)


def binarize_list(candidates: CandidateList, direction: Direction) -> BinaryList:
    """Trees as their brackets count, without ROOT, traces and function tags; chains joined, wide phrases split."""
    trees = [candidate.tree for candidate in candidates.candidates]
    try:
        packed = pack_trees(trees, direction)
    except TreeError as error:
        raise JsonLinesError(candidates.place, _name_fault(trees, direction), remedy=error.remedy) from error
    return BinaryList(candidates, packed, GoldCounts.of(candidates))


def _name_fault(trees: Sequence[Tree], direction: Direction) -> str:
    """Which of the candidates cannot be read, and why."""
    for number, tree in enumerate(trees, 1):
        try:
            pack_trees([tree], direction)
        except TreeError as error:
            return f"candidate {number}: {error.message}"
    raise AssertionError("one of them is at fault")


def count_labels(lists: Iterable[BinaryList]) -> Counter[str]:
    """How often each phrase label occurs among the candidates."""
    counts: Counter[str] = Counter()
    for binary in lists:
        counts.update(binary.packed.labels)
    return counts


def frequent_labels(lists: Iterable[BinaryList], min_count: int) -> tuple[str, ...]:
    """The labels that are worth learning, the most frequent first, and one that stands for all others."""
    counts = count_labels(lists)
    kept = [label for label, count in counts.items() if count >= min_count and label != OTHER_LABEL]
    return (OTHER_LABEL, *sorted(kept, key=lambda label: (-counts[label], label)))


def make_list_example(binary: BinaryList, lexicon: Lexicon, labels: Sequence[str]) -> ListExample:
    """Number words and labels."""
    numbers = {label: number for number, label in enumerate(labels)}
    other = numbers[OTHER_LABEL]
    return ListExample(
        binary,
        lexicon.index(binary.words),
        np.array([numbers.get(label, other) for label in binary.packed.labels], dtype=np.int64),
        np.array([candidate.score for candidate in binary.source.candidates]),
    )
