"""Candidate lists as a reranker reads them: binary trees in one forest, with numbered words and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lexitree.arrays import DoubleArray, IndexArray
from lexitree.errors import JsonLinesError, TreeError
from lexitree.evaluation.bracket_counts import SentenceCounts, count_sentence
from lexitree.lazy import cached_property
from lexitree.limits import cache_short_texts
from lexitree.models.word_table import Lexicon
from lexitree.parsers.penn_spans import ROOT_LABELS
from lexitree.trees.binarize import Direction
from lexitree.trees.brackets import strip_function_tags, strip_traces
from lexitree.trees.head_rules import STANFORD, head_slot
from lexitree.trees.tree import CHAIN_JOINT, INTERMEDIATE_MARK, Tree, refuse_inner_words
from lexitree_paper.rerank.forest import Forest, KnownPairs
from lexitree_paper.rerank.lists import CandidateList
from lexitree_paper.rerank.recipe import OTHER_LABEL

AS_A_TREEBANK = "Give the trees as a treebank has them, neither binarized nor with joined labels."


class PackedTrees(NamedTuple):
    """The distinct subtrees of several trees, and the label that each node has in each of them."""

    forest: Forest
    labels: list[str]
    """In the order of `forest.nodes`: phrases with joined labels (`S+VP`), split ones (`@NP`), "" for a bare word."""

    def single_trees(self, words: Sequence[str]) -> list[Tree]:
        """The binary trees one by one, for a model to which they have nothing in common."""
        forest, size = self.forest, 2 * self.forest.num_words - 1
        arity = 2 * (forest.nodes.reshape(-1, size) >= forest.num_words)
        return [
            Tree(shape, self.labels[size * number : size * (number + 1)], words)
            for number, shape in enumerate(arity)
        ]


def pack_trees(trees: Sequence[Tree], direction: Direction) -> PackedTrees:
    """Pack trees over the same words."""
    known: KnownPairs = {}
    nodes: list[int] = []
    labels: list[str] = []
    num_words = _plain(trees[0]).num_words
    for tree in trees:
        collapsed = _collapse(_plain(tree))
        numbers, names = _number_nodes(collapsed, _find_splits(collapsed, direction), num_words, known)
        nodes += numbers
        labels += names
    return PackedTrees(Forest.of(num_words, known, nodes, len(trees)), labels)


class Collapsed(NamedTuple):
    """A tree in pre-order without ROOT and without unary phrases; a chain is one node with a joined label."""

    arity: list[int]
    labels: list[str]


class Splits(NamedTuple):
    """How wide phrases are split: how many of the nodes that are put in start at each node, and their label."""

    counts: list[int]
    labels: list[str]


def _plain(tree: Tree) -> Tree:
    refuse_inner_words(tree, "reranked")
    kept = strip_traces(tree)
    if kept is None:
        raise TreeError("a tree without words, only with traces")
    return kept


def _collapse(tree: Tree) -> Collapsed:
    arity: list[int] = []
    labels: list[str] = []
    chain = ""
    is_above = True
    for num_children, written in zip(tree.arity.tolist(), tree.labels, strict=True):
        is_above = is_above and num_children == 1 and written in ROOT_LABELS
        if is_above:
            continue
        label = _bare_label(written)
        if num_children == 1:
            chain += label + CHAIN_JOINT
            continue
        if num_children and arity and label.startswith(INTERMEDIATE_MARK):
            raise TreeError(f"the label {label!r} already marks an intermediate node", remedy=AS_A_TREEBANK)
        arity.append(num_children)
        labels.append(chain + label)
        chain = ""
    return Collapsed(arity, labels)


@cache_short_texts
def _bare_label(label: str) -> str:
    """The label without function tags."""
    if CHAIN_JOINT in label:
        raise TreeError(
            f"the label {label!r} holds {CHAIN_JOINT!r}, which joins the labels of a chain",
            remedy=AS_A_TREEBANK,
        )
    return strip_function_tags(Tree.leaf("_", label)).label


def _find_splits(tree: Collapsed, direction: Direction) -> Splits:
    """Outermost the parts left of the head are peeled, then those right of it; see `binarize`."""
    counts, labels = [0] * len(tree.arity), [""] * len(tree.arity)
    for phrase, parts in _wide_phrases(tree.arity):
        head = _head_slot(tree, phrase, parts, direction)
        num_right = len(parts) - 1 - head
        for part in parts[1:head]:
            counts[part] = 1
        counts[parts[head]] = num_right if head else num_right - 1
        for part in parts:
            labels[part] = INTERMEDIATE_MARK + tree.labels[phrase]
    return Splits(counts, labels)


def _wide_phrases(arity: list[int]) -> list[tuple[int, list[int]]]:
    """Every phrase of three and more parts, with these."""
    found: list[tuple[int, list[int]]] = []
    path: list[tuple[int, list[int]]] = []
    for node, num_children in enumerate(arity):
        if path:
            path[-1][1].append(node)
        if num_children:
            path.append((node, []))
        while path and len(path[-1][1]) == arity[path[-1][0]]:
            phrase, parts = path.pop()
            if len(parts) > 2:
                found.append((phrase, parts))
    return found


def _head_slot(tree: Collapsed, phrase: int, parts: list[int], direction: Direction) -> int:
    """Which part ends up innermost."""
    if direction == "head":
        return head_slot(tree.labels[phrase], [tree.labels[part] for part in parts], STANFORD)
    return 0 if direction == "left" else len(parts) - 1


def _number_nodes(
    tree: Collapsed, splits: Splits, num_words: int, known: KnownPairs
) -> tuple[list[int], list[str]]:
    """Numbers and labels of the nodes of the binary tree in pre-order; `known` grows with the pairs that are new.

    From behind, both children of a phrase are met before it, the left one last; what is put in before a node joins it
    to what stands on its right.
    """
    numbers: list[int] = []
    labels: list[str] = []
    waiting: list[int] = []
    word = num_words
    for node in range(len(tree.arity) - 1, -1, -1):
        label = tree.labels[node]
        if tree.arity[node]:
            number = known.setdefault((waiting.pop(), waiting.pop()), num_words + len(known))
        else:
            word -= 1
            # The last label of a chain over a word is its tag.
            number, label = word, label.rpartition(CHAIN_JOINT)[0]
        numbers.append(number)
        labels.append(label)
        for _ in range(splits.counts[node]):
            number = known.setdefault((number, waiting.pop()), num_words + len(known))
            numbers.append(number)
            labels.append(splits.labels[node])
        waiting.append(number)
    return numbers[::-1], labels[::-1]


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


def frequent_labels(lists: Iterable[BinaryList], min_count: int) -> tuple[str, ...]:
    """The labels that are worth learning, the most frequent first, and one that stands for all others."""
    counts = Counter(label for binary in lists for label in binary.packed.labels)
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
