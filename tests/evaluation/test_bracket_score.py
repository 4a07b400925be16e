"""Bracket scores: evalb's rules one by one by hand, evalb's own sample, and what holds of any trees."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError, TreeError
from lexitree.evaluation.bracket_counts import Bracket, BracketRules, count_crossing, count_sentence
from lexitree.evaluation.bracket_oracle import oracle_score
from lexitree.evaluation.bracket_score import BracketScores, bracket_bootstrap, score_brackets
from lexitree.trees.binarize import binarize, collapse_unary, to_binary
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from tests.strategies import trees

FILM = "(TOP (S (NP (DT the) (NN film)) (VP (VBZ works))))"


def score(gold: str, guess: str, **options: object) -> BracketScores:
    return score_brackets([tree_from_brackets(gold)], [tree_from_brackets(guess)], **options)


def brackets(gold: str, guess: str, **options: object) -> tuple[int, int, int]:
    overall = score(gold, guess, **options).overall
    return overall.matched, overall.gold, overall.guessed


# --- The rules, one by one ---


def test_labels_and_spans_must_match() -> None:
    assert brackets(FILM, FILM) == (3, 3, 3)
    assert brackets(FILM, "(TOP (S (NP (DT the) (NN film)) (NP (VBZ works))))") == (2, 3, 3)
    assert brackets(FILM, "(TOP (S (DT the) (VP (NN film) (VBZ works))))") == (1, 3, 2)


def test_precision_recall_and_f1() -> None:
    overall = score(FILM, "(TOP (S (DT the) (VP (NN film) (VBZ works))))").overall
    assert (overall.precision, overall.recall, overall.f1) == (1 / 2, 1 / 3, 2 / 5)
    assert overall.complete_match == 0.0


def test_brackets_are_summed_before_they_are_divided() -> None:
    gold = [tree_from_brackets(FILM), tree_from_brackets("(NP (DT a) (NN hit))")]
    guess = [tree_from_brackets(FILM), tree_from_brackets("(VP (DT a) (NN hit))")]
    scores = score_brackets(gold, guess)
    assert (scores.precision, scores.recall, scores.f1) == (3 / 4, 3 / 4, 3 / 4)
    assert scores.overall.complete_match == 1 / 2
    assert scores.sentences.matched.tolist() == [3, 0]
    assert scores.sentences.gold.tolist() == scores.sentences.guessed.tolist() == [3, 1]


@pytest.mark.parametrize("root", ["TOP", "ROOT", "S1", "", "TOP-2"])
def test_the_top_is_no_bracket(root: str) -> None:
    assert brackets(FILM, FILM.replace("TOP", root)) == (3, 3, 3)
    assert brackets(FILM, FILM.removeprefix("(TOP ").removesuffix(")")) == (3, 3, 3)


def test_phrases_close_over_punctuation() -> None:
    gold = "(S (NP (NP (NN film)) (, ,) (NP (NN art)) (, ,)) (VP (VBZ works)) (. .))"
    # The commas hang elsewhere, and a phrase that holds one of them only vanishes.
    guess = "(S (NP (NP (NN film) (, ,)) (NP (NN art))) (X (, ,)) (VP (VBZ works) (. .)))"
    assert brackets(gold, guess) == (5, 5, 5)
    assert score(gold, guess).overall.num_words == 3


@pytest.mark.parametrize("tag", [",", ":", "``", "''", "."])
def test_what_is_punctuation(tag: str) -> None:
    assert brackets(f"(S (NP (NN a) ({tag} x)) (NN b))", f"(S (NP (NN a)) ({tag} x) (NN b))") == (2, 2, 2)


@pytest.mark.parametrize("tag", ["-LRB-", "#", "$", "SYM", "HYPH"])
def test_what_is_no_punctuation(tag: str) -> None:
    assert brackets(f"(S (NP (NN a) ({tag} x)) (NN b))", f"(S (NP (NN a)) ({tag} x) (NN b))") == (1, 2, 2)


def test_traces_are_no_words() -> None:
    gold = "(S (NP-SBJ (-NONE- *)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*)))))"
    scores = score(gold, "(S (VP (VBD said)))")
    assert brackets(gold, "(S (VP (VBD said)))") == (2, 2, 2)
    assert scores.sentences.length.tolist() == [1]
    assert brackets(gold, "(S (VP (VBD said)))", tags="own") == (2, 2, 2)


def test_function_tags_are_no_part_of_a_label() -> None:
    gold = FILM.replace("(NP", "(NP-SBJ-1").replace("(VP", "(VP=2")
    assert brackets(gold, FILM) == (3, 3, 3)
    # What starts with a dash has no category left, and nothing is no bracket.
    assert brackets("(S (-X- (NN a) (NN b)))", "(S (NN a) (NN b))") == (1, 1, 1)


def test_adverbs_and_particles_are_equal() -> None:
    gold = "(VP (VB give) (PRT (RP up)) (ADVP (RB now)))"
    scores = score(gold, "(VP (VB give) (ADVP (RP up)) (PRT (RB now)))")
    assert scores.f1 == 1.0
    assert [(label.label, label.gold) for label in scores.by_label] == [("ADVP", 2), ("VP", 1)]


@pytest.mark.parametrize(
    ("gold", "guess", "expected"),
    [
        ("(NP (NP (NN a)))", "(NP (NN a))", (1, 2, 1)),
        ("(NP (NN a))", "(NP (NP (NP (NN a))))", (1, 1, 3)),
        ("(NP (NP (NN a)))", "(NP (NP (NN a)))", (2, 2, 2)),
        ("(S (NP (NN a)))", "(NP (S (NN a)))", (2, 2, 2)),
        ("(S (S (NP (NN a))))", "(S (NP (NP (NN a))))", (2, 3, 3)),
    ],
)
def test_equal_brackets_match_one_for_one(gold: str, guess: str, expected: tuple[int, int, int]) -> None:
    assert brackets(gold, guess) == expected


def test_labels_can_be_ignored() -> None:
    overall = score("(S (NP (NN a) (NN b)) (NN c))", "(X (NP (NN a)) (Y (NN b) (NN c)))").overall
    assert (overall.matched, overall.unlabelled) == (0, 1)
    assert overall.unlabelled_f1 == 2 / 5


def test_crossing_counts_guessed_brackets() -> None:
    gold = "(S (A (N a) (N b)) (B (N c) (N d)))"
    # B over b-c crosses A and B, and counts once; each of the two equal ones counts.
    scores = score(gold, "(S (N a) (X (X (N b) (N c))) (N d))")
    assert scores.sentences.crossing.tolist() == [2]
    # The other way round, A and B cross the two, and each counts once.
    assert score("(S (N a) (X (X (N b) (N c))) (N d))", gold).sentences.crossing.tolist() == [2]
    assert score(gold, "(S (A (N a) (N b) (N c)) (N d))").sentences.crossing.tolist() == [1]
    assert score(gold, gold).sentences.crossing.tolist() == [0]


def test_crossing_figures() -> None:
    gold = [tree_from_brackets("(S (A (N a) (N b)) (B (N c) (N d)))")] * 4
    guess = [
        gold[0],
        tree_from_brackets("(S (N a) (X (N b) (N c)) (N d))"),
        tree_from_brackets("(S (N a) (X (X (N b) (N c))) (N d))"),
        tree_from_brackets("(S (N a) (X (X (X (N b) (N c)))) (N d))"),
    ]
    overall = score_brackets(gold, guess).overall
    assert overall.average_crossing == 6 / 4
    assert (overall.no_crossing, overall.two_or_less_crossing) == (1 / 4, 3 / 4)


def test_tags_count_without_punctuation() -> None:
    gold = "(S (NP (DT the) (NN film)) (VP (VBZ works)) (. .))"
    overall = score(gold, gold.replace("VBZ", "NNS")).overall
    assert (overall.num_words, overall.num_right_tags) == (3, 2)
    assert overall.tagging_accuracy == 2 / 3
    assert overall.f1 == 1.0


def test_whose_tags_say_what_punctuation_is() -> None:
    gold = "(S (NP (NN film)) (: -) (VP (VBZ works)))"
    guess = "(S (NP (NN film)) (SYM -) (VP (VBZ works)))"
    assert brackets(gold, guess) == (3, 3, 3)
    with pytest.raises(
        TreeError, match=r"sentence 1: .* 2 and 3 words, those tagged as punctuation left out"
    ):
        score(gold, guess, tags="own")
    scores = score(gold, guess, tags="own", on_error="skip")
    assert (scores.overall.num_errors, scores.overall.num_valid) == (1, 0)
    # As many words, but not the same ones.
    swapped = "(S (NP (. film)) (SYM -) (VP (VBZ works)))"
    with pytest.raises(TreeError, match="word 1 is 'film' in the gold tree, '-' in the guessed one"):
        score(gold, swapped, tags="own")


def test_the_length_counts_punctuation_but_no_traces() -> None:
    gold = "(S (NP (-NONE- *)) (NP (NN film)) (, ,) (VP (VBZ works)) (. .))"
    assert score(gold, gold).sentences.length.tolist() == [4]


def flat(num_words: int, num_marks: int = 0) -> Tree:
    words = ["(NN w)"] * num_words + ["(. .)"] * num_marks
    return tree_from_brackets(f"(S {' '.join(words)})")


def test_short_sentences_have_up_to_40_words() -> None:
    scores = score_brackets(
        [flat(40), flat(41), flat(39, 1), flat(39, 2)], [None, *[flat(41)], flat(40), flat(41)]
    )
    assert (scores.overall.num_sentences, scores.short.num_sentences) == (4, 2)
    assert (scores.short.num_skipped, scores.short.num_valid) == (1, 1)


def test_scores_by_length() -> None:
    gold = [flat(3), flat(10), flat(11), flat(20), flat(35)]
    guess = [flat(3), flat(10), flat(11), tree_from_brackets(f"(X {' '.join(['(NN w)'] * 20)})"), flat(35)]
    scores = score_brackets(gold, guess)
    found = [(part.first, part.last, part.score.num_sentences, part.score.f1) for part in scores.by_length()]
    assert found == [(1, 10, 2, 1.0), (11, 20, 2, 0.5), (31, 40, 1, 1.0)]
    assert [part.first for part in scores.by_length(5)] == [1, 6, 11, 16, 31]
    with pytest.raises(ConfigError):
        scores.by_length(0)


def test_scores_by_label() -> None:
    gold = [tree_from_brackets(FILM)] * 2
    guess = [tree_from_brackets(FILM), tree_from_brackets("(S (X (DT the) (NN film)) (NP (VBZ works)))")]
    found = {
        label.label: (label.gold, label.guessed, label.precision, label.recall, label.f1)
        for label in score_brackets(gold, guess).by_label
    }
    assert found == {
        "NP": (2, 2, 0.5, 0.5, 0.5),
        "S": (2, 2, 1.0, 1.0, 1.0),
        "VP": (2, 1, 1.0, 0.5, 2 / 3),
        "X": (0, 1, 0.0, 0.0, 0.0),
    }
    assert list(found) == ["NP", "S", "VP", "X"]


# --- What this package writes into labels ---


def test_joined_and_inserted_nodes_are_read_back() -> None:
    tree = tree_from_brackets("(ROOT (S (NP (NP (NN a))) (VP (VB b) (NP (NN c)) (PP (IN d)) (ADVP (RB e)))))")
    for changed in (
        collapse_unary(tree),
        binarize(tree),
        binarize(collapse_unary(tree), "left"),
        collapse_unary(binarize(tree, "head")),
    ):
        scores = score_brackets([tree], [changed])
        assert scores.f1 == scores.overall.unlabelled_f1 == scores.overall.tagging_accuracy == 1.0
        assert scores.overall.matched == 7


def test_nodes_without_a_label_are_no_brackets() -> None:
    tree = tree_from_brackets("(S (NP (NN a) (NN b) (NN c)) (VP (VB d) (NP (NN e) (NN f))))")
    assert score_brackets([tree], [to_binary(tree).tree]).f1 == 1.0


def test_words_may_be_escaped_differently() -> None:
    gold = Tree([2, 0, 0], ["NP", "-LRB-", "CD"], ["-LRB-", "1\\/2"])
    assert score_brackets([gold], [Tree([2, 0, 0], ["NP", "X", "CD"], ["(", "1/2"])]).f1 == 1.0


# --- Sentences that do not count ---


def test_other_words_are_an_error_that_names_the_sentence() -> None:
    gold = [tree_from_brackets(FILM)] * 3
    guess = [
        gold[0],
        tree_from_brackets("(S (NP (NN film)) (VP (VBZ works)))"),
        gold[2].with_labels(["X"] * 7),
    ]
    with pytest.raises(TreeError, match=r"sentence 2: .* 3 and 2 words\n.*on_error='skip'"):
        score_brackets(gold, guess)
    scores = score_brackets(gold, guess, on_error="skip")
    overall = scores.overall
    assert (overall.num_sentences, overall.num_valid, overall.num_errors, overall.num_skipped) == (3, 2, 1, 0)
    assert (overall.matched, overall.gold, overall.guessed) == (3, 6, 7)
    assert [fault.number for fault in scores.faults] == [2]
    with pytest.raises(TreeError, match="word 2 is 'film' in the gold tree, 'Film' in the guessed one"):
        score(FILM, FILM.replace("film", "Film"))


def test_punctuation_may_differ() -> None:
    assert score("(S (NN a) (`` ``))", '(S (NN a) (`` "))').f1 == 1.0


def test_sentences_that_are_skipped() -> None:
    dots = tree_from_brackets("(X (. .) (. .))")
    scores = score_brackets([tree_from_brackets(FILM), dots], [None, dots])
    assert (scores.overall.num_skipped, scores.overall.num_valid, scores.f1) == (2, 0, 0.0)
    assert [fault.problem for fault in scores.faults] == [
        "there is no guessed tree",
        "no word is left without punctuation",
    ]
    # evalb asks first whether the guess has words.
    scores = score_brackets([tree_from_brackets("(X (NN a))")], [tree_from_brackets("(X (. a))")], tags="own")
    assert scores.overall.num_skipped == 1


def test_no_sentences() -> None:
    scores = score_brackets([], [])
    assert (scores.f1, scores.overall.num_sentences, scores.by_length(), scores.by_label) == (0.0, 0, [], ())


def test_lists_of_different_lengths() -> None:
    tree = tree_from_brackets(FILM)
    with pytest.raises(TreeError, match="sentence 2: there is no guessed tree left"):
        score_brackets([tree, tree], [tree])
    with pytest.raises(TreeError, match="sentence 1: there is no gold tree left"):
        score_brackets([], iter([tree]))


def test_what_cannot_be_scored() -> None:
    with pytest.raises(TreeError, match="dependency tree"):
        score_brackets([DependencyTree.from_parents(["a"], [-1], [""])], [tree_from_brackets("(NN a)")])
    with pytest.raises(ConfigError, match="'gold' or 'own'"):
        score_brackets([], [], tags="guessed")
    with pytest.raises(ConfigError, match="'gold' or 'own'"):
        oracle_score([], [], tags="guessed")


def test_as_plain_data() -> None:
    scores = score_brackets([tree_from_brackets(FILM)] * 2, [tree_from_brackets(FILM), None])
    data = json.loads(json.dumps(scores.as_dict()))
    assert data["overall"]["f1"] == data["short"]["tagging_accuracy"] == data["by_length"][0]["recall"] == 1.0
    assert data["overall"]["num_valid"] == 1
    assert data["by_label"][0] == {
        "label": "NP", "matched": 1, "gold": 1, "guessed": 1, "precision": 1.0, "recall": 1.0, "f1": 1.0
    }  # fmt: skip
    assert data["faults"] == [{"number": 2, "problem": "there is no guessed tree"}]


# --- evalb's own sample ---

SAMPLE_GOLD = "(S (A (P this)) (B (Q is) (A (R a) (T test))))"
SAMPLE_RULES = BracketRules(deleted_tags=frozenset({",", ":", "``", "''"}), equal_labels=(("TT", "T"),))


@pytest.mark.parametrize(
    ("guess", "expected"),
    [
        ("(S (A (P this)) (B (Q is) (A (R a) (T test))))", (4, 4, 4, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (C (R a) (T test))))", (3, 4, 4, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (R a) (U test))))", (4, 4, 4, 0, 4, 3)),
        ("(S (C (P this)) (B (Q is) (A (R a) (U test))))", (3, 4, 4, 0, 4, 3)),
        ("(S (A (P this)) (B (Q is) (R a) (A (T test))))", (3, 4, 4, 0, 4, 4)),
        ("(S (A (P this) (Q is)) (A (R a) (T test)))", (2, 4, 3, 1, 4, 4)),
        ("(S (P this) (Q is) (R a) (T test))", (1, 4, 1, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (A (R a) (T test)))))", (4, 4, 5, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (A (A (A (A (R a) (T test))))))))", (4, 4, 8, 0, 4, 4)),
        ("(TOP (S (A (P this)) (B (Q is) (A (R a) (T test)))))", (4, 4, 4, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (R a) (TT test))))", (4, 4, 4, 0, 4, 4)),
        ("(S (A-SBJ-1 (P this)) (B-WHATEVER (Q is) (A (R a) (T test))))", (4, 4, 4, 0, 4, 4)),
        ("(S (A (P this)) (B (Q was) (A (A (R a) (T test)))))", "error"),
        ("(S (A (P this)) (B (Q is) (U not) (A (A (R a) (T test)))))", "error"),
        ("(S (A (P this)) (NONE *) (B (Q is) (A (R a) (T test))))", "error"),
    ],
)
def test_the_sample_that_comes_with_evalb(guess: str, expected: tuple[int, ...] | str) -> None:
    """The figures are those of evalb's sample.rsl."""
    found = count_sentence(
        tree_from_brackets(SAMPLE_GOLD), tree_from_brackets(guess), tags="own", rules=SAMPLE_RULES
    )
    if isinstance(expected, str):
        assert found.status == expected
    else:
        counts = (found.matched, found.gold, found.guessed, found.crossing, found.words, found.right_tags)
        assert (found.status, counts) == ("valid", expected)


# --- What holds of any trees ---

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


@given(st.lists(trees(labels=PUNCTUATED), max_size=4), st.sampled_from(["gold", "own"]))
def test_a_tree_against_itself_is_perfect(sentences: list[Tree], tags: str) -> None:
    scores = score_brackets(sentences, sentences, tags=tags)
    overall = scores.overall
    assert overall.matched == overall.unlabelled == overall.gold == overall.guessed
    assert overall.num_right_tags == overall.num_words
    assert overall.num_complete == overall.num_uncrossed == overall.num_hardly_crossed == overall.num_valid
    assert overall.crossing == overall.num_errors == 0
    if overall.gold:
        assert overall.precision == overall.recall == overall.f1 == overall.unlabelled_f1 == 1.0
        assert {label.f1 for label in scores.by_label} == {1.0}
    if overall.num_valid:
        assert overall.tagging_accuracy == overall.complete_match == overall.no_crossing == 1.0


@given(st.lists(tree_pairs(), max_size=3), st.sampled_from(["gold", "own"]))
def test_swapping_gold_and_guess_swaps_precision_and_recall(
    pairs: list[tuple[Tree, Tree]], tags: str
) -> None:
    gold, guess = ([pair[side] for pair in pairs] for side in (0, 1))
    one = score_brackets(gold, guess, tags=tags).overall
    other = score_brackets(guess, gold, tags=tags).overall
    assert (one.precision, one.recall) == (other.recall, other.precision)
    for name in ("f1", "unlabelled_f1", "complete_match", "tagging_accuracy", "no_crossing"):
        assert getattr(one, name) == getattr(other, name)


def with_comma(draw: st.DrawFn, tree: Tree, word: int) -> Tree:
    """The tree with a comma before a word, as a sister of any of the phrases that start with it."""
    nodes = np.flatnonzero(tree.starts == word)
    node = draw(st.sampled_from(nodes.tolist()))
    arity, labels, words = tree.arity.tolist(), list(tree.labels), list(tree.words)
    words.insert(word, ",")
    if node == 0:
        return Tree([2, 0, *arity], ["TOP", ",", *labels], words)
    arity[tree.parents[node]] += 1
    arity.insert(node, 0)
    labels.insert(node, ",")
    return Tree(arity, labels, words)


@st.composite
def punctuated_pairs(draw: st.DrawFn) -> tuple[tuple[Tree, Tree], tuple[Tree, Tree]]:
    """Two trees, and the same with a comma at the same place among the words but not in the trees."""
    gold, guess = draw(tree_pairs())
    word = draw(st.integers(0, gold.num_words - 1))
    return (gold, guess), (with_comma(draw, gold, word), with_comma(draw, guess, word))


@given(punctuated_pairs(), st.sampled_from(["gold", "own"]))
def test_punctuation_leaves_the_scores_alone(
    pairs: tuple[tuple[Tree, Tree], tuple[Tree, Tree]], tags: str
) -> None:
    before, after = (score_brackets([gold], [guess], tags=tags) for gold, guess in pairs)
    assert after.overall == before.overall
    assert after.by_label == before.by_label


@given(st.lists(tree_pairs(), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_the_sentences_does_not_matter(pairs: list[tuple[Tree, Tree]], random: Random) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    one, other = (
        score_brackets([gold for gold, _ in order], [guess for _, guess in order])
        for order in (pairs, shuffled)
    )
    assert (one.overall, one.short, one.by_label, one.by_length()) == (
        other.overall, other.short, other.by_label, other.by_length()
    )  # fmt: skip


@given(tree_pairs())
def test_the_parts_add_up(pair: tuple[Tree, Tree]) -> None:
    scores = score_brackets([pair[0]], [pair[1]])
    for name in ("matched", "gold", "guessed"):
        total = getattr(scores.overall, name)
        assert total == sum(getattr(label, name) for label in scores.by_label)
        assert total == sum(getattr(part.score, name) for part in scores.by_length())
        assert total == getattr(scores.sentences, name).sum()
    assert scores.overall.matched <= scores.overall.unlabelled
    assert scores.overall.crossing <= scores.overall.guessed - scores.overall.unlabelled


def crosses(one: Bracket, other: Bracket) -> bool:
    return one.start < other.start < one.end < other.end or other.start < one.start < other.end < one.end


@given(tree_pairs())
def test_crossing_by_definition(pair: tuple[Tree, Tree]) -> None:
    gold, guess = ([Bracket(start, end, "") for start, end in tree.spans] for tree in pair)
    expected = sum(any(crosses(one, other) for other in gold) for one in guess)
    assert count_crossing(gold, guess, pair[0].num_words) == expected


# --- Depth ---


def right_chain(depth: int, label: str) -> Tree:
    return Tree([2, 0] * depth + [0], [label, "NN"] * depth + ["NN"], ["w"] * (depth + 1))


def left_chain(depth: int) -> Tree:
    return Tree([2] * depth + [0] * (depth + 1), ["NP"] * depth + ["NN"] * (depth + 1), ["w"] * (depth + 1))


def unary_chain(depth: int) -> Tree:
    return Tree([1] * depth + [0], ["NP"] * depth + ["NN"], ["w"])


@pytest.mark.parametrize(
    ("gold", "guess", "expected"),
    [
        (
            lambda depth: right_chain(depth, "NP"),
            lambda depth: right_chain(depth, "NP"),
            lambda depth: (depth, 0),
        ),
        (lambda depth: right_chain(depth, "NP"), left_chain, lambda depth: (1, depth - 1)),
        (unary_chain, unary_chain, lambda depth: (depth, 0)),
    ],
)
def test_chains_of_any_depth_take_linear_time(
    gold: Callable[[int], Tree], guess: Callable[[int], Tree], expected: Callable[[int], tuple[int, int]]
) -> None:
    def seconds(depth: int) -> float:
        pair = gold(depth), guess(depth)
        start = time.process_time()
        counts = count_sentence(*pair)
        assert (counts.matched, counts.crossing) == expected(depth)
        return time.process_time() - start

    small, large = min(seconds(5_000) for _ in range(3)), min(seconds(50_000) for _ in range(2))
    # Ten times the size; quadratic time would be a hundred times as much.
    assert large < 40 * small + 0.2


# --- Two systems ---


def random_scores(seed: int, quality: float, num_sentences: int = 30) -> BracketScores:
    """A system that finds each of the phrases of some sentences with that probability."""
    rng = np.random.default_rng(seed)
    gold = [right_chain(int(size), "NP") for size in np.random.default_rng(0).integers(3, 12, num_sentences)]
    guess = [
        tree.with_labels([label if label == "NN" or rng.random() < quality else "X" for label in tree.labels])
        for tree in gold
    ]
    return score_brackets(gold, guess)


def test_the_bootstrap_of_f1_by_definition() -> None:
    first, second = random_scores(1, 0.8, 4), random_scores(2, 0.5, 4)

    def f1(scores: BracketScores, drawn: tuple[int, ...]) -> float:
        table, index = scores.sentences, list(drawn)
        return 2 * table.matched[index].sum() / (table.gold[index] + table.guessed[index]).sum()

    every = np.array([f1(first, drawn) - f1(second, drawn) for drawn in product(range(4), repeat=4)])
    result = bracket_bootstrap(first, second, num_resamples=40_000)
    assert result.difference == pytest.approx(first.f1 - second.f1, abs=1e-9)
    assert result.p_one_sided == pytest.approx((every < 0).mean() + (every == 0).mean() / 2, abs=0.01)
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(every, [0.025, 0.975])), abs=0.02)


def test_the_bootstrap_is_symmetric_and_sure_where_it_can_be() -> None:
    first, second = random_scores(1, 0.9), random_scores(2, 0.5)
    result, swapped = bracket_bootstrap(first, second), bracket_bootstrap(second, first)
    assert result.p_two_sided < 0.01
    assert result.low > 0
    assert (swapped.difference, swapped.low, swapped.high) == (-result.difference, -result.high, -result.low)
    assert bracket_bootstrap(first, first).p_two_sided == 1.0
    assert result == bracket_bootstrap(first, second)


def test_the_bootstrap_leaves_out_what_either_system_lacks() -> None:
    gold = [tree_from_brackets(FILM), flat(3), flat(4)]
    first = score_brackets(gold, [None, flat(3), flat(4)])
    second = score_brackets(gold, [gold[0], None, flat(4)])
    result = bracket_bootstrap(first, second, num_resamples=10)
    assert (result.num_sentences, result.difference) == (1, 0.0)


def test_systems_that_cannot_be_paired() -> None:
    with pytest.raises(ConfigError, match="same sentences"):
        bracket_bootstrap(random_scores(1, 0.5), random_scores(1, 0.5, 10))
    nothing = score_brackets([tree_from_brackets(FILM)], [None])
    with pytest.raises(ConfigError, match="no sentence"):
        bracket_bootstrap(nothing, nothing)
    with pytest.raises(ConfigError):
        bracket_bootstrap(nothing, nothing, confidence=1.0)


# --- Candidates ---

CANDIDATES = (
    "(S (DT the) (VP (NN film) (VBZ works)))",  # 1 of 2 and of 3
    "(S (NP (DT the) (NN film)) (X (VBZ works)))",  # 2 of 3
    "(S (X (DT the) (NN film)) (VP (VBZ works)))",  # as good, but later
)


def test_the_oracle_takes_the_best_candidate() -> None:
    gold = tree_from_brackets(FILM)
    candidates = [tree_from_brackets(text) for text in CANDIDATES]
    scores = oracle_score([gold, gold], [candidates, [gold]])
    assert scores.chosen.tolist() == [1, 0]
    assert (scores.best.overall.matched, scores.first.overall.matched) == (5, 4)
    # 1, 2 and 2 of 3 match, of 2, 3 and 3; and 3 of 3 in the other sentence.
    matched, guessed = 5 / 3 + 3, 8 / 3 + 3
    assert scores.random.precision == pytest.approx(matched / guessed)
    assert scores.random.recall == pytest.approx(matched / 6)
    assert scores.random.f1 == pytest.approx(2 * matched / (6 + guessed))
    assert json.loads(json.dumps(scores.as_dict()))["random"]["recall"] == scores.random.recall


def test_candidates_over_other_words() -> None:
    gold, other = tree_from_brackets(FILM), tree_from_brackets("(S (NN no))")
    with pytest.raises(TreeError, match="sentence 2: "):
        oracle_score([gold, gold], [[gold], [gold, other]])
    scores = oracle_score([gold, gold, gold], [[other, gold], [other], []], on_error="skip")
    assert scores.chosen.tolist() == [1, -1, -1]
    assert (scores.best.overall.num_errors, scores.best.overall.num_skipped) == (1, 1)
    assert (scores.first.overall.num_errors, scores.best.f1, scores.random.f1) == (2, 1.0, 1.0)


@given(st.lists(tree_pairs(), min_size=1, max_size=4))
@settings(max_examples=50)
def test_the_oracle_is_no_worse_for_any_sentence(pairs: list[tuple[Tree, Tree]]) -> None:
    gold = [pair[0] for pair in pairs]
    scores = oracle_score(gold, [[guess, tree] for tree, guess in pairs])
    assert scores.best.overall.matched == scores.best.overall.gold == scores.best.overall.guessed
    assert scores.first.f1 <= scores.best.f1


# --- Real parses ---

DATA = Path(os.environ.get("LEXITREE_DATA") or "nowhere")
RECORD = Path(__file__).parents[2] / "results" / "brackets-vs-pyevalb.json"


@pytest.mark.skipif(
    not (DATA / "kbest").is_dir(), reason="LEXITREE_DATA does not lead to the candidate lists"
)
@pytest.mark.parametrize("name", ["wsj00", "mctb_dialogue", "mctb_forum", "mctb_law", "mctb_review"])
def test_the_counts_that_evalb_has_of_real_parses(name: str) -> None:
    """evalb's counts were recorded when it was last compared, sentence by sentence, with these."""
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    (evalb,) = (row["evalb"] for row in rows if (row["file"], row["candidate"]) == (name, "first"))
    lines = (DATA / "kbest" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    sentences = [json.loads(line) for line in lines]
    gold = [tree_from_brackets(sentence["gold"]) for sentence in sentences]
    guessed = [tree_from_brackets(sentence["candidates"][0]["tree"]) for sentence in sentences]
    ours = score_brackets(gold, guessed, tags="own", on_error="skip").overall
    found = {
        "num_errors": ours.num_errors,
        "matched": ours.matched,
        "gold": ours.gold,
        "guessed": ours.guessed,
        "crossing": ours.crossing,
        "words": ours.num_words,
        "right_tags": ours.num_right_tags,
    }
    assert found == {key: evalb[key] for key in found}
    assert score_brackets(gold, guessed).overall.num_errors == 0
