"""The transformer without a tree: each phrase is read for itself, whatever stands around it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError, LexitreeError
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.ops.tree_batch import batch_examples
from lexitree.pipeline.predictor import Predictor
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.saving.test_saved_transformer import make_model
from tests.strategies import trees
from tests.tiny import LABELS, chain, tiny_dependencies, tiny_model, tiny_trees


@pytest.fixture(scope="module")
def model(encoders: dict[str, Path]) -> TreeClassifier:
    return make_model(encoders["bert"], "pooled").double()


WORDS = ("the", "film", "is", "great", "xyz")


@settings(max_examples=25)
@given(tree=trees(max_words=7), data=st.data())
def test_a_phrase_of_a_tree_is_the_phrase_alone(
    model: TreeClassifier, tree: Tree, data: st.DataObject
) -> None:
    words = data.draw(st.lists(st.sampled_from(WORDS), min_size=tree.num_words, max_size=tree.num_words))
    tree = Tree(tree.arity.tolist(), list(tree.labels), words)
    predictor = Predictor(model)
    found = predictor.predict(tree).node_probabilities
    for node, (start, end) in enumerate(tree.spans):
        flat = Tree([end - start] + [0] * (end - start), [""] * (end - start + 1), words[start:end])
        np.testing.assert_allclose(found[node], predictor.predict(flat).node_probabilities[0], atol=1e-6)


def test_the_loss_reads_labelled_phrases_only_and_is_the_same(model: TreeClassifier) -> None:
    tree = tree_from_brackets("(1 (_ (_ the) (0 film)) (_ (_ is) (1 great)))")
    batch = batch_examples(model.prepare([tree]))
    assert batch.pieces is not None
    assert len(batch.pieces.count) == 3
    probabilities = torch.from_numpy(Predictor(model).predict(tree).node_probabilities).double()
    expected = -sum(probabilities[node, int(label)].log() for node, label in ((0, 1), (3, 0), (6, 1)))
    torch.testing.assert_close(model.loss(batch).detach(), torch.as_tensor(expected), rtol=1e-4, atol=1e-5)


def test_root_supervision_reads_sentences_only(encoders: dict[str, Path]) -> None:
    lexicon = make_model(encoders["bert"], "pooled").lexicon
    config = ModelConfig(model="pooled", labels=LABELS, word_size=16, supervision="root")
    model = TreeClassifier(config, lexicon)
    batch = batch_examples(model.prepare(tiny_trees(6)))
    assert batch.pieces is not None
    assert len(batch.pieces.count) <= 6


def test_a_deep_tree(model: TreeClassifier) -> None:
    """Its sentence can be read, and its phrases together cannot."""
    predictor = Predictor(model.float())
    assert predictor.predict(chain(4_000), nodes="root").label in LABELS
    with pytest.raises(ConfigError, match="too long to be read one by one"):
        predictor.predict(chain(4_000))
    model.double()


def test_what_is_no_transformer_or_no_phrase_is_refused(encoders: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match="reads vectors of phrases") as caught:
        tiny_model("pooled")
    assert "--encoder" in caught.value.remedy
    lexicon = make_model(encoders["bert"], "pooled").lexicon
    with pytest.raises(ConfigError, match="reads vectors of words"):
        TreeClassifier(ModelConfig(labels=LABELS, word_size=16), lexicon)


def test_dependency_trees_are_refused(model: TreeClassifier) -> None:
    with pytest.raises(LexitreeError, match="these are dependency trees"):
        model.prepare(tiny_dependencies(2))
