"""Convert trees to and from NLTK's; NLTK is imported only to create its trees.

It is a module of its own because it is part of the public interface and needs the extra `nltk`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lexitree.arrays import NO_INDEX
from lexitree.errors import TreeError, import_extra
from lexitree.trees.tree import NO_LABEL, Tree, refuse_inner_words
from lexitree.trees.tree_limits import MAX_NODES

if TYPE_CHECKING:
    import nltk


@runtime_checkable
class NltkTree(Protocol):
    """The parts of `nltk.Tree` that are needed: a label, and children that are such trees or words."""

    def label(self) -> Any: ...

    def __iter__(self) -> Any: ...


def tree_from_nltk(nltk_tree: NltkTree) -> Tree:
    """Convert an `nltk.Tree`: `(NN film)` becomes one leaf, and words without a bracket have no label.

    Raises:
        TreeError: It contains something other than trees and words, or an empty phrase.
    """
    arity: list[int] = []
    labels: list[str] = []
    words: list[str] = []
    waiting: list[object] = [nltk_tree]
    while waiting:
        part = waiting.pop()
        if len(arity) >= MAX_NODES:
            raise TreeError(f"the NLTK tree has more than {MAX_NODES:,} nodes, or contains itself")
        label, parts = _take_apart(part)
        labels.append(label)
        if len(parts) == 1 and isinstance(parts[0], str):
            arity.append(0)
            words.append(parts[0])
        else:
            arity.append(len(parts))
            waiting.extend(reversed(parts))
    return Tree(arity, labels, words)


def _take_apart(part: object) -> tuple[str, list[object]]:
    if isinstance(part, str):
        return NO_LABEL, [part]
    if not isinstance(part, NltkTree):
        raise TreeError(f"the NLTK tree contains a {type(part).__name__} instead of a tree or a word")
    children: Iterable[object] = part
    label, parts = part.label(), list(children)
    if not isinstance(label, str):
        raise TreeError(f"the NLTK tree has a label that is not a string: {label!r}")
    if not parts:
        raise TreeError(f"the NLTK tree has a phrase {label!r} without words")
    return label, parts


def tree_to_nltk(tree: Tree) -> nltk.Tree:
    """Convert a tree to an `nltk.Tree`.

    Words without a label get no bracket, unless their phrase would then look like a leaf.

    Raises:
        MissingExtraError: NLTK is not installed.
        TreeError: The tree is a dependency tree.
    """
    make_tree = import_extra("nltk.tree", extra="nltk", purpose="Making NLTK trees").Tree
    refuse_inner_words(tree, "an NLTK tree")
    arity, parents = tree.arity.tolist(), tree.parents.tolist()
    parts: list[list[Any]] = [[] for _ in arity]
    words = list(tree.words)
    made: Any = None
    # Going backwards, children are made before their phrase, and arrive from right to left.
    for node in range(tree.num_nodes - 1, -1, -1):
        label, parent = tree.labels[node], parents[node]
        if arity[node]:
            made = make_tree(label, parts[node][::-1])
        else:
            word = words.pop()
            is_bare = label == NO_LABEL and parent != NO_INDEX and arity[parent] > 1
            made = word if is_bare else make_tree(label, [word])
        if parent != NO_INDEX:
            parts[parent].append(made)
    return made
