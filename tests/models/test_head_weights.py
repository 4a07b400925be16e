"""The weights of all words of a phrase: against products of gates in float64, on trees of every shape, from threads."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings

from lexitree.arrays import FloatArray
from lexitree.errors import ConfigError
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import MOST_KEPT, find_head_shares
from lexitree.ops.numpy.heads import word_weights
from lexitree.ops.reference import reference_compose_heads
from lexitree.ops.tree_batch import batch_examples
from lexitree.pipeline.predictor import Predictor
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.binarize import unchanged
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.strategies import trees
from tests.tiny import LABELS, chain, tiny_model, tiny_trees

METHODS = ("G", "L", "R", "A")
MODELS = {method: tiny_model(head_method=method) for method in METHODS}
PREDICTORS = {method: Predictor(model) for method, model in MODELS.items()}


def with_large_gates(model: TreeClassifier) -> TreeClassifier:
    """Random weights are near zero, where all gates are a half: these say something."""
    heads = model.encoder.heads
    assert heads is not None
    torch.manual_seed(3)
    with torch.no_grad():
        for weight in model.lexicon.parameters():
            weight.normal_()
        for weight in heads.parameters():
            weight.normal_()
    return model


for made in MODELS.values():
    with_large_gates(made)


def naive_weights(model: TreeClassifier, tree: Tree) -> list[list[float]]:
    """By node of the tree, a weight for each word of the sentence: gates multiplied out, one node after the other."""
    example = Predictor(model)._prepare(tree)
    batch = batch_examples([example])
    heads = model.encoder.heads
    assert heads is not None
    words = model.lexicon(batch.word_index).detach().double()
    weights = None if heads.weights is None else type(heads.weights)(*(w.double() for w in heads.weights))
    x = reference_compose_heads(words, weights, batch, heads.method)
    shares = list(torch.eye(batch.num_leaves, dtype=torch.float64).unsqueeze(2).expand(-1, -1, x.shape[1]))
    for left, right in batch.children_index.view(-1, 2).tolist():
        if heads.method == "G":
            assert weights is not None
            z = (weights.gate @ torch.cat([x[left], x[right]]) + weights.bias).sigmoid()
        else:
            z = torch.full_like(x[0], {"L": 1.0, "R": 0.0, "A": 0.5}[heads.method])
        shares.append(z * shares[left] + (1 - z) * shares[right])
    for share, vector in zip(shares, x, strict=True):
        # What makes them the weights: with them, words add up to the head vector of the paper's equations.
        torch.testing.assert_close((share * words).sum(0), vector, rtol=0, atol=1e-9)
    by_node = [shares[node].mean(1).tolist() for node in batch.preorder_index.tolist()]
    return [by_node[node] for node in example.binary.node_of.tolist()]


def check_weights(prediction: LabelledTree, expected: list[list[float]]) -> None:
    tree = prediction.source
    assert prediction.head_index is not None
    assert prediction.head_weight is not None
    for node, (start, end) in enumerate(tree.spans):
        weights = prediction.head_weights(node)
        assert weights is not None
        assert all(isinstance(weight, float) for weight in weights)
        assert weights == pytest.approx(expected[node][start:end], abs=1e-5)
        assert sum(weights) == pytest.approx(1, abs=1e-5)
        head = int(prediction.head_index[node]) - start
        assert weights[head] == pytest.approx(prediction.head_weight[node], abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
@given(tree=trees(max_words=9))
@settings(max_examples=40, deadline=None)
def test_every_phrase_of_any_tree(method: str, tree: Tree) -> None:
    """Single words, unary chains, wide phrases and chains to both sides are among them."""
    check_weights(PREDICTORS[method].predict(tree), naive_weights(MODELS[method], tree))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_chains(method: str, side: str) -> None:
    tree = chain(60, side)
    check_weights(PREDICTORS[method].predict(tree), naive_weights(MODELS[method], tree))


@pytest.mark.parametrize("direction", ["left", "right", "head"])
def test_however_wide_phrases_are_split(direction: str) -> None:
    model = with_large_gates(tiny_model(binarization=direction, supervision="root"))
    tree = tree_from_brackets(
        "(S (NP (DT the) (NN film) (, ,) (NN plot)) (VP (V is) (ADJP (JJ good))) (. .))"
    )
    check_weights(Predictor(model).predict(tree), naive_weights(model, tree))


def test_single_words() -> None:
    for text in ("(_ word)", "(_ (_ (_ word)))"):
        assert PREDICTORS["G"].predict(tree_from_brackets(text)).head_weights() == (1.0,)


def test_models_without_heads_have_none() -> None:
    tree = tiny_trees(1)[0]
    assert Predictor(tiny_model("contree")).predict(tree).head_weights() is None
    assert PREDICTORS["G"].predict(tree, nodes="root").head_weights() is None


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_phrase_of_a_deep_tree_costs_by_its_own_words(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """50,000 words, one below the other: no recursion, no second look at any node, and none at other nodes."""
    visited: list[int] = []

    def count_nodes(arity: Iterable[int], from_left: FloatArray) -> tuple[float, ...]:
        counted = list(arity)
        visited.append(len(counted))
        return word_weights(counted, from_left)

    monkeypatch.setattr("lexitree.models.inference.word_weights", count_nodes)
    shares = find_head_shares(MODELS["G"], unchanged(chain(50_000, side)))
    weights = shares.word_weights(0)
    assert len(weights) == 50_000
    assert sum(weights) == pytest.approx(1, abs=1e-4)
    of_three_words = 49_997 if side == "left" else 2 * 49_997
    assert len(shares.word_weights(of_three_words)) == 3
    assert visited == [2 * 50_000 - 1, 2 * 3 - 1]


def test_a_model_in_training_drops_nothing_out() -> None:
    model = with_large_gates(tiny_model(dropout=0.5))
    prediction = Predictor(model).predict(tiny_trees(1)[0])
    model.train()
    check_weights(prediction, naive_weights(model, prediction.source))
    assert model.training


def test_a_tree_that_is_labelled_again_is_computed_again() -> None:
    model = with_large_gates(tiny_model())
    predictor, tree = Predictor(model), tiny_trees(1)[0]
    first = predictor.predict(tree).head_weights()
    with torch.no_grad():
        for weight in model.lexicon.parameters():
            weight.normal_()
    second = predictor.predict(tree)
    assert second.head_weights() != first
    check_weights(second, naive_weights(model, tree))


def test_few_trees_are_remembered() -> None:
    predictor = Predictor(MODELS["G"])
    predictions = list(predictor.predict_all(tiny_trees(40)))
    before = [set(vars(prediction)) for prediction in predictions]
    for prediction in predictions:
        prediction.head_weights()
    recent = [prediction.weigher for prediction in predictions[: -MOST_KEPT - 1 : -1]]
    assert [known for known, _ in predictor._weigher._recent] == recent
    assert [set(vars(prediction)) for prediction in predictions] == before


def test_threads_get_the_same_answers() -> None:
    predictor = Predictor(MODELS["G"])
    predictions = list(predictor.predict_all(tiny_trees(12, seed=2)))
    alone = [
        [prediction.head_weights(node) for node in range(prediction.source.num_nodes)]
        for prediction in predictions
    ]

    def ask(turn: int) -> bool:
        place = turn % len(predictions)
        prediction = predictions[place]
        return [prediction.head_weights(node) for node in range(prediction.source.num_nodes)] == alone[place]

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(200)))


def test_copies_ask_the_same_model() -> None:
    prediction = PREDICTORS["G"].predict(tiny_trees(1)[0])
    for copied in (copy.copy(prediction), copy.deepcopy(prediction)):
        assert copied.weigher is prediction.weigher
        assert copied.head_weights() == prediction.head_weights()


def test_what_was_sent_to_another_process_says_so() -> None:
    prediction = PREDICTORS["G"].predict(tiny_trees(1)[0])
    written = pickle.dumps(prediction)
    assert len(written) < 3_000, "the model stays behind"
    sent = pickle.loads(written)
    with pytest.raises(ConfigError, match="sent from another process") as caught:
        sent.head_weights()
    assert "label the tree again" in caught.value.remedy
    assert sent.as_dict() == prediction.as_dict()
    assert not sent.can_weigh
    without = Predictor(tiny_model("contree")).predict(prediction.source)
    assert pickle.loads(pickle.dumps(without)).head_weights() is None


def test_a_predictor_can_be_sent() -> None:
    tree = tiny_trees(1)[0]
    sent = pickle.loads(pickle.dumps(PREDICTORS["G"]))
    assert sent.predict(tree).head_weights() == PREDICTORS["G"].predict(tree).head_weights()


def test_json_has_them_if_they_are_asked_for() -> None:
    prediction = PREDICTORS["G"].predict(tiny_trees(1)[0])
    assert all("head_weights" not in phrase for phrase in prediction.as_dict()["phrases"])
    values = prediction.as_dict(head_weights=True)
    assert values["labels"] == list(LABELS)
    for node, phrase in enumerate(values["phrases"]):
        assert phrase["head_weights"] == pytest.approx(prediction.head_weights(node), abs=1e-6)
        assert phrase["head_weights"][phrase["head_index"] - phrase["start"]] == pytest.approx(
            phrase["head_weight"], abs=2e-6
        )
    without = Predictor(tiny_model("contree")).predict(prediction.source).as_dict(head_weights=True)
    assert all("head_weights" not in phrase for phrase in without["phrases"])
