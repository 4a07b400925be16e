"""What a question asks for, by its wording and its parse."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.strategies import trees

from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree_paper.question_heads import WH_WORDS, question_focus, question_pattern

QUESTIONS = [
    (
        "(LOC (SBARQ (WHNP (WDT What) (NN county)) (SQ (VBZ is) (NP (NNP Modesto)) (PP (IN in))) (. ?)))",
        ("what", "county"),
    ),
    (
        "(LOC (SBARQ (WHNP (WP What)) (SQ (VBZ is) (NP (NP (DT the) (NN capital)) (PP (IN of) (NP (NNP Peru))))) (. ?)))",
        ("what", "capital"),
    ),
    (
        "(ENTY (SBARQ (WHNP (WHNP (WDT What) (NN kind)) (PP (IN of) (NP (JJ small) (NNS dogs)))) (SQ (VBP bark)) (. ?)))",
        ("what", "dogs"),
    ),
    (
        "(HUM (SBARQ (WHNP (WP What)) (SQ (VBD was) (NP (NP (DT the) (NN name)) (PP (IN of) (NP (NP (DT the) (NN ship) (POS 's)) (NN captain))))) (. ?)))",
        ("what", "captain"),
    ),
    ("(HUM (SBARQ (WHNP (WP Who)) (SQ (VBD was) (NP (NNP Galileo))) (. ?)))", ("who", "who")),
    (
        "(NUM (SBARQ (WHADVP (WRB How) (RB far)) (SQ (VBZ is) (NP (PRP it)) (PP (IN to) (NP (NNP Aspen)))) (. ?)))",
        ("how", "far"),
    ),
    (
        "(DESC (SBARQ (WHNP (WP What)) (SQ (VBD did) (NP (NNP Galileo)) (VP (VB say))) (. ?)))",
        ("what", ""),
    ),
    ("(ENTY (S (VP (VB Name) (NP (DT a) (NN film))) (. .)))", ("", "film")),
    ("(DESC What is a film ?)", ("what", "")),
    ("(NUM How)", ("how", "")),
    ("(ENTY What)", ("what", "")),
]


@pytest.mark.parametrize(("brackets", "expected"), QUESTIONS)
def test_the_head_of_a_question(brackets: str, expected: tuple[str, str]) -> None:
    focus = question_focus(tree_from_brackets(brackets))
    assert (focus.wh_word, focus.head) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("what does nasa stand for ?", "stands for"),
        ("what does target mean ?", "means"),
        ("what does a plumber do ?", "does"),
        ("what is borax used for ?", "used for"),
        ("what causes thunder ?", "causes"),
        ("what do you call a young goat ?", "called"),
        ("what is an atom ?", "is a thing"),
        ("who was galileo ?", "is a person"),
        ("what county is modesto in ?", ""),
        ("who wrote it ?", ""),
    ],
)
def test_the_pattern_of_a_question(text: str, name: str) -> None:
    assert question_pattern(text) == name


@given(trees())
def test_any_tree_has_a_focus(tree: Tree) -> None:
    focus = question_focus(tree)
    assert focus.wh_word in {"", *WH_WORDS}
    assert focus.head in {"", *(word.lower() for word in tree.words)}
