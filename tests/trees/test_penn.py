from __future__ import annotations

import pytest
from hypothesis import given

from lexitree.trees.brackets import strip_function_tags, strip_traces, tree_from_brackets, tree_to_brackets
from lexitree.trees.tree import Tree
from tests.strategies import trees


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (-NONE- *T*-1)) (. .)))", "(S (VP (VB go) (. .)))"),
        ("(S (-NONE- *) (NN a))", "(S (NN a))"),
        ("(S (NN a) (X (Y (-NONE- 0)) (Z (-NONE- 0))))", "(S (NN a))"),
        ("(S (NP (-NONE- *)))", None),
        ("(-NONE- *)", None),
    ],
)
def test_traces(text: str, expected: str | None) -> None:
    found = strip_traces(tree_from_brackets(text))
    assert (None if found is None else tree_to_brackets(found)) == expected


def naive_strip(tree: Tree, node: int = 0) -> str:
    children = tree.children[node]
    label = tree.labels[node] or "_"
    if not children:
        return "" if label == "-NONE-" else f"({label} {tree.phrase(node)[0]})"
    inside = [text for text in (naive_strip(tree, child) for child in children) if text]
    return f"({label} {' '.join(inside)})" if inside else ""


@given(trees(max_words=20, labels=("S", "-NONE-", "NP", "")))
def test_traces_as_the_naive_recursion_takes_them_out(tree: Tree) -> None:
    found = strip_traces(tree)
    assert ("" if found is None else tree_to_brackets(found)) == naive_strip(tree)
    if found is not None:
        assert strip_traces(found) is found


def test_a_tree_without_traces_is_the_same_object() -> None:
    tree = tree_from_brackets("(S (NN a) (-LRB- b))")
    assert strip_traces(tree) is tree
    assert strip_function_tags(tree) is tree


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        *[
            ("NP-SBJ-1", "NP"),
            ("NP=2", "NP"),
            ("NP-SBJ=1-3", "NP"),
            ("ADVP|PRT", "ADVP|PRT"),
            ("PRP$", "PRP$"),
        ],
        *[("-LRB-", "-LRB-"), ("-RRB-", "-RRB-"), ("-NONE-", "-NONE-"), ("--", "--"), ("=", "="), (":", ":")],
        *[("@NP-SBJ", "@NP"), ("S-NOM+VP-X", "S+VP"), ("-LRB-+NP-SBJ", "-LRB-+NP"), ("", ""), ("@", "@")],
        *[("@-LRB-", "@-LRB-"), ("ADVP-TMP|PRT", "ADVP")],
    ],
)
def test_function_tags(label: str, expected: str) -> None:
    assert strip_function_tags(Tree.leaf("w", label)).label == expected


@given(trees(labels=("NP-SBJ", "S", "-NONE-")))
def test_only_labels_change(tree: Tree) -> None:
    found = strip_function_tags(tree)
    assert found.words == tree.words
    assert found.arity.tolist() == tree.arity.tolist()
    assert set(found.labels) <= {"NP", "S", "-NONE-"}
