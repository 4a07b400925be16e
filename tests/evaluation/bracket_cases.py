"""Trees to be scored, and short ways to score them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from lexitree.evaluation.bracket_score import BracketScores, score_brackets
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.strategies import trees

FILM = "(TOP (S (NP (DT the) (NN film)) (VP (VBZ works))))"


def score(gold: str, guess: str, **options: object) -> BracketScores:
    return score_brackets([tree_from_brackets(gold)], [tree_from_brackets(guess)], **options)


def brackets(gold: str, guess: str, **options: object) -> tuple[int, int, int]:
    overall = score(gold, guess, **options).overall
    return overall.matched, overall.gold, overall.guessed


LABELS = ("S", "NP", "VP", "ADVP", "PRT", "NP-SBJ", "TOP", "", "S+NP", "NN", "-LRB-", "VB")
PUNCTUATED = (*LABELS, ",", ".", "-NONE-")


@st.composite
def trees_over(draw: st.DrawFn, words: tuple[str, ...]) -> Tree:
    arity: list[int] = []
    waiting = [len(words)]
    while waiting:
        size = waiting.pop()
        if draw(st.integers(0, 4)) == 4:
            arity.append(1)
            waiting.append(size)
        elif size == 1:
            arity.append(0)
        else:
            cuts = sorted(draw(st.sets(st.integers(1, size - 1), min_size=1, max_size=3)))
            parts = np.diff([0, *cuts, size]).tolist()
            arity.append(len(parts))
            waiting.extend(reversed(parts))
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=len(arity), max_size=len(arity)))
    return Tree(arity, labels, words)


@st.composite
def tree_pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Two trees over the same words, none of which is punctuation."""
    gold = draw(trees(8, labels=LABELS))
    return gold, draw(trees_over(gold.words))


def right_chain(depth: int, label: str) -> Tree:
    return Tree([2, 0] * depth + [0], [label, "NN"] * depth + ["NN"], ["w"] * (depth + 1))


def flat(num_words: int, num_marks: int = 0) -> Tree:
    words = ["(NN w)"] * num_words + ["(. .)"] * num_marks
    return tree_from_brackets(f"(S {' '.join(words)})")
