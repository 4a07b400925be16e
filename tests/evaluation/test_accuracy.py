"""Accuracies against scikit-learn, and which nodes count."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from lexitree.arrays import NO_INDEX
from lexitree.batch.tree_examples import make_examples
from lexitree.evaluation.accuracy import confusion, evaluate
from lexitree.pipeline.predictor import Predictor
from lexitree.trees.brackets import tree_from_brackets
from tests.tiny import LABELS, tiny_model, tiny_trees

NAMES = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("num_labels", [2, 3, 5])
def test_all_scores_equal_those_of_scikit_learn(seed: int, num_labels: int) -> None:
    rng = np.random.default_rng(seed)
    gold, predicted = rng.integers(0, num_labels, (2, 300))
    # The last label is never predicted, so that there is a division by zero to get right.
    predicted[predicted == 4] = 0
    scores = confusion(gold, predicted, NAMES[:num_labels])
    all_labels = list(range(num_labels))
    assert scores.accuracy == pytest.approx(accuracy_score(gold, predicted))
    assert scores.counts.tolist() == confusion_matrix(gold, predicted, labels=all_labels).tolist()
    precision, recall, f1, support = precision_recall_fscore_support(
        gold, predicted, labels=all_labels, zero_division=0
    )
    classes = scores.class_scores()
    assert [score.precision for score in classes] == pytest.approx(list(precision))
    assert [score.recall for score in classes] == pytest.approx(list(recall))
    assert [score.f1 for score in classes] == pytest.approx(list(f1))
    assert [score.num_gold for score in classes] == list(support)
    assert [score.num_predicted for score in classes] == np.bincount(predicted, minlength=num_labels).tolist()


def test_nodes_without_a_gold_label_do_not_count() -> None:
    gold = np.array([0, NO_INDEX, 1, NO_INDEX, 1])
    scores = confusion(gold, np.array([0, 1, 1, 0, 0]), ("x", "y"))
    assert scores.counts.tolist() == [[1, 0], [1, 1]]
    assert scores.num_counted == 3
    assert scores.accuracy == pytest.approx(2 / 3)


def test_nothing_to_count_is_zero_and_no_warning() -> None:
    scores = confusion(np.array([NO_INDEX]), np.array([1]), ("x", "y"))
    assert scores.accuracy == 0.0
    assert scores.num_counted == 0
    assert [score.f1 for score in scores.class_scores()] == [0.0, 0.0]


def test_every_node_of_the_users_trees_is_scored() -> None:
    """A unary chain counts once a node; nodes that binarization put in do not count."""
    wide = tree_from_brackets("(1 (0 (1 good)) (_ film) (1 (_ is) (0 bad) (1 fine) (_ plot)))")
    predictor = Predictor(tiny_model())
    labels = predictor.predict(wide).labels
    pairs = [(gold, found) for gold, found in zip(wide.labels, labels, strict=True) if gold]
    scores = predictor.evaluate([wide])
    assert scores.phrase is not None
    assert scores.phrase.num_counted == len(pairs) == 6
    assert scores.phrase.accuracy == pytest.approx(sum(gold == found for gold, found in pairs) / 6)
    assert scores.root.num_counted == 1
    # Both nodes of the chain (0 (1 good)) share one prediction, so exactly one of them is right.
    assert labels[1] == labels[2]


def test_evaluation_agrees_with_prediction_on_many_trees() -> None:
    trees = tiny_trees(40, seed=3)
    predictor = Predictor(tiny_model())
    predictions = list(predictor.predict_all(trees))
    scores = predictor.evaluate(iter(trees))
    right = [prediction.label == tree.label for prediction, tree in zip(predictions, trees, strict=True)]
    assert scores.root.accuracy == pytest.approx(np.mean(right))
    pairs = [
        (gold, found)
        for prediction, tree in zip(predictions, trees, strict=True)
        for gold, found in zip(tree.labels, prediction.labels, strict=True)
        if gold
    ]
    assert scores.phrase is not None
    assert scores.phrase.accuracy == pytest.approx(np.mean([gold == found for gold, found in pairs]))
    assert scores.phrase.num_counted == len(pairs)


def test_root_supervision_scores_sentences_only() -> None:
    model = tiny_model(supervision="root")
    examples = make_examples(tiny_trees(5), model.lexicon, labels=LABELS, direction="right")
    scores = evaluate(model, examples)
    assert scores.phrase is None
    assert scores.root.num_counted == 5
    assert scores.as_dict()["phrase"] is None
    assert evaluate(model, examples, supervision="all").phrase is not None
    assert evaluate(tiny_model(), examples, supervision="root").phrase is None


def test_labels_of_phrases_do_not_matter_to_a_model_of_sentences() -> None:
    """Question types stand over parses whose phrases have labels of another kind."""
    question = tree_from_brackets("(1 (NP (DT the) (NN film)) (VP good))")
    assert Predictor(tiny_model(supervision="root")).evaluate([question]).root.num_counted == 1


def test_no_trees_give_empty_scores() -> None:
    scores = evaluate(tiny_model(), [])
    assert scores.root.num_counted == 0
    assert scores.phrase is not None
    assert scores.phrase.accuracy == 0.0


def test_the_model_goes_back_to_training() -> None:
    model = tiny_model().train()
    evaluate(model, make_examples(tiny_trees(2), model.lexicon, labels=LABELS, direction="right"))
    assert model.training


def test_scores_have_the_names_of_labels() -> None:
    scores = Predictor(tiny_model(label_names={"1": "good"})).evaluate(tiny_trees(3))
    assert scores.root.labels == ("0", "good")
    assert [score.label for score in scores.root.class_scores()] == ["0", "good"]
    assert scores.as_dict()["phrase"]["labels"] == ["0", "good"]
