"""A model gives trees in arrays the answers that it gives trees as objects."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexitree.batch.tree_layout import TreeLayout
from lexitree.errors import CancelledError, NotFiniteError
from lexitree.models import flat_inference
from lexitree.models.flat_inference import start_flat
from lexitree.models.label_model import AskedNodes
from lexitree.pipeline.predictor import Predictor
from lexitree.text.word_kinds import word_kinds
from lexitree.trees.flat_trees import FlatTrees, binarize_parses
from lexitree.trees.tree import Tree
from tests.models.test_guessed_words import with_guesser
from tests.parsers.random_parser import random_parser, random_sentences
from tests.tiny import CONSTITUENCY_MODELS, tiny_model


def some_trees(number: int) -> tuple[FlatTrees, list[str], list[Tree]]:
    sentences = random_sentences(number, 12)
    trees = binarize_parses(random_parser().start_parses(sentences).result(), "head")
    words = [word for sentence in sentences for word in sentence]
    return trees, words, [trees.tree(place, sentence) for place, sentence in enumerate(sentences)]


def test_the_layout_is_that_of_the_trees() -> None:
    trees, words, forest = some_trees(30)
    numbers = np.arange(len(words)) + 7
    found = TreeLayout.from_flat(trees, numbers, np.array(word_kinds(words)))
    expected = TreeLayout.from_trees(forest, np.split(numbers, trees.first_word[1:-1]))
    for name in TreeLayout.__slots__:
        ours, theirs = getattr(found, name), getattr(expected, name)
        if isinstance(theirs, np.ndarray):
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        else:
            assert ours == theirs, name


@pytest.mark.parametrize("name", CONSTITUENCY_MODELS)
@pytest.mark.parametrize("max_nodes", [12_000, 60])
def test_answers_are_those_for_trees(name: str, max_nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_inference, "_NODES_AT_ONCE", {"cpu": max_nodes})
    trees, words, forest = some_trees(12)
    model = tiny_model(name)
    outputs = start_flat(model, trees, words).result()
    roots = start_flat(model, trees, words, nodes="root").result()
    for number, expected in enumerate(Predictor(model).predict_all(forest)):
        nodes = slice(trees.first_node[number], trees.first_node[number + 1])
        np.testing.assert_allclose(outputs.probabilities[nodes], expected.node_probabilities, atol=1e-6)
        np.testing.assert_allclose(roots.probabilities[number], expected.node_probabilities[0], atol=1e-6)
        if expected.head_index is None or expected.head_weight is None:
            assert outputs.head_index is outputs.head_weight is None
        else:
            assert outputs.head_index is not None
            assert outputs.head_weight is not None
            np.testing.assert_array_equal(outputs.head_index[nodes], expected.head_index)
            np.testing.assert_allclose(outputs.head_weight[nodes], expected.head_weight, atol=1e-6)
    assert roots.head_index is roots.head_weight is None


def test_unknown_words_are_guessed() -> None:
    trees, words, _ = some_trees(5)
    words[0] = words[3] = "Zzz"
    words[4] = "not-so-great"
    sentences = np.split(np.array(words), trees.first_word[1:-1])
    forest = [trees.tree(number, sentence.tolist()) for number, sentence in enumerate(sentences)]
    model = with_guesser(tiny_model())
    outputs = start_flat(model, trees, words).result()
    expected = [each.node_probabilities for each in Predictor(model).predict_all(forest)]
    np.testing.assert_allclose(outputs.probabilities, np.concatenate(expected), atol=1e-6)


@pytest.mark.parametrize("nodes", ["all", "root"])
def test_a_broken_model_is_found_out(nodes: AskedNodes) -> None:
    trees, words, _ = some_trees(3)
    model = tiny_model()
    torch.nn.init.constant_(model.scorer.label_bias, torch.nan)
    with pytest.raises(NotFiniteError, match="not finite"):
        start_flat(model, trees, words, nodes=nodes).result()


def test_labelling_can_be_ended_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_inference, "_NODES_AT_ONCE", {"cpu": 1})
    trees, words, _ = some_trees(4)
    num_checks = 0

    def check() -> None:
        nonlocal num_checks
        num_checks += 1
        if num_checks == 3:
            raise CancelledError("enough")

    with pytest.raises(CancelledError):
        start_flat(tiny_model(), trees, words, check=check)
