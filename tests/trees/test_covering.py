from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.trees.binarize import to_binary
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.covering import CoverRule, covering_node, find_cover
from lexitree.trees.tree import Tree
from tests.strategies import trees

PARSE = tree_from_brackets(
    "(S (S (NP (JJ Great) (NN food)) (VP (VBD came))) (CC but) (S (NP (DT the) (NN service)) (VP (VBD was) (ADJP (JJ slow)))))"
)
TAGS = [PARSE.labels[leaf] for leaf in PARSE.leaves.tolist()]


@pytest.mark.parametrize(
    ("start", "end", "rule", "phrase"),
    [
        (1, 2, "phrase", "food"),
        (1, 2, "statement", "Great food"),
        (5, 6, "phrase", "service"),
        (5, 6, "statement", "the service was slow"),
        (4, 6, "phrase", "the service"),
        (7, 8, "phrase", "slow"),
        (1, 8, "phrase", "Great food came but the service was slow"),
        (1, 2, "sentence", "Great food came but the service was slow"),
        (1, 2, "none", None),
    ],
)
def test_a_rule_finds_its_phrase(start: int, end: int, rule: CoverRule, phrase: str | None) -> None:
    tree = to_binary(PARSE, "head").tree
    node = find_cover(tree, start, end, rule, TAGS)
    assert (None if node is None else " ".join(tree.phrase(node))) == phrase


@given(tree=trees(), data=st.data())
def test_the_covering_phrase_is_the_smallest(tree: Tree, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, tree.num_words - 1))
    end = data.draw(st.integers(start + 1, tree.num_words))
    node = covering_node(tree, start, end)
    covers = [
        (last - first, number)
        for number, (first, last) in enumerate(tree.spans)
        if first <= start and end <= last
    ]
    assert (int(tree.ends[node] - tree.starts[node]), node) == min(covers)
