"""Lists of candidates in, what a reranker reads out: binary trees as one forest, with numbered words and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lexitree.errors import JsonLinesError, TreeError
from lexitree.evaluation.bracket_counts import SentenceCounts, count_sentence
from lexitree.forest import Forest, share_subtrees
from lexitree.lexicon.table import Lexicon
from lexitree.parsing.penn_spans import without_root
from lexitree.reranking.config import OTHER_LABEL
from lexitree.reranking.lists import CandidateList
from lexitree.trees.binarize import Direction, binarize, collapse_unary
from lexitree.trees.penn import strip_function_tags, strip_traces
from lexitree.trees.tree import CHAIN_JOINT, Tree

IndexArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

AS_A_TREEBANK = "Give the trees as a treebank has them, neither binarized nor with joined labels."


@dataclass(frozen=True, slots=True)
class BinaryList:
    """A list as the tree model reads it; `source` has the trees as they came, which are what is given back."""

    source: CandidateList
    trees: tuple[Tree, ...]
    forest: Forest
    counts: GoldCounts | None
    """None for a list without a gold tree."""

    @property
    def words(self) -> tuple[str, ...]:
        return self.trees[0].words

    def node_labels(self) -> list[str]:
        """The phrase label of every node of every tree, in pre-order and tree by tree; a bare word has ""."""
        return [
            label if num_children else label.rpartition(CHAIN_JOINT)[0]
            for tree in self.trees
            for num_children, label in zip(tree.arity.tolist(), tree.labels, strict=True)
        ]


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
    base_scores: FloatArray  # [candidates]

    @property
    def counts(self) -> GoldCounts | None:
        return self.binary.counts

    @property
    def num_candidates(self) -> int:
        return len(self.base_scores)


def binarize_list(candidates: CandidateList, direction: Direction) -> BinaryList:
    """Trees as their brackets count, without ROOT, traces and function tags; chains joined, wide phrases split."""
    trees: list[Tree] = []
    for number, candidate in enumerate(candidates.candidates, 1):
        try:
            trees.append(binarize(collapse_unary(_clean(candidate.tree)), direction))
        except TreeError as error:
            remedy = (
                error.remedy
                or "Give the trees as a treebank has them, neither binarized nor with joined labels."
            )
            raise JsonLinesError(
                candidates.place, f"candidate {number}: {error.message}", remedy=remedy
            ) from error
    return BinaryList(candidates, tuple(trees), share_subtrees(trees), GoldCounts.of(candidates))


def _clean(tree: Tree) -> Tree:
    kept = strip_traces(tree)
    assert kept is not None, "a list has words"
    return without_root(strip_function_tags(kept))


def count_labels(lists: Iterable[BinaryList]) -> Counter[str]:
    """How often each phrase label occurs among the candidates."""
    counts: Counter[str] = Counter()
    for binary in lists:
        counts.update(binary.node_labels())
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
        np.array([numbers.get(label, other) for label in binary.node_labels()], dtype=np.int64),
        np.array([candidate.score for candidate in binary.source.candidates]),
    )
