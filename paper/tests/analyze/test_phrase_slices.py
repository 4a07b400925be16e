"""Phrase accuracy by difficulty, by negation, and around `but`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tiny import tiny_model, tiny_trees

from lexitree.errors import ConfigError
from lexitree.evaluation.accuracy import evaluate
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree_paper.analyze.phrase_slices import (
    PhraseAnswers,
    collect_phrases,
    count_switches,
    find_contrasts,
    slice_phrases,
)

BUT = tree_from_brackets("(1 (3 (2 Great) (2 food)) (0 (2 ,) (0 (2 but) (1 (2 not) (1 staff)))))")
PLAIN = tree_from_brackets("(0 (1 Dull) (0 (2 film) (2 plots)))")


def numbers(tree: Tree) -> np.ndarray:
    return np.array([int(label) if label != NO_LABEL else -1 for label in tree.labels])


def system(name: str, *wrong: tuple[int, int]) -> PhraseAnswers:
    """All right but for some (tree, node), in a second seed."""
    gold = (numbers(BUT), numbers(PLAIN))
    correct = [np.ones((2, len(each)), dtype=np.bool_) for each in gold]
    for tree, node in wrong:
        correct[tree][1, node] = False
    return PhraseAnswers(name, gold, tuple(correct))


def test_parts_with_another_label_make_a_phrase_difficult() -> None:
    assert count_switches(BUT, numbers(BUT)).tolist() == [2, 2, -1, -1, 1, -1, 2, -1, 1, -1, -1]
    unknown = numbers(PLAIN)
    unknown[1] = -1
    assert count_switches(PLAIN, unknown).tolist() == [-1, -1, 2, -1, -1]


def test_contrasts_are_found_with_both_sides() -> None:
    ((whole, left, right),) = find_contrasts(BUT, numbers(BUT))
    spans = [BUT.spans[node] for node in (whole, left, right)]
    assert [" ".join(BUT.words[start:end]) for start, end in spans] == [
        "Great food , but not staff",
        "Great food",
        "not staff",
    ]
    same = numbers(BUT)
    same[left] = same[right]
    assert not list(find_contrasts(BUT, same))
    for other in ("(0 (1 but) (2 good))", "(0 (1 good) (2 but))"):
        tree = tree_from_brackets(other)
        assert not list(find_contrasts(tree, numbers(tree)))
    beside = tree_from_brackets("(0 (3 (3 good) (2 but)) (1 slow))")
    assert list(find_contrasts(beside, numbers(beside))) == [(0, 2, 4)]


def test_slices_count_phrases_of_two_words_or_more() -> None:
    # "not staff" and the whole are wrong for one seed of two.
    rows = {row.title: row for row in slice_phrases([system("a", (0, 8), (0, 0)), system("b")], [BUT, PLAIN])}
    assert {title: row.num_sentences for title, row in rows.items()} == {
        "of two or more words": 7,
        "local difficulty 0": 0,
        "local difficulty 1": 3,
        "local difficulty 2": 4,
        "with 0 negations": 2,
        "with 1 negations": 5,
        "with 2 or more negations": 0,
        "X but Y, all three right": 1,
    }
    assert rows["of two or more words"].accuracies == pytest.approx({"a": 1 - 2 / 14, "b": 1})
    assert rows["with 1 negations"].accuracies["a"] == pytest.approx(1 - 2 / 10)
    assert rows["X but Y, all three right"].accuracies == {"a": 0.5, "b": 1}
    assert rows["X but Y, all three right"].deviations["a"] == pytest.approx(0.5**0.5)
    assert rows["local difficulty 0"].accuracies == {"a": None, "b": None}
    with pytest.raises(ConfigError, match="different labels"):
        slice_phrases([system("a"), PhraseAnswers("c", (numbers(PLAIN),), ())], [BUT, PLAIN])


def test_answers_of_models_are_those_of_predictions() -> None:
    trees, model = tiny_trees(4), tiny_model()
    found = collect_phrases("tiny", [model, model], trees)
    assert [len(each) for each in found.gold] == [tree.num_nodes for tree in trees]
    assert {each.shape[0] for each in found.correct} == {2}
    scores = evaluate(model, model.prepare(trees))
    assert scores.phrase is not None
    is_labelled = np.concatenate(found.gold) >= 0
    assert np.concatenate(found.correct, axis=1)[0, is_labelled].mean() == pytest.approx(
        scores.phrase.accuracy
    )
    with pytest.raises(ConfigError, match="tiny has no models"):
        collect_phrases("tiny", [], trees)
