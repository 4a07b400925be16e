"""Patterns find what a plain reading of them finds, node by node, in time linear in the tree."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.arrays import NO_INDEX
from lexitree.tree_search.node_facts import NodeFacts
from lexitree.tree_search.pattern import parse_pattern
from lexitree.tree_search.relations import RELATIONS
from lexitree.trees.brackets import surface_form
from lexitree.trees.head_rules import head_words
from lexitree.trees.tree import Tree
from tests.strategies import PENN_LABELS, WORDS, trees

Predicate = Callable[[Tree, int], bool]
Related = Callable[[Tree, int, int], bool]


def is_below(tree: Tree, node: int, other: int) -> bool:
    """Whether a node is inside of another, climbing one edge at a time."""
    while node != NO_INDEX:
        node = int(tree.parents[node])
        if node == other:
            return True
    return False


RELATED: dict[str, Related] = {
    "<": lambda tree, node, other: tree.parents[other] == node,
    "<<": lambda tree, node, other: is_below(tree, other, node),
    ">": lambda tree, node, other: tree.parents[node] == other,
    ">>": is_below,
    "$": lambda tree, node, other: (
        node != other
        and 0 not in (node, other)
        # The root is nobody's sister.
        and tree.parents[node] == tree.parents[other]
    ),
    ".": lambda tree, node, other: tree.ends[node] == tree.starts[other],
    "..": lambda tree, node, other: tree.ends[node] <= tree.starts[other],
    ",": lambda tree, node, other: tree.starts[node] == tree.ends[other],
    ",,": lambda tree, node, other: tree.starts[node] >= tree.ends[other],
}


def text_of(tree: Tree, node: int) -> str:
    return " ".join(map(surface_form, tree.phrase(node))).lower()


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def has_name(name: str) -> Predicate:
    def test(tree: Tree, node: int) -> bool:
        label = tree.labels[node]
        return label == name or (label[:1] != "-" and label.partition("-")[0] == name)

    return test


COUNTS: dict[str, Callable[[Tree, int], int]] = {
    "words": lambda tree, node: len(tree.phrase(node)),
    "children": lambda tree, node: len(tree.children[node]),
    "depth": lambda tree, node: int(tree.depths[node]),
}
SIGNS: dict[str, Callable[[int, int], bool]] = {
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
    "=": int.__eq__,
}


@st.composite
def simple_tests(draw: st.DrawFn) -> tuple[str, Predicate]:
    """A test of one node, and the same as a function."""
    kind = draw(st.sampled_from(("any", "leaf", "root", "name", "word", "head", "contains", "is", "count")))
    word = surface_form(draw(st.sampled_from(WORDS))).lower()
    part = draw(st.sampled_from((word, word[1:] + " ", "s n't", "m w", "e")))
    if kind == "any":
        return "*", lambda tree, node: True
    if kind == "leaf":
        return "leaf", lambda tree, node: not tree.arity[node]
    if kind == "root":
        return "root", lambda tree, node: node == 0
    if kind == "name":
        name = draw(st.sampled_from(PENN_LABELS))
        return quoted(name), has_name(name)
    if kind == "word":
        return f"word={quoted(word)}", lambda tree, node: not tree.arity[node] and text_of(tree, node) == word
    if kind == "head":
        return (
            f"head={quoted(word)}",
            lambda tree, node: surface_form(tree.words[head_words(tree)[node]]).lower() == word,
        )
    if kind == "contains":
        return f"text~{quoted(part)}", lambda tree, node: part in text_of(tree, node)
    if kind == "is":
        return f"text = {quoted(word)}", lambda tree, node: text_of(tree, node) == word
    what, sign = draw(st.sampled_from(sorted(COUNTS))), draw(st.sampled_from(sorted(SIGNS)))
    number = draw(st.integers(0, 4))
    return f"{what}{sign}{number}", lambda tree, node: SIGNS[sign](COUNTS[what](tree, node), number)


def combine(parts: st.SearchStrategy[tuple[str, Predicate]]) -> st.SearchStrategy[tuple[str, Predicate]]:
    def negated(part: tuple[str, Predicate]) -> tuple[str, Predicate]:
        return f"!({part[0]})", lambda tree, node: not part[1](tree, node)

    def joined(one: tuple[str, Predicate], other: tuple[str, Predicate]) -> tuple[str, Predicate]:
        return f"({one[0]}) & {other[0]}", lambda tree, node: one[1](tree, node) and other[1](tree, node)

    def either(one: tuple[str, Predicate], other: tuple[str, Predicate]) -> tuple[str, Predicate]:
        return f"({one[0]}|{other[0]})", lambda tree, node: one[1](tree, node) or other[1](tree, node)

    def related(
        one: tuple[str, Predicate], sign: str, other: tuple[str, Predicate], has: bool
    ) -> tuple[str, Predicate]:
        def test(tree: Tree, node: int) -> bool:
            others = (each for each in range(tree.num_nodes) if other[1](tree, each))
            return one[1](tree, node) and has == any(RELATED[sign](tree, node, each) for each in others)

        return f"({one[0]}) {'' if has else '!'}{sign} ({other[0]})", test

    signs = st.sampled_from(sorted(RELATED))
    return (
        parts.map(negated)
        | st.builds(either, parts, parts)
        | st.builds(related, parts, signs, parts, st.booleans())
        # Only a test, or something in brackets, may stand after &.
        | st.builds(joined, parts, simple_tests())
    )


@given(st.data())
@settings(max_examples=60)
def test_every_relation_to_any_nodes(data: st.DataObject) -> None:
    tree = data.draw(trees(8))
    chosen = data.draw(st.lists(st.booleans(), min_size=tree.num_nodes, max_size=tree.num_nodes))
    for sign, related in RELATED.items():
        expected = [
            any(related(tree, node, other) for other in range(tree.num_nodes) if chosen[other])
            for node in range(tree.num_nodes)
        ]
        assert RELATIONS[sign](tree, np.array(chosen)).tolist() == expected, sign


def test_a_text_is_found_where_it_overlaps_itself() -> None:
    tree = chain(4, to_left=False)
    assert parse_pattern('text~"a aa a"').find(NodeFacts(tree)) == [0, 2]
    assert parse_pattern('text="aa aa aa"').find(NodeFacts(tree)) == [2]


@given(trees(8, labels=st.sampled_from(PENN_LABELS)), st.recursive(simple_tests(), combine, max_leaves=5))
@settings(max_examples=100)
def test_a_pattern_finds_what_its_parts_say(tree: Tree, pattern: tuple[str, Predicate]) -> None:
    text, predicate = pattern
    expected = [node for node in range(tree.num_nodes) if predicate(tree, node)]
    assert parse_pattern(text).find(NodeFacts(tree)) == expected


def chain(num_words: int, *, to_left: bool) -> Tree:
    arity = [2] * (num_words - 1) + [0] * num_words if to_left else [2, 0] * (num_words - 1) + [0]
    return Tree(arity, ["NP"] * len(arity), ["aa"] * num_words)


def flat(num_words: int) -> Tree:
    return Tree([num_words, *[0] * num_words], ["NP"] * (num_words + 1), ["aa"] * num_words)


EVERYTHING = " & ".join(
    [
        *(f"(* {sign} (NP {sign} NP))" for sign in RELATED),
        'text~"aa a" & (text="aa aa" | head=*a*a* | word=a*) & words>2 & p*',
    ]
)


@pytest.mark.parametrize(
    "make",
    [lambda n: chain(n, to_left=True), lambda n: chain(n, to_left=False), flat],
    ids=["left", "right", "flat"],
)
def test_work_is_linear_in_the_tree(make: Callable[[int], Tree]) -> None:
    """Calls of functions, and memory: no list, array or loop grows with the square of the tree."""
    pattern = parse_pattern(EVERYTHING)
    tree = make(10)
    pattern.find(NodeFacts(tree))

    def work(num_words: int) -> tuple[int, int]:
        tree = make(num_words)
        assert len(tree.layout.parents) == tree.num_nodes
        num_calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal num_calls
            num_calls += event in ("call", "c_call")

        before: Any = sys.getprofile()
        tracemalloc.start()
        sys.setprofile(count)
        try:
            pattern.find(NodeFacts(tree))
        finally:
            sys.setprofile(before)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return num_calls, peak

    (calls, memory), (more_calls, more_memory) = work(400), work(1_600)
    # Four times the words: sixteen times the work would be quadratic.
    assert more_calls < 5 * calls
    assert more_memory < 6 * memory
