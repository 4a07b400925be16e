"""Predictors: what they say of every node of the trees as they were given, alone and in a stream."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexitree
from lexitree.errors import ConfigError
from lexitree.models import encoders, inference
from lexitree.models.registries import ENCODERS
from lexitree.ops.numpy import spans
from lexitree.pipeline.predictor import Predictor
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.jsonl import tree_from_json
from lexitree.trees.tree import NO_LABEL, Tree
from tests.strategies import trees as any_trees
from tests.tiny import CONSTITUENCY_MODELS, FINER_LABELS, LABELS, chain, tiny_model, tiny_trees

MODELS = CONSTITUENCY_MODELS
WITHOUT_HEADS = tuple(name for name in MODELS if not ENCODERS[name].has_heads)

ODD = [
    "(_ word)",
    "(_ (_ (_ (_ chain))))",
    "(S (NP (DT the) (NN film) (, ,) (NN plot)) (VP (V is) (ADJP good)) (. .))",
    "(_ (_ (_ a) (_ b)) (_ (_ c)))",
    "(_ (_ 1) (_ 2) (_ 3) (_ 4) (_ 5) (_ 6) (_ 7))",
]
PREDICTORS = {name: Predictor(tiny_model(name)) for name in MODELS}


@pytest.fixture(params=MODELS)
def predictor(request: pytest.FixtureRequest) -> Predictor:
    return PREDICTORS[request.param]


def assert_makes_sense(prediction: LabelledTree, tree: Tree, *, has_heads: bool) -> None:
    """All that must hold of any prediction for all nodes of a tree."""
    assert prediction.source == tree
    assert prediction.tree.words == tree.words
    assert prediction.tree.arity.tolist() == tree.arity.tolist()
    assert prediction.node_probabilities.shape == (tree.num_nodes, 2)
    np.testing.assert_allclose(prediction.node_probabilities.sum(1), 1, atol=1e-5)
    assert (prediction.node_probabilities >= 0).all()
    assert prediction.labels == tuple(LABELS[k] for k in prediction.node_probabilities.argmax(1))
    assert (prediction.head_index is not None) == has_heads
    if prediction.head_index is None or prediction.head_weight is None:
        return
    assert (prediction.head_index >= tree.starts).all()
    assert (prediction.head_index < tree.ends).all()
    assert (prediction.head_weight >= 0).all()
    assert (prediction.head_weight <= 1 + 1e-6).all()
    assert prediction.head_index[tree.leaves].tolist() == list(range(tree.num_words))
    assert prediction.head_weight[tree.leaves].tolist() == [1.0] * tree.num_words


@given(st.lists(any_trees(max_words=9), min_size=1, max_size=5), st.sampled_from(MODELS))
@settings(max_examples=40, deadline=None)
def test_every_node_of_any_tree(trees: list[Tree], name: str) -> None:
    predictions = list(PREDICTORS[name].predict_all(trees))
    for prediction, tree in zip(predictions, trees, strict=True):
        assert_makes_sense(prediction, tree, has_heads=name not in WITHOUT_HEADS)
        assert tree_from_json(json.loads(json.dumps(prediction.as_dict()))) == prediction.tree


@pytest.mark.parametrize("direction", ["left", "right", "head"])
def test_chains_and_wide_phrases_however_they_are_split(direction: str) -> None:
    predictor = Predictor(tiny_model(binarization=direction, supervision="root"))
    for text in ODD:
        tree = tree_from_brackets(text)
        assert_makes_sense(predictor.predict(tree), tree, has_heads=True)


def test_a_parse_is_read_around_its_heads() -> None:
    """A model of phrases with labels reads a parse as SST has it, and other trees as they were split in its training."""
    predictor = Predictor(tiny_model())
    parse = predictor.predict(tree_from_brackets("(S (NP it) (VP is) (. good))"))
    binary = predictor.predict(tree_from_brackets("(_ it (_ is good))"))
    assert parse.node_probabilities[0].tolist() == pytest.approx(binary.node_probabilities[0].tolist())
    parse = predictor.predict(tree_from_brackets("(SQ (VBZ is) (NP it) (ADJP good))"))
    binary = predictor.predict(tree_from_brackets("(_ (_ is it) good)"))
    assert parse.node_probabilities[0].tolist() == pytest.approx(binary.node_probabilities[0].tolist())
    parse = predictor.predict(tree_from_brackets("(1 is (0 it) (- good))"))
    binary = predictor.predict(tree_from_brackets("(_ is (_ it good))"))
    assert parse.node_probabilities[0].tolist() == pytest.approx(binary.node_probabilities[0].tolist())


def test_a_parse_is_read_alike_with_and_without_a_root_on_top() -> None:
    predictor = Predictor(tiny_model(binarization="head", supervision="root"))
    bare, rooted = (
        predictor.predict(tree_from_brackets(text)).node_probabilities[0].tolist()
        for text in ("(SQ (VBZ is) (NP it) (. good))", "(ROOT (SQ (VBZ is) (NP it) (. good)))")
    )
    assert bare == rooted


def test_the_nodes_of_a_chain_agree(predictor: Predictor) -> None:
    prediction = predictor.predict(tree_from_brackets("(S (VP (V (X good))))"))
    assert (prediction.node_probabilities == prediction.node_probabilities[0]).all()
    assert prediction.head(0) == (None if predictor.model.encoder.heads is None else "good")


def test_json_says_all_there_is_to_say() -> None:
    tree = tree_from_brackets("(_ (_ -LRB-) (_ (_ good) (_ film)))")
    prediction = PREDICTORS["bicontree"].predict(tree)
    values = prediction.as_dict()
    assert values["label"] == prediction.label
    assert values["labels"] == values["label_ids"] == ["0", "1"]
    assert values["words"] == ["-LRB-", "good", "film"]
    for node, phrase in enumerate(values["phrases"]):
        keys = ("start", "end", "label", "probabilities", "score", "head", "head_index", "head_weight")
        assert set(phrase) == set(keys)
        assert phrase["probabilities"] == pytest.approx(
            prediction.node_probabilities[node].tolist(), abs=1e-6
        )
        assert phrase["head"] == prediction.words[phrase["head_index"]] == prediction.head(node)
    assert values["phrases"][1]["head"] == "("
    assert "head" not in PREDICTORS["contree"].predict(tree).as_dict()["phrases"][0]


def test_the_sentence_comes_first() -> None:
    tree = tiny_trees(1)[0]
    prediction = PREDICTORS["bicontree"].predict(tree)
    assert prediction.label == prediction.labels[0] == prediction.tree.label
    assert prediction.probability == pytest.approx(prediction.node_probabilities[0].max())


def test_whole_sentences_only(predictor: Predictor) -> None:
    trees = [*tiny_trees(20), *map(tree_from_brackets, ODD)]
    everything = list(predictor.predict_all(trees))
    for whole, root in zip(everything, predictor.predict_all(trees, nodes="root"), strict=True):
        np.testing.assert_allclose(root.node_probabilities, whole.node_probabilities[:1], atol=1e-5)
        assert root.head_index is None
        assert root.labels[1:] == (NO_LABEL,) * (root.source.num_nodes - 1)
        assert root.label == whole.label
        values = json.loads(json.dumps(root.as_dict()))
        assert tree_from_json(values) == root.tree
        assert all("probabilities" not in phrase for phrase in values["phrases"][1:])
        assert len(list(root.draw())) == root.source.num_nodes


@pytest.mark.parametrize("name", ["bicontree", "bilstm"])
def test_finer_labels_are_never_answered(name: str) -> None:
    model = tiny_model(name, finer_labels=FINER_LABELS)
    predictor = Predictor(model)
    trees = [*tiny_trees(20), *map(tree_from_brackets, ODD)]
    for tree, prediction in zip(trees, predictor.predict_all(trees), strict=True):
        assert_makes_sense(prediction, tree, has_heads=model.encoder.has_heads)
        assert prediction.as_dict()["labels"] == list(LABELS)
        (root,) = predictor.predict(tree, nodes="root").node_probabilities
        np.testing.assert_allclose(root, prediction.node_probabilities[0], atol=1e-5)
    scores = predictor.evaluate(trees[:20])
    assert scores.root.labels == LABELS
    assert scores.root.num_counted == 20


def test_alone_or_in_a_batch(predictor: Predictor) -> None:
    trees = [*tiny_trees(150, seed=4), *map(tree_from_brackets, ODD), chain(40), chain(40, "right")]
    together = list(predictor.predict_all(trees))
    for tree, among in zip(trees, together, strict=True):
        alone = predictor.predict(tree)
        np.testing.assert_allclose(alone.node_probabilities, among.node_probabilities, atol=1e-5)
        if alone.head_index is not None and alone.head_weight is not None and among.head_weight is not None:
            np.testing.assert_array_equal(alone.head_index, among.head_index)
            np.testing.assert_allclose(alone.head_weight, among.head_weight, atol=1e-5)


def test_order_is_kept_across_batches() -> None:
    """More trees than a batch takes, with sizes in no order."""
    trees = tiny_trees(2 * inference.MAX_BATCH_TREES + 7, seed=5)
    found = PREDICTORS["contree"].predict_all(iter(trees))
    assert [prediction.source for prediction in found] == trees


def test_a_batch_is_bounded_by_nodes() -> None:
    model = PREDICTORS["contree"].model
    examples = [PREDICTORS["contree"]._prepare(tree) for tree in (chain(9), chain(5), chain(200), chain(3))]
    groups = list(inference.group_by_nodes(iter(examples), 30))
    assert [[example.tree.num_words for example in group] for group in groups] == [[9, 5], [200], [3]]
    assert len(list(inference.run_examples(model, examples, max_batch_nodes=30))) == 4


def test_nothing_in_nothing_out(predictor: Predictor) -> None:
    assert list(predictor.predict_all([])) == []


def test_a_stream_is_taken_as_it_comes() -> None:
    """An endless stream: no more than a window is read ahead, and what was given out is let go."""
    made: list[weakref.ref[Tree]] = []
    num_read = 0

    class Sentence(Tree):
        __slots__ = ("__weakref__",)

    def endless() -> Iterator[Tree]:
        nonlocal num_read
        example = tiny_trees(1)[0]
        while True:
            tree = Sentence(example.arity, example.labels, example.words)
            made.append(weakref.ref(tree))
            num_read += 1
            yield tree
            del tree

    stream = PREDICTORS["contree"].predict_all(endless())
    for number in range(1, 5 * inference.MAX_WINDOW_TREES):
        next(stream)
        assert num_read <= number + inference.MAX_WINDOW_TREES + 1
        if number % inference.MAX_WINDOW_TREES == 0:
            gc.collect()
            num_alive = sum(reference() is not None for reference in made)
            assert 0 < num_alive <= 2 * inference.MAX_WINDOW_TREES + 2


def test_an_error_in_the_stream_comes_through() -> None:
    def broken() -> Iterator[Tree]:
        yield tiny_trees(1)[0]
        raise ConfigError("the source is gone")

    with pytest.raises(ConfigError, match="the source is gone"):
        list(PREDICTORS["contree"].predict_all(broken()))


def test_prediction_leaves_the_model_as_it_was() -> None:
    model = tiny_model().train()
    Predictor(model).predict(tiny_trees(1)[0])
    gc.collect()
    assert model.training
    assert all(weight.grad is None for weight in model.parameters())


def test_a_sequence_model_refuses_what_would_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_a_word = encoders.STATES_KEPT * PREDICTORS["bilstm"].model.config.hidden * 4
    monkeypatch.setattr(spans, "MAX_SEQUENCE_BYTES", 1000 * bytes_a_word)
    with pytest.raises(ConfigError, match="too long") as caught:
        PREDICTORS["bilstm"].predict(chain(50))
    assert "--nodes root" in caught.value.remedy
    root = next(PREDICTORS["bilstm"].predict_all([chain(50)], nodes="root"))
    assert root.node_probabilities.shape == (1, 2)


def test_every_output_shows_the_same_names_and_the_ids_are_kept() -> None:
    predictor = Predictor(tiny_model(label_names={"0": "very bad", "1": "nice"}))
    prediction = predictor.predict(tree_from_brackets("(_ (_ good) (_ film))"))
    assert prediction.label == {"0": "very bad", "1": "nice"}[prediction.label_id]
    assert list(prediction.probabilities) == ["very bad", "nice"]
    assert prediction.probabilities[prediction.label] == prediction.probability
    first, second, third = prediction.draw()
    assert first == f"{prediction.label} {prediction.probability:.2f} ← {prediction.head(0)}"
    assert second.endswith("  good")
    assert third.endswith("  film")
    values = prediction.as_dict()
    assert (values["label"], values["labels"], values["label_ids"]) == (
        prediction.label,
        ["very bad", "nice"],
        ["0", "1"],
    )
    assert tuple(phrase["label"] for phrase in values["phrases"]) == prediction.labels
    for shown in (prediction.svg(), prediction.html(), prediction._repr_html_()):
        assert prediction.label in shown
    assert tree_from_brackets(prediction.brackets()).labels == prediction.label_ids == prediction.tree.labels
    assert "←" not in "".join(PREDICTORS["contree"].predict(prediction.source).draw())


def test_a_learned_model_knows_what_it_learned(saved_model: Path) -> None:
    predictor = lexitree.load(saved_model)
    assert predictor.predict(tree_from_brackets("(_ (_ (_ the) (_ film)) (_ (_ is) (_ good)))")).label == "1"
    assert predictor.predict(tree_from_brackets("(_ (_ (_ the) (_ film)) (_ (_ is) (_ bad)))")).label == "0"
    unknown = predictor.predict(tree_from_brackets("(_ (_ zyx) (_ wvu))"))
    assert np.isfinite(unknown.node_probabilities).all()
