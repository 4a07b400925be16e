"""Reasons: plain English, true to the tree and its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings

import lexitree
from lexitree.labels import LabelSet
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from lexitree.views.evidence import CLEAR_MARGIN, NO_SIDE
from lexitree.views.quotes import Run
from lexitree.views.reason import document_reason, sentence_reason
from tests.views.labelled import STARS, judged, labelled, sentence_text, sure


def written(runs: Sequence[Run]) -> str:
    return "".join(f"*{run['text']}*" if "node" in run else run["text"] for run in runs)


def why(tree: LabelledTree) -> str:
    return written(sentence_reason(sentence_text(tree)))


POOL = "(3 (2 (2 the) (2 pool)) (3 (2 was) (3 lovely)))"
ROOM = "(1 (2 (2 our) (2 room)) (1 smelled))"
STAFF = "(1 (2 nobody) (1 apologised))"


@pytest.mark.parametrize(
    ("brackets", "expected"),
    [
        (
            f"(1 {POOL} (1 (2 but) {ROOM}))",
            "negative: *our room smelled* outweighs *the pool was lovely* after *but*",
        ),
        (
            f"(1 (1 {POOL} (1 (2 but) {ROOM})) (1 (2 and) {STAFF}))",
            "negative: *our room smelled* and *nobody apologised* outweigh *the pool was lovely* after *but*",
        ),
        (
            f"(1 (2 (2 Although) {POOL}) (1 (2 ,) {ROOM}))",
            "negative: *our room smelled* outweighs *the pool was lovely*, introduced by *Although*",
        ),
        (
            f"(3 {POOL} (1 (2 but) {ROOM}))",
            "positive: *the pool was lovely* outweighs *our room smelled*, introduced by *but*",
        ),
        (f"(1 {POOL} (1 (2 ;) {ROOM}))", "negative: *our room smelled* outweighs *the pool was lovely*"),
        (
            "(3 (3 (2 a) (3 (3 lovely) (2 pool))) (3 (2 and) (3 (3 kind) (2 staff))))",
            "positive: because of *a lovely pool* and *kind staff*",
        ),
        (
            "(3 (2 It) (3 (2 is) (3 (2 not) (0 bad))))",
            "positive: *not* turns *bad* (very negative) into *not bad* (positive)",
        ),
        (
            "(3 (3 (3 fun) (2 and)) (3 (2 not) (0 bad)))",
            "positive: because of *fun* and *not bad*; *not* turns *bad* (very negative) into *not bad* (positive)",
        ),
        (
            "(4 (2 who (2 would) (2 have) (2 thought)) (1 bad))".replace("who", "(2 who)"),
            "very positive: *bad* (negative) turns into *who would have thought bad* (very positive)",
        ),
        ("(2 (2 The) (2 (2 train) (2 left)))", "neutral: no phrase is clearly positive or negative"),
        ("(2 (2 were) (3 kind))", "neutral: *kind* is positive, but the sentence as a whole is not"),
        (
            "(2 (3 kind) (2 (2 but) (1 slow)))",
            "neutral: *kind* (positive) and *slow* (negative) balance each other",
        ),
        ("(4 Great)", "very positive: *Great* is the only word"),
        ("(4 (4 Great) (2 !))", "very positive: because of *Great*"),
        (
            "(3 (2 some) (2 thing))",
            "positive: all words together; no phrase alone is clearly positive or negative",
        ),
        ("(3 (2 (2 some) (1 bad)) (2 thing))", "positive: all words together; *bad* alone is negative"),
    ],
)
def test_sentences(brackets: str, expected: str) -> None:
    assert why(sure(brackets, STARS)) == expected
    own = LabelledTree.from_tree(tree_from_brackets(brackets), label_set=STARS)
    assert why(own) == expected, "a tree with labels of its own says the same"


def test_close_calls_are_narrow() -> None:
    tree = tree_from_brackets("(3 (2 not) (0 bad))")
    rows = [[0.2, 0.2, 0.25, 0.3, 0.05], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]
    assert why(labelled(tree, STARS, rows)) == (
        "narrowly positive: *not* turns *bad* (very negative) into *not bad* (positive)"
    )


def test_labels_without_an_order() -> None:
    labels = LabelSet(("DESC", "LOC", "NUM"), {"DESC": "description", "LOC": "location"})
    where = "(LOC (LOC Where) (LOC (LOC is) (LOC (LOC the) (LOC Louvre))))"
    assert why(sure(where, labels)) == "location: because of *Where* and *is the Louvre*"
    what = "(LOC (DESC What) (LOC (LOC (2 the) (LOC capital))))".replace("2", "DESC")
    assert why(sure(what, labels)) == "location: *the capital* outweighs *What* (description)"
    own = LabelledTree.from_tree(tree_from_brackets("(S (NP it) (VP works))"))
    assert why(own) == "S: the label that the tree came with"


def test_numbers_are_a_scale_without_names() -> None:
    labels = LabelSet(tuple("12345"))
    assert why(sure("(3 (3 it) (3 is))", labels)) == (
        "3: no phrase is clearly above or below the middle of the scale"
    )
    assert why(sure("(5 (5 great) (3 it))", labels)) == "5: because of *great*"


def test_what_was_not_labelled_is_not_spoken_of() -> None:
    tree = tree_from_brackets("(3 (3 a) (3 b))")
    assert (
        why(labelled(tree, STARS, [[0, 0, 0, 1, 0]])) == "positive: only the sentence as a whole was labelled"
    )
    assert why(LabelledTree.from_tree(Tree.flat(["a", "b"]))) == "no label"


def test_a_word_with_dependents_is_not_quoted_as_a_contrast() -> None:
    tree = DependencyTree.from_parents(
        ["fun", "but", "very", "long", "it", "is"], [5, 3, 1, 5, 5, -1], ["3", "2", "2", "1", "2", "1"]
    )
    found = sentence_text(LabelledTree.from_tree(tree, label_set=STARS))
    assert written(sentence_reason(found)) == "negative: *very long* outweighs *fun*"


@given(judged())
@settings(max_examples=60)
def test_what_is_said_is_true(tree: LabelledTree) -> None:
    sentence = sentence_text(tree)
    evidence, runs = sentence.evidence, sentence_reason(sentence)
    said = written(runs)
    side = evidence.own_sides[0]
    quoted = [run for run in runs if "node" in run]
    for run in quoted:
        first, last = tree.source.starts[run["node"]], tree.source.ends[run["node"]]
        assert f" {run['text']} " in f" {' '.join(tree.words[first:last])} "
        assert run["label"] == tree.labels[run["node"]]
        assert run["sentence"] == 0
    assert said.startswith("narrowly ") == (evidence.margins[0] < CLEAR_MARGIN)
    assert said.removeprefix("narrowly ").startswith(f"{tree.labels[0]}: ")
    sides = [evidence.own_sides[node] for node in _nodes(quoted)]
    main, turn = _clauses(runs)
    if "outweigh" in written(main):
        place = next(number for number, run in enumerate(main) if "outweigh" in run["text"])
        contrast = [
            number for number, run in enumerate(main) if run["text"].endswith((" after ", ", introduced by "))
        ]
        support, against = _nodes(main[:place]), _nodes(main[place : contrast[0] if contrast else None])
        assert side != NO_SIDE
        assert {evidence.own_sides[node] for node in support} == {side}
        assert against
        assert all(evidence.own_sides[node] not in (side, NO_SIDE) for node in against)
    if "because of" in written(main):
        assert {evidence.own_sides[node] for node in _nodes(main)} == {side} != {NO_SIDE}
    if turn:
        *agent, turned, whole = _nodes(turn)
        assert tree.source.parents[turned] == whole
        assert all(tree.source.parents[node] == whole for node in agent)
        assert NO_SIDE not in (evidence.own_sides[turned], evidence.own_sides[whole])
        assert evidence.own_sides[turned] != evidence.own_sides[whole]
        assert evidence.own_sides[whole] == side
    if "balance each other" in said:
        assert side == NO_SIDE != sides[0] != sides[1] != NO_SIDE
    if "as a whole is not" in said:
        assert side == NO_SIDE != sides[0]
    if "no phrase" in said:
        assert set(evidence.sides[1:]) <= {NO_SIDE}
    if "alone is" in said and quoted:
        assert NO_SIDE != sides[0] != side


def _clauses(runs: list[Run]) -> tuple[list[Run], list[Run]]:
    """What is said of the sides, and what is said of a turn."""
    place = next((number for number, run in enumerate(runs) if "turns" in run["text"]), None)
    if place is None:
        return runs, []
    begin = next(
        (
            number + 1
            for number in range(place, -1, -1)
            if "node" not in runs[number] and runs[number]["text"].endswith((": ", "; "))
        ),
        0,
    )
    return runs[: begin - 1], runs[begin:]


def _nodes(runs: Sequence[Run]) -> list[int]:
    return [run["node"] for run in runs if "node" in run]


def test_a_text_of_several_sentences() -> None:
    good, bad, plain = "(3 (2 is) (3 good))", "(0 (2 is) (0 bad))", "(2 (2 it) (2 is))"
    texts = [sentence_text(sure(each, STARS), number) for number, each in enumerate([good, good, bad, plain])]
    shares = dict.fromkeys(STARS.names, 0.0) | {"positive": 0.5, "neutral": 0.25, "very negative": 0.25}
    runs = document_reason("positive", shares, texts)
    assert written(runs) == (
        "positive: 2 of 4 sentences are positive, 1 negative; strongest: *good*; against it: *bad*"
    )
    assert [run["sentence"] for run in runs if "node" in run] == [0, 2]
    close = shares | {"positive": 0.3, "neutral": 0.29}
    assert written(document_reason("positive", close, texts)).startswith("narrowly positive: 2 of 4")
    assert written(document_reason("neutral", shares | {"neutral": 0.9}, texts)) == (
        "neutral: 1 of 4 sentences is neutral, 2 positive, 1 negative"
    )
    assert written(document_reason(None, {}, texts)) == "4 sentences: 1 very negative, 1 neutral, 2 positive"
    assert written(document_reason(None, {}, [])) == "no words, so there is no label"


def test_a_text_of_several_questions() -> None:
    texts = [
        sentence_text(sure(each, ("LOC", "NUM"))) for each in ("(LOC Where)", "(NUM When)", "(LOC Wherever)")
    ]
    assert written(document_reason("LOC", {"LOC": 0.7, "NUM": 0.3}, texts)) == (
        "LOC: 2 of 3 sentences are LOC; strongest: *Where*; against it: *When*"
    )


@pytest.fixture(scope="module")
def sentiment() -> TextPipeline:
    return lexitree.load("sentiment")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The room was not clean.", "negative: *not* outweighs *clean*"),
        (
            "Friendly staff, but the room was dirty and noisy.",
            "negative: *the room was dirty and noisy* outweighs *Friendly staff* after *but*",
        ),
        (
            "Although the acting is superb, the plot is dull and predictable.",
            "negative: *the plot is dull and predictable* outweighs *the acting is superb*, introduced by *Although*",
        ),
        ("The train leaves at nine.", "neutral: no phrase is clearly positive or negative"),
        ("Great!", "very positive: because of *Great*"),
    ],
)
def test_the_shipped_model(sentiment: TextPipeline, text: str, expected: str) -> None:
    assert written(sentiment(text).explanation()["reason"]) == expected
