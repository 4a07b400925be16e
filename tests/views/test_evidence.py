"""Evidence: the side of each phrase, its weight, where labels turn, and which phrases are highlighted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from lexitree.labels import LabelSet
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.views.evidence import (
    LEAST_SHARE,
    MOST_HIGHLIGHTS,
    NEGATIVE,
    NO_SIDE,
    POSITIVE,
    Evidence,
    find_evidence,
    is_linking,
    label_sides,
)
from lexitree.views.shown_tree import span_of
from tests.tiny import chain
from tests.views.labelled import STARS, judged, labelled, sure


def phrases(evidence: Evidence, nodes: Sequence[int]) -> list[str]:
    spans = [span_of(evidence.tree, node) for node in nodes]
    return [" ".join(evidence.tree.words[first:last]) for first, last in spans]


def test_labels_on_either_side_of_the_middle() -> None:
    assert label_sides(STARS) == [NEGATIVE, NEGATIVE, NO_SIDE, POSITIVE, POSITIVE]
    assert label_sides(LabelSet(("0", "1"))) == [NEGATIVE, POSITIVE]
    assert label_sides(LabelSet(("LOC", "NUM", "HUM"))) == [1, 2, 3], "each is a side of its own"


def test_only_clear_labels_count() -> None:
    tree = tree_from_brackets("(3 (2 a) (3 b))")
    rows = [[0.0, 0.0, 0.46, 0.5, 0.04], [0, 0, 1, 0, 0], [0.0, 0.0, 0.4, 0.5, 0.1]]
    evidence = find_evidence(labelled(tree, STARS, rows))
    assert evidence.margins == pytest.approx([0.04, 1, 0.1], abs=1e-6)
    assert evidence.sides[0] == POSITIVE, "the sentence has the side of its label, however close"
    assert find_evidence(labelled(tree, STARS, rows[::-1])).sides[2] == NO_SIDE


def test_labels_of_one_side_do_not_compete() -> None:
    """Between negative and very negative, a phrase is clearly on one side."""
    evidence = find_evidence(labelled(tree_from_brackets("(0 x)"), STARS, [[0.45, 0.5, 0.05, 0, 0]]))
    assert evidence.margins == pytest.approx([0.45])


def test_a_piece_is_as_wide_as_nothing_else_comes_in() -> None:
    evidence = find_evidence(
        sure("(1 (3 (2 (2 the) (2 pool)) (3 (2 was) (3 lovely))) (1 (2 but) (1 (2 it) (1 stank))))", STARS)
    )
    assert phrases(evidence, sorted(evidence.pieces)) == ["the pool was lovely", "it stank"]
    assert phrases(evidence, sorted(evidence.pieces.values())) == ["lovely", "stank"]
    assert sorted(evidence.highlights) == sorted(evidence.pieces)


def test_short_phrases_of_one_side_are_joined() -> None:
    tired = "(1 (2 left) (1 (2 feeling) (1 (1 cheated) (1 (2 and) (1 bored)))))"
    evidence = find_evidence(sure(f"(1 (2 (2 most) (2 guests)) {tired})", STARS))
    assert phrases(evidence, evidence.highlights) == ["left feeling cheated and bored"]
    apart = find_evidence(sure("(1 (1 cheated) (1 (2 and) (1 bored)))", STARS))
    assert phrases(apart, sorted(apart.highlights)) == ["cheated", "bored"], "not most of the sentence"


def test_a_turn_holds_what_it_turned() -> None:
    evidence = find_evidence(sure("(3 (2 It) (3 (2 is) (3 (2 not) (0 bad))))", STARS))
    assert phrases(evidence, evidence.highlights) == ["is not bad", "bad"]
    assert [node for node, turn in enumerate(evidence.turns) if turn] == [4]
    assert evidence.is_reversal(4)


def test_the_whole_sentence_can_be_a_turn() -> None:
    evidence = find_evidence(sure("(3 (2 not) (0 bad))", STARS))
    assert phrases(evidence, evidence.highlights) == ["not bad", "bad"]


def test_a_label_that_fades_turns_but_reverses_nothing() -> None:
    evidence = find_evidence(sure("(2 (2 were) (3 kind))", STARS))
    assert evidence.turns == [True, False, False]
    assert not evidence.is_reversal(0)
    assert phrases(evidence, evidence.highlights) == ["kind"]


def test_words_that_only_link_are_no_evidence() -> None:
    assert all(map(is_linking, ["and", "But", ",", "...", "!!", "”"]))
    assert not any(map(is_linking, ["not", ":)", "?!", "😀", "x", ""]))
    evidence = find_evidence(sure("(3 (3 (1 ,) (3 fun)) (1 but))", STARS))
    assert phrases(evidence, list(evidence.pieces)) == ["fun"]


def test_weights_follow_strength_and_reach() -> None:
    evidence = find_evidence(sure("(4 (4 (4 superb) (2 film)) (2 (3 kind) (2 staff)))", STARS))
    whole, superb, kind = evidence.weights[0], evidence.weights[2], evidence.weights[5]
    assert whole == superb == 1, "very positive, and so is all above it"
    assert kind == pytest.approx(0.5 * 0.430677, abs=1e-5), (
        "half as far from neutral, and holds for one word of four"
    )
    assert evidence.weights[4] == 0


def test_labels_without_an_order() -> None:
    evidence = find_evidence(
        sure("(LOC (LOC Where) (LOC (DESC is) (LOC (LOC the) (LOC Louvre))))", ("DESC", "LOC"))
    )
    assert phrases(evidence, sorted(evidence.highlights)) == ["Where", "is", "the Louvre"]


def test_a_parse_has_labels_but_no_evidence() -> None:
    evidence = find_evidence(LabelledTree.from_tree(tree_from_brackets("(S (NP it) (VP (V is) (JJ good)))")))
    assert not evidence.highlights
    assert not any(evidence.turns)
    assert not any(evidence.weights)


def test_long_sentences_have_few_highlights_and_take_linear_time() -> None:
    for side in ("left", "right"):
        tree = chain(20_000, side)
        labels = ["34210"[place % 5] for place in range(tree.num_nodes)]
        evidence = find_evidence(LabelledTree.from_tree(tree.with_labels(labels), label_set=STARS))
        assert len(evidence.highlights) <= 2 * MOST_HIGHLIGHTS + 1


def test_phrases_that_cross_are_not_both_highlighted() -> None:
    """The words below a word of a dependency tree need not stand side by side."""
    tree = DependencyTree.from_parents(list("vwxyz"), [4, 4, 0, 1, -1], ["4", "0", "2", "2", "2"])
    evidence = find_evidence(LabelledTree.from_tree(tree, label_set=STARS))
    assert [span_of(evidence.tree, node) for node in evidence.pieces] == [(0, 3), (1, 4)]
    assert [span_of(evidence.tree, node) for node in evidence.highlights] == [(0, 3)]


@given(judged())
@settings(max_examples=50)
def test_highlights_are_nested_or_apart(tree: LabelledTree) -> None:
    evidence = find_evidence(tree)
    spans = [span_of(tree, node) for node in evidence.highlights]
    assert len(set(evidence.highlights)) == len(spans) <= 2 * MOST_HIGHLIGHTS + 1
    for first, last in spans:
        for start, end in spans:
            assert not first < start < last < end
    assert all(0 <= weight <= 1 + 1e-6 for weight in evidence.weights)
    assert all(evidence.sides[node] != NO_SIDE for node in evidence.highlights)
    for inner in evidence.highlights:
        around = [node for node in evidence.highlights if node and evidence.contains(node, inner)]
        assert all(evidence.sides[node] != evidence.sides[inner] for node in around)
    outer = set(evidence.highlights) & set(evidence.outer_pieces)
    heaviest = max((evidence.weights[piece] for piece in evidence.outer_pieces), default=0)
    assert sum(evidence.weights[piece] < LEAST_SHARE * heaviest for piece in outer) <= 1


@given(judged())
@settings(max_examples=50)
def test_a_side_comes_from_where_no_part_has_it(tree: LabelledTree) -> None:
    evidence = find_evidence(tree)
    for piece, source in evidence.pieces.items():
        side = evidence.sides[source]
        assert evidence.sides[piece] == side != NO_SIDE
        assert piece == source or evidence.contains(piece, source)
        assert all(evidence.sides[part] != side for part in tree.source.children[source])
    for node, turns in enumerate(evidence.turns):
        parts = {evidence.sides[part] for part in tree.source.children[node]} - {NO_SIDE}
        assert turns == (bool(parts) and evidence.own_sides[node] not in parts)
