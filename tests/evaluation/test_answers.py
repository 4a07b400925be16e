"""Answers collected from models are those that evaluation counts."""

from __future__ import annotations

import numpy as np
import pytest

from lexitree.errors import ConfigError
from lexitree.evaluation.answers import check_comparable, collect_answers
from lexitree.pipeline.predictor import Predictor
from lexitree.trees.brackets import tree_from_brackets
from tests.evaluation.systems import made_up_system
from tests.tiny import tiny_model, tiny_trees

TREES = tiny_trees(25, seed=4)


def test_answers_agree_with_evaluation_and_prediction() -> None:
    models = [tiny_model(seed=seed) for seed in (1, 2, 3)]
    answers = collect_answers("tiny", models, TREES)
    accuracies = [Predictor(model).evaluate(TREES).root.accuracy for model in models]
    assert answers.seed_accuracies == pytest.approx(accuracies)
    assert answers.accuracy == pytest.approx(np.mean(accuracies))
    assert answers.sentences == tuple(tree.words for tree in TREES)
    assert [answers.label_set.ids[number] for number in answers.gold] == [tree.label for tree in TREES]
    for model, row in zip(models, answers.probabilities, strict=True):
        predictions = list(Predictor(model).predict_all(TREES))
        np.testing.assert_allclose(row, [found.node_probabilities[0] for found in predictions], atol=1e-5)
    assert answers.lengths.tolist() == [tree.num_words for tree in TREES]
    assert Predictor(models[0]).answers(TREES, name="tiny").seed_accuracies == answers.seed_accuracies[:1]


def test_sentences_without_a_gold_label_are_left_out() -> None:
    unlabelled = tree_from_brackets("(_ (1 good) (_ film))")
    answers = collect_answers("tiny", [tiny_model()], [TREES[0], unlabelled, TREES[1]])
    assert len(answers.gold) == 2
    with pytest.raises(ConfigError, match="no sentence has a gold label"):
        collect_answers("tiny", [tiny_model()], [unlabelled])


def test_what_cannot_be_collected() -> None:
    with pytest.raises(ConfigError, match="no model"):
        collect_answers("none", [], TREES)
    with pytest.raises(ConfigError, match="different labels"):
        collect_answers("mixed", [tiny_model(), tiny_model(labels=("0", "1", "2"))], TREES)


def test_what_cannot_be_compared() -> None:
    one = made_up_system("one", [0, 1], [[0, 1]])
    with pytest.raises(ConfigError, match="have the same name"):
        check_comparable([one, one])
    with pytest.raises(ConfigError, match="different sentences"):
        check_comparable([one, made_up_system("two", [0, 2], [[0, 1]])])
    with pytest.raises(ConfigError, match="different sentences"):
        check_comparable([one, made_up_system("two", [0, 1], [[0, 1]], sentences=["x", "y"])])
    with pytest.raises(ConfigError, match="different labels"):
        check_comparable([one, made_up_system("two", [0, 1], [[0, 1]], labels=("a", "b"))])
    with pytest.raises(ConfigError, match="no system"):
        check_comparable([])
