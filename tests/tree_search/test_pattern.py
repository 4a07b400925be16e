"""Patterns are read as the guide says, and errors point at their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import PatternError, TreeError
from lexitree.tree_search.expressions import Glob
from lexitree.tree_search.node_facts import NodeFacts
from lexitree.tree_search.pattern import MAX_NESTING, MAX_PATTERN_CHARACTERS, parse_pattern
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree

TREE = tree_from_brackets(
    "(S (NP-SBJ (DT The) (JJ old) (NN man)) (VP (VBD saw) (NP (PRP$ his) (NN dog))) (. .))"
)


def found(pattern: str) -> list[str]:
    return [" ".join(TREE.phrase(node)) for node in parse_pattern(pattern).find(NodeFacts(TREE))]


@pytest.mark.parametrize(
    ("pattern", "phrases"),
    [
        ("NP", ["The old man", "his dog"]),
        ("NP-SBJ", ["The old man"]),
        ("V*", ["saw his dog", "saw"]),
        ('"V*"', []),
        ('"."', ["."]),
        ("PRP$ . NN", ["his"]),
        ("NP $ VP", ["The old man"]),
        ("NP$VP", ["The old man"]),
        ("NP < DT < NN", ["The old man"]),
        ("NP < (NN & word=DOG)", ["his dog"]),
        ("NP !< DT", ["his dog"]),
        ("! NP & phrase & !root", ["saw his dog"]),
        ("(< DT | < VBD)", ["The old man", "saw his dog"]),
        ("NN | JJ", ["old", "man", "dog"]),
        # & binds tighter than |.
        ("NN | JJ & word=man", ["man", "dog"]),
        ("NP & head=m*n", ["The old man"]),
        ("phrase & head=saw & !root", ["saw his dog"]),
        ('text~"D MAN" & words<4', ["The old man"]),
        ('text = "his dog"', ["his dog"]),
        ("label=NP & category=NP", ["The old man", "his dog"]),
        ("depth=1 & children > 1", ["The old man", "saw his dog"]),
        ("leaf , JJ", ["man"]),
        ("leaf ,, NP-SBJ & NN", ["dog"]),
    ],
)
def test_patterns(pattern: str, phrases: list[str]) -> None:
    assert found(pattern) == phrases


@pytest.mark.parametrize(
    ("pattern", "column", "problem"),
    [
        ("", 1, "the pattern ends"),
        ("NP <", 5, "the pattern ends"),
        ("NP < (VP & ", 12, "the pattern ends"),
        ("(NP", 1, "never closed"),
        ("NP)", 3, "unmatched closing bracket"),
        ("very negative", 6, "expected &, |, a relation or the end"),
        ("(very negative)", 7, "expected &, |, a relation or )"),
        ("[NP]", 1, "expected a label, a test or a bracket"),
        ('"NP', 1, "this quote is never closed"),
        ("words < NP", 9, "expected a number"),
        ("word~good", 5, "only text can be compared"),
        ("p(negative) & NP", 13, "expected one of"),
        ('text~""', 8, "the text is empty"),
        ("!" * 60 + "NP", MAX_NESTING + 1, "nested more than"),
        ("x" * (MAX_PATTERN_CHARACTERS + 1), 1, "more than 10,000 characters"),
    ],
)
def test_errors_point_at_the_place(pattern: str, column: int, problem: str) -> None:
    with pytest.raises(PatternError, match="pattern:") as caught:
        parse_pattern(pattern)
    assert problem in caught.value.problem
    assert caught.value.place.column == column
    if pattern:
        assert caught.value.message.splitlines()[-1].endswith("^")


@pytest.mark.parametrize("pattern", ["p>0.5", "p(negative)>0.5"])
def test_trees_without_a_model_have_no_probabilities(pattern: str) -> None:
    with pytest.raises(PatternError, match="no probabilities"):
        parse_pattern(pattern).find(NodeFacts(TREE))


def test_a_dependency_tree_has_no_phrases_to_search() -> None:
    tree = DependencyTree.from_parents(["a", "b"], [-1, 0])
    with pytest.raises(TreeError, match="cannot be searched"):
        parse_pattern("*").find(NodeFacts(tree))


@given(st.text("ab", max_size=8), st.lists(st.text("ab", max_size=2), min_size=1, max_size=4))
def test_globs(text: str, pieces: list[str]) -> None:
    def matches(text: str, pieces: list[str]) -> bool:
        """Try every length of what an asterisk stands for."""
        first, *others = pieces
        if not text.startswith(first):
            return False
        rest = text[len(first) :]
        return (
            any(matches(rest[skipped:], others) for skipped in range(len(rest) + 1)) if others else not rest
        )

    assert Glob(tuple(pieces)).matches(text) == matches(text, pieces)


def test_places_stay_when_letters_change_their_length_in_lower_case() -> None:
    tree = tree_from_brackets("(S (A İİ) (B Bad) (C film))")
    assert parse_pattern('text="bad"').find(NodeFacts(tree)) == [2]
