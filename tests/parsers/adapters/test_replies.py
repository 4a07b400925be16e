from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import BracketError
from lexitree.parsers.adapters import bracket_files as answers_module
from lexitree.parsers.adapters.bracket_files import Answer, FreeAnswers, make_answers
from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree
from tests.strategies import trees


def free(text: str) -> list[Answer]:
    answers = FreeAnswers()
    found = [one for number, line in enumerate(text.split("\n"), 1) for one in answers.feed(number, line)]
    return [*found, *answers.finish()]


@given(st.lists(trees(), max_size=5), st.data())
def test_trees_are_told_apart_whatever_the_line_breaks(forest: list[Tree], data: st.DataObject) -> None:
    text = " ".join(tree_to_brackets(tree) for tree in forest)
    pieces = [
        data.draw(st.sampled_from([piece, piece, "\n", " \n\n "])) if piece == " " else piece
        for piece in text
    ]
    found = free("".join(pieces))
    assert [answer.read_tree("x") for answer in found] == forest


def test_answers_know_their_first_line() -> None:
    assert free("(A b)\n\n(A\n b) (C d)\n") == [Answer("(A b)", 1), Answer("(A\n b)", 3), Answer("(C d)", 4)]


def test_every_line_answers_where_lines_do() -> None:
    answers = make_answers("line")
    assert [*answers.feed(1, ""), *answers.feed(2, "(A b) (C d)"), *answers.finish()] == [
        Answer("", 1),
        Answer("(A b) (C d)", 2),
    ]


@pytest.mark.parametrize(
    "text", ["", "  ", "()", "(())", "( ( ) )", "(ROOT)", "((TOP))", "SENTENCE_SKIPPED_OR_UNPARSABLE"]
)
def test_ways_to_say_that_there_is_no_tree(text: str) -> None:
    assert not Answer(text, 1).has_tree


@pytest.mark.parametrize("text", [")", "(", "(A b)", "(())(())", "Loading", "(A ())"])
def test_what_is_garbled_is_not_taken_for_a_refusal(text: str) -> None:
    assert Answer(text, 1).has_tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Loading", "<p>:7:1: text outside of brackets"),
        (")", "unmatched closing bracket"),
        ("(A (B c)", "never closed"),
        ("(A b) (C d)", "expected one tree, found 2"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(BracketError, match=message):
        Answer(text, 7).read_tree("<p>")


def test_stray_text_and_open_trees_are_answers() -> None:
    assert [answer.text for answer in free("Loading ...\n(A b) done\n(C (D")] == [
        "Loading ...",
        "(A b)",
        "done",
        "(C (D\n",
    ]


def test_a_tree_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_module, "MAX_ANSWER_CHARACTERS", 100)
    with pytest.raises(BracketError, match="over 100 characters"):
        free("(A\n" * 1000)
