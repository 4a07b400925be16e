"""The tree: words and labelled phrases as flat arrays, so that every question about structure is a look-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, BoolArray, NodeArray
from lexitree.errors import TreeError
from lexitree.lazy import cached_property

NO_LABEL = ""
"""The label of an unlabelled node."""

INTERMEDIATE_MARK = "@"
"""`@NP` is a node that binarization inserted into an NP."""

CHAIN_JOINT = "+"
"""`S+VP` is a unary chain of an S over a VP."""


class TreeLayout(NamedTuple):
    """What follows from a tree's shape alone, one entry per node; computed once, in linear time."""

    parents: NodeArray
    """The parent of each node; -1 at the root."""
    starts: NodeArray
    """The first word of each phrase."""
    ends: NodeArray
    """The word after the last one: `words[start:end]` is the phrase."""
    depths: NodeArray
    """The number of edges to the root."""
    heights: NodeArray
    """The number of edges to the deepest leaf below; 0 at a leaf."""


def lay_out(arity: list[int]) -> TreeLayout:
    """Compute the layout in two passes: parents, depths and starts forwards, ends and heights backwards."""
    num_nodes = len(arity)
    parents, depths, starts = [NO_INDEX] * num_nodes, [0] * num_nodes, [0] * num_nodes
    path: list[int] = []
    missing: list[int] = []
    num_words = 0
    for node, num_children in enumerate(arity):
        starts[node] = num_words
        depths[node] = len(path)
        if path:
            parents[node] = path[-1]
            missing[-1] -= 1
        if num_children:
            path.append(node)
            missing.append(num_children)
        else:
            num_words += 1
            while missing and missing[-1] == 0:
                path.pop()
                missing.pop()
    ends, heights = [0] * num_nodes, [0] * num_nodes
    for node in range(num_nodes - 1, -1, -1):
        if not arity[node]:
            ends[node] = starts[node] + 1
        parent = parents[node]
        if parent != NO_INDEX:
            # Going backwards, the last child comes first, and it ends where its parent does.
            ends[parent] = ends[parent] or ends[node]
            if heights[parent] <= heights[node]:
                heights[parent] = heights[node] + 1
    arrays = (parents, starts, ends, depths, heights)
    return TreeLayout(*(frozen_array(values) for values in arrays))


def frozen_array(values: npt.ArrayLike) -> NodeArray:
    """Return a read-only copy as int32."""
    array = np.array(values, dtype=np.int32)
    array.flags.writeable = False
    return array


class Tree:
    """An ordered, labelled, immutable tree over words, stored as flat arrays.

    Nodes are numbered in pre-order: the root is 0, parents come before their children, and siblings are ordered from
    left to right, so the leaves are in the order of the words. The number of children of each node, in that order,
    determines the whole shape. `(S (NP (DT the) (NN film)) (VBZ works))` is

        node     0     1     2     3     4
        arity    2     2     0     0     0
        labels   S     NP    DT    NN    VBZ
        words                the   film  works
        parents  -1    0     1     1     0
        spans    0:3   0:2   0:1   1:2   2:3

    A leaf is a word with its label, so `(NN film)` is one node. The label of an unlabelled node is "".
    Words are stored as written (`-LRB-` stays `-LRB-`); see `brackets.surface_form`.

    Args:
        arity: The number of children of each node, in pre-order.
        labels: The label of each node.
        words: The word of each leaf.

    Raises:
        TreeError: The arrays do not describe one tree, or do not fit together.
    """

    __slots__ = ("__dict__", "arity", "labels", "words")

    has_inner_words: ClassVar[bool] = False
    """Whether every node has a word, as in a dependency tree, and not only the leaves."""

    arity: NodeArray
    labels: tuple[str, ...]
    words: tuple[str, ...]

    def __init__(self, arity: npt.ArrayLike, labels: Iterable[str], words: Iterable[str]) -> None:
        for name, value in (
            ("arity", _read_arity(arity)),
            ("labels", tuple(labels)),
            ("words", tuple(words)),
        ):
            object.__setattr__(self, name, value)
        self._check()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"trees are immutable: {name} cannot be set (see with_labels)")

    def _check(self) -> None:
        if self.arity.ndim != 1 or not len(self.arity):
            raise TreeError("a tree needs at least one node, and one child count for each")
        # In pre-order each node fills one open place and opens `arity` new ones; the last node leaves none open.
        open_places = 1 + np.cumsum(self.arity, dtype=np.int64) - np.arange(1, len(self.arity) + 1)
        if self.arity.min() < 0 or open_places[-1] != 0 or (open_places[:-1] <= 0).any():
            raise TreeError("invalid arity: these are not the child counts of one tree in pre-order")
        if len(self.labels) != len(self.arity):
            raise TreeError(f"{len(self.arity)} nodes but {len(self.labels)} labels")
        num_leaves = int(np.count_nonzero(self.arity == 0))
        num_places, places = (len(self.arity), "nodes") if self.has_inner_words else (num_leaves, "leaves")
        if len(self.words) != num_places:
            raise TreeError(f"{num_places} {places} but {len(self.words)} words")
        # Lone surrogates, which JSON allows, cannot be encoded; rejected here, they cannot break a writer.
        try:
            "".join(self.labels).encode()
            "".join(self.words).encode()
        except (TypeError, UnicodeEncodeError) as error:
            raise TreeError(f"words and labels must be valid text: {error}") from error

    @classmethod
    def leaf(cls, word: str, label: str = NO_LABEL) -> Tree:
        """Make a tree of a single word."""
        return cls([0], [label], [word])

    @classmethod
    def flat(cls, words: Sequence[str], label: str = NO_LABEL) -> Tree:
        """Make a sentence without structure: one phrase over all words, or a leaf for a single word."""
        if len(words) == 1:
            return cls.leaf(words[0], label)
        return cls([len(words)] + [0] * len(words), [label] + [NO_LABEL] * len(words), words)

    @classmethod
    def from_spans(
        cls, words: Sequence[str], spans: Sequence[tuple[int, int]], labels: Iterable[str]
    ) -> Tree:
        """Make a tree from its phrases; the inverse of `spans`.

        Args:
            words: The words of the sentence.
            spans: The (start, end) of every phrase and every word, in pre-order.
            labels: The label of each span.

        Raises:
            TreeError: Spans are empty, cross each other or leave out a word.
        """
        arity = [0] * len(spans)
        path: list[int] = []
        num_covered = 0
        for node, (start, end) in enumerate(spans):
            while path and spans[path[-1]][1] <= start:
                path.pop()
            if not 0 <= start < end <= len(words) or (node and not path):
                raise TreeError(f"span ({start}, {end}) is empty or outside of the sentence or its parent")
            if path:
                arity[path[-1]] += 1
                parent_start, parent_end = spans[path[-1]]
                if start < parent_start or end > parent_end:
                    raise TreeError(f"spans ({start}, {end}) and ({parent_start}, {parent_end}) cross")
            path.append(node)
        for (start, end), num_children in zip(spans, arity, strict=True):
            if num_children == 0:
                if (start, end) != (num_covered, num_covered + 1):
                    raise TreeError(
                        f"words {num_covered} to {end - 1} need one span each, from left to right"
                    )
                num_covered += 1
        return cls(arity, labels, words)

    @property
    def num_nodes(self) -> int:
        return len(self.arity)

    @property
    def num_words(self) -> int:
        return len(self.words)

    @property
    def label(self) -> str:
        """The label of the root, which is that of the whole sentence."""
        return self.labels[0]

    @cached_property
    def layout(self) -> TreeLayout:
        return lay_out(self.arity.tolist())

    @property
    def parents(self) -> NodeArray:
        return self.layout.parents

    @property
    def starts(self) -> NodeArray:
        return self.layout.starts

    @property
    def ends(self) -> NodeArray:
        return self.layout.ends

    @property
    def depths(self) -> NodeArray:
        return self.layout.depths

    @property
    def heights(self) -> NodeArray:
        return self.layout.heights

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The (start, end) of every phrase, in pre-order."""
        return list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))

    @cached_property
    def leaves(self) -> NodeArray:
        """The node of each word, from left to right."""
        return frozen_array(np.flatnonzero(self.arity == 0))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of every node, from left to right."""
        lists: list[list[int]] = [[] for _ in range(self.num_nodes)]
        parents: list[int] = self.parents.tolist()
        for node, parent in enumerate(parents):
            if parent != NO_INDEX:
                lists[parent].append(node)
        return tuple(map(tuple, lists))

    @property
    def is_binary(self) -> bool:
        """Whether every phrase has exactly two children, as the paper's models require."""
        return bool(((self.arity == 0) | (self.arity == 2)).all())

    @property
    def node_words(self) -> tuple[str, ...]:
        """The word at each node; "" at phrases."""
        words = iter(self.words)
        return tuple("" if num_children else next(words) for num_children in self.arity.tolist())

    def phrase(self, node: int) -> tuple[str, ...]:
        """Return the words below a node."""
        return self.words[self.starts[node] : self.ends[node]]

    def with_labels(self, labels: Iterable[str]) -> Tree:
        """Return the same tree with other labels."""
        tree = Tree(self.arity, labels, self.words)
        if "layout" in self.__dict__:
            tree.__dict__["layout"] = self.layout
        return tree

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        same_text = self.words == other.words and self.labels == other.labels
        return same_text and np.array_equal(self.arity, other.arity)

    def __hash__(self) -> int:
        return hash((self.arity.tobytes(), self.labels, self.words))

    def __repr__(self) -> str:
        shown = " ".join(self.words[:8]) + (" …" if self.num_words > 8 else "")
        return f"Tree({self.num_words} words, {self.num_nodes} nodes, label {self.label!r}: {shown})"

    def __str__(self) -> str:
        """The tree in brackets; in short if brackets cannot hold it, as for a dependency tree."""
        from lexitree.trees.brackets import written_tree

        try:
            return written_tree(self)
        except TreeError:
            return repr(self)

    def _repr_svg_(self) -> str | None:
        """How a notebook shows it; a dependency tree, which has no phrases, is left to `repr`."""
        if self.has_inner_words:
            return None
        # Through the front door: drawings are made of trees, so they come later.
        import lexitree

        return lexitree.LabelledTree.from_tree(self)._repr_svg_()  # pyright: ignore[reportPrivateUsage]

    def __reduce__(self) -> tuple[object, ...]:
        return Tree, (self.arity, self.labels, self.words)


def child_slots(tree: Tree) -> NodeArray:
    """Return the position of each node among its siblings, counted from 0; the root is at 0."""
    order = np.argsort(tree.parents, kind="stable")
    firsts = np.cumsum(tree.arity) - tree.arity
    slots = np.zeros(tree.num_nodes, dtype=np.int32)
    parents = tree.parents[order[1:]]
    slots[order[1:]] = np.arange(tree.num_nodes - 1) - firsts[parents]
    return slots


def intermediate_nodes(tree: Tree) -> BoolArray:
    """Return whether binarization inserted each node: a phrase labelled @X that is not the root."""
    marked = np.array([label.startswith(INTERMEDIATE_MARK) for label in tree.labels])
    marked[0] = False
    return marked & (tree.arity > 0)


def nearest_kept_ancestors(tree: Tree, dropped: BoolArray) -> NodeArray:
    """Return the closest ancestor of each node that is not dropped."""
    # Parents come before their children, so one pass is enough.
    nearest = tree.parents.tolist()
    drop = dropped.tolist()
    for node, parent in enumerate(nearest):
        if parent != NO_INDEX and drop[parent]:
            nearest[node] = nearest[parent]
    return np.array(nearest, dtype=np.int32)


def _read_arity(arity: npt.ArrayLike) -> NodeArray:
    try:
        numbers = np.array(arity)
        if numbers.size and numbers.dtype.kind not in "iu":
            raise ValueError("not integers")
        if numbers.size and np.abs(numbers).max() > np.iinfo(np.int32).max:
            raise ValueError("too many children")
        return frozen_array(numbers)
    except (OverflowError, TypeError, ValueError) as error:
        raise TreeError(f"invalid arity: {error}") from error


def refuse_inner_words(tree: Tree, purpose: str) -> None:
    """Raise TreeError for a dependency tree, whose inner words an operation on phrases would lose."""
    if tree.has_inner_words:
        raise TreeError(
            f"a dependency tree has no phrases and cannot be {purpose}",
            remedy="JSON Lines and drawings support dependency trees.",
        )
