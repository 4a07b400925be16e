from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import TreeError
from lexitree.trees.binarize import Direction, binarize, collapse_unary, expand_unary, to_binary, unbinarize
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.head_rules import STANFORD, head_children, head_words
from lexitree.trees.tree import NO_LABEL, Tree
from tests.strategies import trees

DIRECTIONS: tuple[Direction, ...] = ("left", "right", "head")
directions = st.sampled_from(DIRECTIONS)
LABELS = ("S", "NP", "VP", "NN", "CC", "VB", "", ",")


def nested(tree: Tree) -> list[object]:
    """The tree as [label, head slot, number in the source, parts or word], to be changed by plain recursion."""
    heads = head_children(tree, STANFORD).tolist()
    words = iter(tree.words)

    def build(node: int) -> list[object]:
        children = tree.children[node]
        inside = [build(child) for child in children] if children else next(words)
        return [tree.labels[node], heads[node], [node], inside]

    return build(0)


def naive_split(label: str, parts: list[object], head: int, mark: str | None) -> list[object]:
    """Two parts from many: peel from the left up to the head, then from the right."""
    if len(parts) <= 2:
        return parts
    inner = NO_LABEL if mark is None else mark + label
    if head > 0:
        return [parts[0], [inner, 0, [], naive_split(label, parts[1:], head - 1, mark)]]
    return [[inner, 0, [], naive_split(label, parts[:-1], head, mark)], parts[-1]]


def naive_binarize(node: list[object], direction: Direction, mark: str | None) -> list[object]:
    label, head, sources, inside = node
    if isinstance(inside, str):
        return node
    parts = [naive_binarize(part, direction, mark) for part in inside]  # type: ignore[attr-defined]
    slot = {"left": 0, "right": len(parts) - 1, "head": head}[direction]
    return [label, head, sources, naive_split(label, parts, slot, mark)]  # type: ignore[arg-type]


def naive_collapse(node: list[object]) -> list[object]:
    label, head, sources, inside = node
    while not isinstance(inside, str) and len(inside) == 1:  # type: ignore[arg-type]
        below_label, head, below_sources, inside = inside[0]  # type: ignore[index]
        label = label or below_label
        sources = [*sources, *below_sources]  # type: ignore[misc]
    if isinstance(inside, str):
        return [label, 0, sources, inside]
    return [label, head, sources, [naive_collapse(part) for part in inside]]  # type: ignore[attr-defined]


def flat(node: list[object], num_sources: int) -> tuple[Tree, list[int]]:
    """The nested lists as a tree again, and where each source node went."""
    arity: list[int] = []
    labels: list[str] = []
    words: list[str] = []
    node_of = [-1] * num_sources

    def walk(part: list[object]) -> None:
        label, _, sources, inside = part
        for source in sources:  # type: ignore[attr-defined]
            node_of[source] = len(arity)
        labels.append(label)  # type: ignore[arg-type]
        if isinstance(inside, str):
            arity.append(0)
            words.append(inside)
            return
        arity.append(len(inside))  # type: ignore[arg-type]
        for child in inside:  # type: ignore[attr-defined]
            walk(child)

    walk(node)
    return Tree(arity, labels, words), node_of


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("left", "(NP (@NP (@NP (@NP (DT a) (JJ b)) (NN c)) (PP d)) (PP e))"),
        ("right", "(NP (DT a) (@NP (JJ b) (@NP (NN c) (@NP (PP d) (PP e)))))"),
        ("head", "(NP (DT a) (@NP (JJ b) (@NP (@NP (NN c) (PP d)) (PP e))))"),
    ],
)
def test_the_three_directions(direction: Direction, expected: str) -> None:
    tree = tree_from_brackets("(NP (DT a) (JJ b) (NN c) (PP d) (PP e))")
    assert tree_to_brackets(binarize(tree, direction)) == expected
    assert unbinarize(binarize(tree, direction)) == tree


@given(trees(labels=LABELS), directions)
def test_binarize_is_the_naive_one(tree: Tree, direction: Direction) -> None:
    expected, _ = flat(naive_binarize(nested(tree), direction, "@"), tree.num_nodes)
    assert binarize(tree, direction) == expected


@given(trees(max_words=25, labels=LABELS), directions)
def test_to_binary_is_the_naive_one(tree: Tree, direction: Direction) -> None:
    expected, node_of = flat(naive_binarize(naive_collapse(nested(tree)), direction, None), tree.num_nodes)
    found = to_binary(tree, direction)
    assert found.tree == expected
    assert found.node_of.tolist() == node_of
    assert found.source is tree


@given(trees(max_words=25, labels=LABELS), directions)
def test_the_label_of_a_sentence_has_no_say_in_the_shape(tree: Tree, direction: Direction) -> None:
    labelled = tree.with_labels(["positive", *tree.labels[1:]])
    bare = tree.with_labels([NO_LABEL, *tree.labels[1:]])
    found = to_binary(labelled, direction, has_sentence_label=True)
    expected = to_binary(bare, direction)
    assert found.tree.arity.tolist() == expected.tree.arity.tolist()
    assert found.node_of.tolist() == expected.node_of.tolist()
    assert found.tree.label == "positive"


@given(trees(max_words=25, labels=("0", "1", "-", "", ".")))
def test_labels_that_are_no_categories_are_split_to_the_right(tree: Tree) -> None:
    assert to_binary(tree, "head").tree == to_binary(tree, "right").tree
    assert binarize(tree, "head") == binarize(tree, "right")


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("(S (NP it) (VP works) (. .))", "(S (NP it) (@S (VP works) (. .)))"),
        ("(S (CC and) (NP it) (VP works) (. .))", "(S (CC and) (@S (NP it) (@S (VP works) (. .))))"),
        ("(S (S a) (, ,) (CC but) (S b) (. .))", "(S (@S (@S (@S (S a) (, ,)) (CC but)) (S b)) (. .))"),
        ("(NP (NN wit) (CC and) (NN charm))", "(NP (@NP (NN wit) (CC and)) (NN charm))"),
        ("(ADJP (JJ warm) (, ,) (JJ funny))", "(ADJP (JJ warm) (@ADJP (, ,) (JJ funny)))"),
        ("(FRAG (NP a) (, ,) (VP b) (. .))", "(FRAG (NP a) (@FRAG (, ,) (@FRAG (VP b) (. .))))"),
        ("(_ (NP it) (VP works) (. .))", "(_ (NP it) (@ (VP works) (. .)))"),
    ],
)
def test_the_ways_of_sst(tree: str, expected: str) -> None:
    """Where the final period, conjunctions and commas go in that treebank."""
    assert tree_to_brackets(binarize(tree_from_brackets(tree), "head")) == expected


@given(trees(), directions)
def test_unbinarize_is_the_inverse(tree: Tree, direction: Direction) -> None:
    binary = binarize(tree, direction)
    assert unbinarize(binary) == tree
    assert binary.arity.max() <= 2


@given(trees(labels=("S", "NP", "", "x y")))
def test_expand_is_the_inverse_of_collapse(tree: Tree) -> None:
    collapsed = collapse_unary(tree)
    assert (collapsed.arity != 1).all()
    assert expand_unary(collapsed) == tree


@given(trees(max_words=25), directions)
def test_what_a_model_reads(tree: Tree, direction: Direction) -> None:
    found = to_binary(tree, direction)
    assert found.tree.is_binary
    assert found.tree.words == tree.words
    assert found.tree.num_nodes == 2 * tree.num_words - 1
    for node, binary_node in enumerate(found.node_of.tolist()):
        assert found.tree.phrase(binary_node) == tree.phrase(node)
    inserted = np.setdiff1d(np.arange(found.tree.num_nodes), found.node_of)
    assert all(found.tree.labels[node] == NO_LABEL for node in inserted)


@given(trees(binary=True))
def test_a_binary_tree_is_left_alone(tree: Tree) -> None:
    found = to_binary(tree)
    assert found.tree is tree
    assert found.node_of.tolist() == list(range(tree.num_nodes))
    assert binarize(tree) == tree
    assert unbinarize(tree) is tree


@given(trees(max_words=20), directions)
def test_binarization_changes_no_head(tree: Tree, direction: Direction) -> None:
    binary = binarize(tree, direction)
    kept = [node for node, label in enumerate(binary.labels) if not label.startswith("@")]
    assert head_words(binary)[kept].tolist() == head_words(tree).tolist()


@given(trees(max_words=20))
def test_collapsing_changes_no_head(tree: Tree) -> None:
    collapsed = collapse_unary(tree)
    assert head_words(collapsed)[0] == head_words(tree)[0]


def test_labels_that_would_be_taken_for_marks() -> None:
    with pytest.raises(TreeError, match="'@NP' already marks"):
        binarize(tree_from_brackets("(S (@NP (N a) (N b)) (N c))"))
    with pytest.raises(TreeError, match=r"'S\+VP' contains '\+'"):
        collapse_unary(tree_from_brackets("(S+VP a)"))
    # On a word or the root the mark means nothing.
    tree = tree_from_brackets("(@S (@ @user) (N a) (N b))")
    assert unbinarize(binarize(tree)) == tree
    assert unbinarize(tree) is tree


def test_a_chain_that_was_split_gets_its_nodes_back() -> None:
    tree = tree_from_brackets("(ROOT (NP it) (@S (VP (@VP (VBZ is) (RB not)) (ADJP bad)) (. .)))")
    assert tree_to_brackets(unbinarize(tree)) == "(ROOT (S (NP it) (VP (VBZ is) (RB not) (ADJP bad)) (. .)))"
    assert to_binary(unbinarize(tree), "head").tree.arity.tolist() == tree.arity.tolist()


def test_the_label_of_a_chain() -> None:
    tree = tree_from_brackets("(_ (_ (NP (_ (NN a)))))")
    assert to_binary(tree).tree == Tree.leaf("a", "NP")
    assert collapse_unary(tree).labels == ("++NP++NN",)
    assert expand_unary(collapse_unary(tree)) == tree


def test_a_phrase_of_100_000_parts_and_a_unary_chain_of_100_000() -> None:
    start = time.process_time()
    wide = Tree.flat(["w"] * 100_000, "NP")
    for direction in DIRECTIONS:
        assert unbinarize(binarize(wide, direction)) == wide
        assert to_binary(wide, direction).tree.is_binary
    chain = Tree([1] * 100_000 + [0], ["S"] * 100_001, ["w"])
    assert expand_unary(collapse_unary(chain)) == chain
    assert to_binary(chain).tree == Tree.leaf("w", "S")
    assert head_words(binarize(wide, "left"))[0] == 99_999
    assert head_words(binarize(wide, "right"))[0] == 99_999
    assert time.process_time() - start < 20


@pytest.mark.parametrize("arity", [[3, 0, 0] * 25_000 + [0], [3] * 25_000 + [0] + [0, 0] * 25_000])
def test_trees_of_50_000_words_with_three_parts_a_phrase(arity: list[int]) -> None:
    start = time.process_time()
    tree = Tree(arity, ["NP" if parts else "NN" for parts in arity], ["w"] * arity.count(0))
    for direction in DIRECTIONS:
        found = to_binary(tree, direction)
        assert found.tree.is_binary
        assert (found.tree.starts[found.node_of] == tree.starts).all()
        assert (found.tree.ends[found.node_of] == tree.ends).all()
        assert unbinarize(binarize(tree, direction)) == tree
    assert time.process_time() - start < 20
