"""Words and the parent of each in, a dependency tree out: a tree whose nodes are the words of its sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, NodeArray
from lexitree.errors import DependencyError, OnError, Place, TreeError
from lexitree.files import display_name, read_lines
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import NO_LABEL, Tree, TreeLayout, frozen_array, lay_out

WORDS_SUFFIX, PARENTS_SUFFIX = ".toks", ".dparents"

_TOKEN = re.compile(r"[^ \t\r\f\v]+")
"""Separated by ASCII white space only: a token may hold U+00A0."""

_WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")


class DependencyTree(Tree):
    """A tree with a word at every node and a node for every word, projective or not.

    Nodes are in pre-order as in any `Tree`: the root is 0, dependents come after what they depend on, from left
    to right. Words are in the order of the sentence, and `word_of` says which of them stands at a node. For
    "the film works", in which `works` is the root and `the` depends on `film`:

        node      0      1     2
        arity     1      1     0
        word_of   2      1     0
        words     the    film  works
        spans     0:3    0:2   0:1

    The span of a node reaches from the first to the last word below it, itself included. In a tree that is not
    projective, words may stand in between that are not below it; `is_contiguous` says where none does.
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
            raise TreeError("every word of a dependency tree stands at one node")

    @classmethod
    def from_parents(
        cls, words: Sequence[str], parents: Sequence[int], labels: Sequence[str] | None = None
    ) -> DependencyTree:
        """A tree from the word that each word depends on, counted from 0; -1 for the root. Labels are by word."""
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
        # Children come after their parents, so backwards every node is complete before it is passed on.
        for node in range(self.num_nodes - 1, 0, -1):
            parent = parents[node]
            starts[parent] = min(starts[parent], starts[node])
            ends[parent] = max(ends[parent], ends[node])
        return shape._replace(starts=frozen_array(starts), ends=frozen_array(ends))

    @cached_property
    def sizes(self) -> NodeArray:
        """How many words are below each node, itself included."""
        parents: list[int] = self.parents.tolist()
        sizes = [1] * self.num_nodes
        for node in range(self.num_nodes - 1, 0, -1):
            sizes[parents[node]] += sizes[node]
        return frozen_array(sizes)

    @property
    def is_contiguous(self) -> npt.NDArray[np.bool_]:
        """Whether the words below each node follow one another without a gap."""
        return self.ends - self.starts == self.sizes

    @property
    def is_binary(self) -> bool:
        """A dependency tree has no phrases, so it is none of the binary trees that the paper's models read."""
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
        """The words below a node and its own, in the order of the sentence."""
        below: list[int] = np.sort(self.word_of[node : node + self.sizes[node]]).tolist()
        return tuple(self.words[word] for word in below)

    def with_labels(self, labels: Iterable[str]) -> DependencyTree:
        """The same tree with other labels, by node."""
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
    """The dependents of each word, from left to right."""
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
    """The words from the root downwards, each before its dependents."""
    roots = [word for word, parent in enumerate(parents) if parent == NO_INDEX]
    if len(roots) > 1:
        raise TreeError(f"several roots: {_named(words, roots[0])} and {_named(words, roots[1])}")
    if not roots:
        raise TreeError("no word is the root" if words else "a tree has at least one word")
    order: list[int] = []
    waiting = roots
    while waiting:
        word = waiting.pop()
        order.append(word)
        waiting.extend(reversed(dependents[word]))
    if len(order) < len(words):
        lost = min(set(range(len(words))) - set(order))
        raise TreeError(f"a cycle: from {_named(words, lost)} no way up leads to the root")
    return order


def _named(words: Sequence[str], word: int) -> str:
    """A word for a message, counted from 1 as the files do."""
    return f"word {word + 1} ({words[word]})"


def head_final(phrases: Tree) -> DependencyTree:
    """The dependency tree in which the last word of every phrase is its head: a plain stand-in for a parse."""
    parents = [NO_INDEX] * phrases.num_words
    ends = phrases.ends.tolist()
    for node, above in enumerate(phrases.parents.tolist()):
        if above >= 0 and ends[node] != ends[above]:
            parents[ends[node] - 1] = ends[above] - 1
    return DependencyTree.from_parents(phrases.words, parents)


def label_by_spans(tree: DependencyTree, phrases: Tree) -> DependencyTree:
    """Give each node the label of the phrase that covers exactly the words below it, where there is one.

    That is how Tai et al. (2015) put the phrase labels of the sentiment treebank on dependency trees. The root
    always has the sentence's label. Of phrases over the same words the topmost labelled one counts.
    """
    if tree.num_words != phrases.num_words:
        raise TreeError(
            f"a dependency tree of {tree.num_words} words beside phrases of {phrases.num_words} words"
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
    """Yield the trees of a `.toks` file and the `.dparents` file beside it, one sentence a line; none has labels.

    A line of parents has a number for each word: that of the word it depends on, from 1, or 0 for the root. With
    `on_error="skip"` malformed sentences are passed over; `report.errors` lists them.
    """
    report = report if report is not None else ReadReport()
    parents_path = parents_file(path)
    pairs = zip_longest(read_lines(path, encoding), read_lines(parents_path, encoding))
    for words, parents in pairs:
        if words is None or parents is None:
            raise _unequal_length(path, parents_path, words or parents, words_end=words is None)
        try:
            tree = _parse_lines(words[1], parents[1], Place(display_name(parents_path), parents[0]))
        except DependencyError as error:
            report.note(error, on_error)
            continue
        report.num_trees += 1
        yield tree


def parents_file(path: str | Path) -> Path:
    """The file with the parents that belongs to a file of words: `dev.dparents` to `dev.toks`."""
    plain = str(path).removesuffix(".gz")
    packed = str(path)[len(plain) :]
    return Path(plain.removesuffix(WORDS_SUFFIX) + PARENTS_SUFFIX + packed)


def _parse_lines(words_line: str, parents_line: str, place: Place) -> DependencyTree:
    words = _TOKEN.findall(words_line)
    parents: list[int] = []
    for match in _TOKEN.finditer(parents_line):
        if not _WHOLE_NUMBER.fullmatch(match[0]):
            here = Place(place.path, place.line, match.start() + 1, parents_line)
            raise DependencyError(here, "the number of a word, or 0 for the root, should stand here")
        parents.append(int(match[0]) - 1)
    try:
        return DependencyTree.from_parents(words, parents)
    except TreeError as error:
        raise DependencyError(place, error.message, remedy=_REMEDY) from error


_REMEDY = (
    f"A line of {PARENTS_SUFFIX} has one number for each word of the same line of {WORDS_SUFFIX}: "
    "that of the word it depends on, counted from 1, or 0 for the one root."
)


def _unequal_length(
    path: str | Path, parents_path: Path, surplus: tuple[int, str] | None, *, words_end: bool
) -> DependencyError:
    longer, shorter = (parents_path, path) if words_end else (path, parents_path)
    line = surplus[0] if surplus else 0
    problem = f"{shorter} ends before this line"
    return DependencyError(Place(display_name(longer), line), problem, remedy=_REMEDY)
