"""Hypothesis strategies: random trees of every shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from lexitree.arrays import NO_INDEX
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree

PENN_LABELS = (
    "S",
    "NP",
    "VP",
    "PP",
    "ADJP",
    "SBAR",
    "NN",
    "NNS",
    "VB",
    "DT",
    "IN",
    "CC",
    ",",
    "-LRB-",
    "NP-SBJ",
)
WORDS = ("the", "film", "works", "n't", "-LRB-", "1\\/2", "caf\u00e9", "a\u00a0b", "x\u2028y", "*", ",", "_")

SHAPES = ("mixed", "left chain", "right chain", "flat", "unary")


@st.composite
def arities(draw: st.DrawFn, max_words: int = 12, *, min_words: int = 1, binary: bool = False) -> list[int]:
    """The numbers of children of a tree in pre-order."""
    num_words = draw(st.integers(min_words, max_words))
    shape = draw(st.sampled_from(("mixed", "left chain", "right chain") if binary else SHAPES))
    arity: list[int] = []
    waiting = [(num_words, True)]
    while waiting:
        size, may_be_unary = waiting.pop()
        if not binary and may_be_unary and (shape == "unary" or draw(st.integers(0, 5)) == 0):
            arity.append(1)
            waiting.append((size, draw(st.booleans())))
        elif size == 1:
            arity.append(0)
        else:
            parts = _split(draw, size, "left chain" if shape == "unary" else shape, binary=binary)
            arity.append(len(parts))
            waiting.extend((part, True) for part in reversed(parts))
    return arity


def _split(draw: st.DrawFn, size: int, shape: str, *, binary: bool) -> list[int]:
    if shape == "left chain":
        return [size - 1, 1]
    if shape == "right chain":
        return [1, size - 1]
    if shape == "flat":
        return [1] * size
    num_parts = 2 if binary else draw(st.integers(2, min(size, 5)))
    parts: list[int] = []
    for missing in range(num_parts - 1, 0, -1):
        parts.append(draw(st.integers(1, size - sum(parts) - missing)))
    return [*parts, size - sum(parts)]


@st.composite
def trees(
    draw: st.DrawFn,
    max_words: int = 12,
    *,
    min_words: int = 1,
    binary: bool = False,
    labels: Sequence[str] | st.SearchStrategy[str] = PENN_LABELS,
    words: Sequence[str] | st.SearchStrategy[str] = WORDS,
) -> Tree:
    """Random trees: single leaves, chains, flat and unary ones and all between; strictly binary if asked for."""
    arity = draw(arities(max_words, min_words=min_words, binary=binary))
    return Tree(
        arity,
        draw(_exactly(len(arity), labels)),
        draw(_exactly(arity.count(0), words)),
    )


def _exactly(count: int, choice: Sequence[str] | st.SearchStrategy[str]) -> st.SearchStrategy[list[Any]]:
    values = choice if isinstance(choice, st.SearchStrategy) else st.sampled_from(choice)
    return st.lists(values, min_size=count, max_size=count)


def any_text() -> st.SearchStrategy[str]:
    """Texts of any characters that can be written to a file, the empty one included."""
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def dependency_trees(
    draw: st.DrawFn,
    max_words: int = 12,
    *,
    num_words: int | None = None,
    labels: Sequence[str] = ("0", "1", ""),
    words: Sequence[str] = WORDS,
) -> DependencyTree:
    """Random dependency trees, projective or not: chains, stars and all between, with the words in any order."""
    size = draw(st.integers(1, max_words)) if num_words is None else num_words
    reach = draw(st.sampled_from((1, 3, size)))
    place = draw(st.permutations(range(size)))
    parents = [NO_INDEX] * size
    for number in range(1, size):
        # Each hangs on one that was placed before it: the last few make it deep.
        parents[place[number]] = place[draw(st.integers(max(0, number - reach), number - 1))]
    named = draw(_exactly(size, labels))
    return DependencyTree.from_parents(draw(_exactly(size, words)), parents, named)
