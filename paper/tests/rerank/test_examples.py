"""Lists as a reranker reads them: binary trees with phrase labels, and what they share with the gold tree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sharing import share_subtrees
from tests.strategies import trees

from lexitree.errors import JsonLinesError
from lexitree.parsers.penn_spans import without_root
from lexitree.trees.binarize import Direction, binarize, collapse_unary, expand_unary, unbinarize
from lexitree.trees.brackets import strip_function_tags, tree_from_brackets, tree_to_brackets
from lexitree.trees.tree import Tree
from lexitree_paper.rerank.examples import binarize_list, frequent_labels, make_list_example, pack_trees
from lexitree_paper.rerank.lists import CandidateList, ScoredTree
from lexitree_paper.rerank.recipe import OTHER_LABEL
from tiny_lists import make_lists, prepared, tiny_model


@st.composite
def same_word_lists(draw: st.DrawFn) -> list[Tree]:
    """Trees of every shape over the same words, with chains, wide phrases, ROOT and function tags."""
    labels = ("S", "NP-SBJ", "VP", "NN", ",", "ROOT", "CC", "-LRB-", "")
    found = draw(st.lists(trees(max_words=9, labels=labels), min_size=1, max_size=5))
    same = [tree for tree in found if tree.num_words == found[0].num_words]
    return [Tree(tree.arity, tree.labels, found[0].words) for tree in same]


FLAT = "(ROOT (S (NP-SBJ (DT the) (JJ old) (NN film)) (VP (VBZ works)) (. .)))"
DEEP = "(ROOT (S (NP (DT the) (NX (JJ old) (NN film))) (VP (VBZ works)) (. .)))"


def two_trees(gold: str | None = None) -> CandidateList:
    candidates = tuple(ScoredTree(tree_from_brackets(text), 0.0) for text in (FLAT, DEEP))
    return CandidateList(candidates, None if gold is None else tree_from_brackets(gold))


def test_labels_are_those_of_phrases() -> None:
    binary = binarize_list(two_trees(), "right")
    flat, deep = binary.trees
    assert flat.labels == ("S", "NP", "", "@NP", "", "", "@S", "VP", "")
    assert deep.labels == ("S", "NP", "", "NX", "", "", "@S", "VP", "")
    assert [*flat.labels, *deep.labels] == binary.packed.labels
    # The words, (the film), (old film), its phrase with `the`, (works .) and the sentence: all shared but for labels.
    assert binary.forest.num_nodes == flat.num_nodes


def test_binarized_labels_can_be_taken_back() -> None:
    binary = binarize_list(two_trees(), "head")
    restored = expand_unary(unbinarize(binary.trees[0]))
    assert tree_to_brackets(restored) == "(S (NP (_ the) (_ old) (_ film)) (VP works) (_ .))"
    # What is given back is what came.
    assert binary.source.candidates[0].tree == tree_from_brackets(FLAT)


def test_wrong_constituents_are_those_too_many_and_those_missing() -> None:
    counts = binarize_list(two_trees(gold=DEEP), "head").counts
    assert counts is not None
    assert counts.wrong.tolist() == [1, 0]
    counts = binarize_list(two_trees(gold=FLAT), "head").counts
    assert counts is not None
    assert counts.wrong.tolist() == [0, 1]
    assert (counts.gold, counts.matched.tolist(), counts.guessed.tolist()) == (3, [3, 3], [3, 4])


def test_rare_labels_are_one() -> None:
    lists = prepared(make_lists(20))
    labels = frequent_labels(lists, 10)
    assert labels[0] == OTHER_LABEL
    assert "NP" in labels
    assert len(labels) < len(frequent_labels(lists, 1))
    model = tiny_model("contree", lists)
    example = make_list_example(lists[0], model.lexicon, labels)
    assert len(example.label_index) == sum(tree.num_nodes for tree in lists[0].trees)
    assert set(example.label_index.tolist()) <= set(range(len(labels)))
    none_known = make_list_example(lists[0], model.lexicon, (OTHER_LABEL,))
    assert set(none_known.label_index.tolist()) == {0}


@pytest.mark.parametrize("tree", ["(S (@NP (NN a) (NN b)) (NN c))", "(S+VP (NN a) (NN b) (NN c))"])
def test_trees_that_are_binarized_already_are_refused(tree: str) -> None:
    candidates = CandidateList((ScoredTree(tree_from_brackets(tree), 0.0),))
    with pytest.raises(JsonLinesError, match="candidate 1"):
        binarize_list(candidates, "head")


@pytest.mark.parametrize("direction", ["left", "right", "head"])
@given(candidates=same_word_lists())
@settings(max_examples=60)
def test_packing_in_one_pass_is_binarizing_and_sharing(direction: Direction, candidates: list[Tree]) -> None:
    packed = pack_trees(candidates, direction)
    cleaned = [without_root(strip_function_tags(tree)) for tree in candidates]
    binary = [binarize(collapse_unary(tree), direction) for tree in cleaned]
    expected = share_subtrees(binary)
    for name in ("children", "heights", "spans", "nodes"):
        assert getattr(packed.forest, name).tolist() == getattr(expected, name).tolist()
    assert packed.labels == [
        label if num_children else label.rpartition("+")[0]
        for tree in binary
        for num_children, label in zip(tree.arity.tolist(), tree.labels, strict=True)
    ]
    single = packed.single_trees(candidates[0].words)
    assert [tree.arity.tolist() for tree in single] == [tree.arity.tolist() for tree in binary]
