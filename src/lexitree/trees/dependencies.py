"""Dependency trees, whose nodes are the words of the sentence, and the files that contain them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, BoolArray, NodeArray
from lexitree.errors import DependencyError, OnError, Place, TreeError
from lexitree.files import display_name, read_lines
from lexitree.lazy import cached_property
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import NO_LABEL, Tree, TreeLayout, frozen_array, lay_out
from lexitree.trees.tree_limits import MAX_WORDS, check_tree_size

WORDS_SUFFIX, PARENTS_SUFFIX = ".toks", ".dparents"

_TOKEN = re.compile(r"[^ \t\r\f\v]+")
"""Only ASCII white space separates tokens: a token may contain U+00A0."""

_WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")


class DependencyTree(Tree):
    """A tree with one node per word and a word at every node, projective or not.

    Nodes are in pre-order as in any `Tree`: the root is 0, and dependents follow the word that they depend on, from
    left to right. Words are in sentence order, and `word_of` maps nodes to words. "the film works", in which `works`
    is the root and `the` depends on `film`, is

        node      0      1     2
        arity     1      1     0
        word_of   2      1     0
        words     the    film  works
        spans     0:3    0:2   0:1

    The span of a node extends from the first to the last word below it, itself included. If the tree is not
    projective, a span may include words that are not below the node; see `is_contiguous`.

    Args:
        arity: The number of dependents of each node, in pre-order.
        labels: The label of each node.
        words: The words of the sentence.
        word_of: The word at each node, by its position in the sentence.

    Raises:
        TreeError: The arrays do not describe one tree, or do not fit together.
    """

    __slots__ = ("word_of",)

    has_inner_words = True
    word_of: NodeArray

    def __init__(
        self,
        arity: npt.ArrayLike,
        labels: Iterable[str],
        words: Iterable[str],
        word_of: Sequence[int] | NodeArray,
    ) -> None:
        object.__setattr__(self, "word_of", frozen_array(word_of))
        super().__init__(arity, labels, words)
        if not np.array_equal(np.sort(self.word_of), np.arange(self.num_words)):
            raise TreeError("every word of a dependency tree must be at exactly one node")

    @classmethod
    def from_parents(
        cls, words: Sequence[str], parents: Sequence[int], labels: Sequence[str] | None = None
    ) -> DependencyTree:
        """Make a tree from the word that each word depends on.

        Args:
            words: The words of the sentence.
            parents: For each word, the word that it depends on, counted from 0; -1 for the root.
            labels: The label of each word; none by default.

        Raises:
            TreeError: There is no root, several, or a cycle.
        """
        if len(parents) != len(words):
            raise TreeError(f"{len(words)} words but {len(parents)} parents")
        if labels is not None and len(labels) != len(words):
            raise TreeError(f"{len(words)} words but {len(labels)} labels")
        dependents = _dependents(words, parents)
        order = _preorder(words, parents, dependents)
        named = [NO_LABEL] * len(words) if labels is None else [labels[word] for word in order]
        return cls([len(dependents[word]) for word in order], named, words, order)

    @property
    def word_parents(self) -> list[int]:
        """The word that each word depends on, -1 for the root; the inverse of `from_parents`."""
        parents = np.full(self.num_words, NO_INDEX)
        parents[self.word_of[1:]] = self.word_of[self.parents[1:]]
        return parents.tolist()

    @cached_property
    def layout(self) -> TreeLayout:
        shape = lay_out(self.arity.tolist())
        parents: list[int] = shape.parents.tolist()
        starts: list[int] = self.word_of.tolist()
        ends = [word + 1 for word in starts]
        # Children come after their parents, so going backwards every node is complete when its parent needs it.
        for node in range(self.num_nodes - 1, 0, -1):
            parent = parents[node]
            starts[parent] = min(starts[parent], starts[node])
            ends[parent] = max(ends[parent], ends[node])
        return shape._replace(starts=frozen_array(starts), ends=frozen_array(ends))

    @cached_property
    def sizes(self) -> NodeArray:
        """The number of words below each node, itself included."""
        parents: list[int] = self.parents.tolist()
        sizes = [1] * self.num_nodes
        for node in range(self.num_nodes - 1, 0, -1):
            sizes[parents[node]] += sizes[node]
        return frozen_array(sizes)

    @property
    def is_contiguous(self) -> BoolArray:
        """Whether the words below each node are adjacent, without a gap."""
        return self.ends - self.starts == self.sizes

    @property
    def is_binary(self) -> bool:
        """Always false: a dependency tree has no phrases and is never one of the paper's binary trees."""
        return False

    @cached_property
    def leaves(self) -> NodeArray:
        """The node of each word, from left to right."""
        return frozen_array(np.argsort(self.word_of))

    @property
    def node_words(self) -> tuple[str, ...]:
        own: list[int] = self.word_of.tolist()
        return tuple(self.words[word] for word in own)

    def phrase(self, node: int) -> tuple[str, ...]:
        """Return the words below a node, itself included, in sentence order."""
        below: list[int] = np.sort(self.word_of[node : node + self.sizes[node]]).tolist()
        return tuple(self.words[word] for word in below)

    def with_labels(self, labels: Iterable[str]) -> DependencyTree:
        """Return the same tree with other labels, one per node."""
        return DependencyTree(self.arity, labels, self.words, self.word_of)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DependencyTree):
            return False if isinstance(other, Tree) else NotImplemented
        return bool(super().__eq__(other)) and np.array_equal(self.word_of, other.word_of)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.word_of.tobytes()))

    def __reduce__(self) -> tuple[object, ...]:
        return DependencyTree, (self.arity, self.labels, self.words, self.word_of)


def _dependents(words: Sequence[str], parents: Sequence[int]) -> list[list[int]]:
    """Return the dependents of each word, from left to right."""
    dependents: list[list[int]] = [[] for _ in words]
    for word, parent in enumerate(parents):
        if not NO_INDEX <= parent < len(words):
            raise TreeError(
                f"{_named(words, word)} depends on word {parent + 1}, but there are {len(words)} words"
            )
        if parent != NO_INDEX:
            dependents[parent].append(word)
    return dependents


def _preorder(words: Sequence[str], parents: Sequence[int], dependents: list[list[int]]) -> list[int]:
    """Return the words from the root downwards, each before its dependents."""
    roots = [word for word, parent in enumerate(parents) if parent == NO_INDEX]
    if len(roots) > 1:
        raise TreeError(f"several roots: {_named(words, roots[0])} and {_named(words, roots[1])}")
    if not roots:
        raise TreeError("no word is the root" if words else "no words")
    order: list[int] = []
    waiting = roots
    while waiting:
        word = waiting.pop()
        order.append(word)
        waiting.extend(reversed(dependents[word]))
    if len(order) < len(words):
        lost = min(set(range(len(words))) - set(order))
        raise TreeError(f"cycle: {_named(words, lost)} is not connected to the root")
    return order


def _named(words: Sequence[str], word: int) -> str:
    """Name a word in a message, counted from 1 as in the files."""
    return f"word {word + 1} ({words[word]})"


def head_final(phrases: Tree) -> DependencyTree:
    """Make the dependency tree in which the last word of every phrase is its head: a stand-in for a parse."""
    parents = [NO_INDEX] * phrases.num_words
    ends = phrases.ends.tolist()
    for node, above in enumerate(phrases.parents.tolist()):
        if above >= 0 and ends[node] != ends[above]:
            parents[ends[node] - 1] = ends[above] - 1
    return DependencyTree.from_parents(phrases.words, parents)


def label_by_spans(tree: DependencyTree, phrases: Tree) -> DependencyTree:
    """Give each node the label of the phrase that covers exactly the words below it, if there is one.

    This is how Tai et al. (2015) label dependency trees of the sentiment treebank. The root always gets the label of
    the sentence. If several phrases cover the same words, the topmost labelled one counts.

    Args:
        tree: The dependency tree of a sentence.
        phrases: The labelled phrases of the same sentence.

    Raises:
        TreeError: The two differ in their number of words.
    """
    if tree.num_words != phrases.num_words:
        raise TreeError(
            f"the dependency tree has {tree.num_words} words, but the phrases have {phrases.num_words}"
        )
    by_span: dict[tuple[int, int], str] = {}
    for span, label in zip(phrases.spans, phrases.labels, strict=True):
        if label != NO_LABEL:
            by_span.setdefault(span, label)
    labels = [
        by_span.get(span, NO_LABEL) if is_contiguous else NO_LABEL
        for span, is_contiguous in zip(tree.spans, tree.is_contiguous.tolist(), strict=True)
    ]
    return tree.with_labels([phrases.label, *labels[1:]])


def read_dependencies(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[DependencyTree]:
    """Yield the unlabelled trees of a `.toks` file and the `.dparents` file next to it, one sentence per line.

    A line of parents has one number per word: that of the word it depends on, counted from 1, or 0 for the root.

    Args:
        path: The `.toks` file.
        encoding: The encoding of both files.
        on_error: Whether to "raise" at a malformed sentence or to "skip" it.
        report: Counts the trees and collects the errors that are skipped.

    Raises:
        DependencyError: A sentence is malformed, or one file is shorter than the other.
    """
    report = report if report is not None else ReadReport()
    parents_path = _parents_file(path)
    pairs = zip_longest(read_lines(path, encoding), read_lines(parents_path, encoding))
    for words, parents in pairs:
        if words is None or parents is None:
            raise _unequal_length(path, parents_path, words or parents, words_end=words is None)
        place = Place(display_name(parents_path), parents[0])
        report.line = place.line
        tree = report.attempt(on_error, _parse_lines, words[1], parents[1], place)
        if tree is not None:
            yield tree


def _parents_file(path: str | Path) -> Path:
    """Return the file of parents that belongs to a file of words: `dev.dparents` for `dev.toks`."""
    plain = str(path).removesuffix(".gz")
    packed = str(path)[len(plain) :]
    return Path(plain.removesuffix(WORDS_SUFFIX) + PARENTS_SUFFIX + packed)


def _parse_lines(words_line: str, parents_line: str, place: Place) -> DependencyTree:
    words = [match[0] for match in islice(_TOKEN.finditer(words_line), MAX_WORDS + 1)]
    parents: list[int] = []
    for match in islice(_TOKEN.finditer(parents_line), MAX_WORDS + 1):
        if not _WHOLE_NUMBER.fullmatch(match[0]):
            here = Place(place.path, place.line, match.start() + 1, parents_line)
            raise DependencyError(here, "expected the number of a word, or 0 for the root")
        parents.append(int(match[0]) - 1)
    try:
        check_tree_size(max(len(words), len(parents)))
        return DependencyTree.from_parents(words, parents)
    except TreeError as error:
        raise DependencyError(place, error.message, remedy=error.remedy or _REMEDY) from error


_REMEDY = (
    f"Each line of {PARENTS_SUFFIX} has one number per word of the same line of {WORDS_SUFFIX}: "
    "that of the word it depends on, counted from 1, or 0 for the root."
)


def _unequal_length(
    path: str | Path, parents_path: Path, surplus: tuple[int, str] | None, *, words_end: bool
) -> DependencyError:
    longer, shorter = (parents_path, path) if words_end else (path, parents_path)
    line = surplus[0] if surplus else 0
    problem = f"{shorter} ends before this line"
    return DependencyError(Place(display_name(longer), line), problem, remedy=_REMEDY)
