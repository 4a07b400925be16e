"""DepTree from dependency trees to label scores: against a plain walk over each tree, and only for such trees."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lexitree.batch.tree_examples import make_example
from lexitree.errors import ConfigError, TreeError
from lexitree.models.catalog import DepTree, count_parameters
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.ops.tree_batch import batch_examples
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from tests.strategies import WORDS, dependency_trees
from tests.tiny import tiny_dependencies, tiny_model, tiny_trees


def plain_scores(model: TreeClassifier, tree: DependencyTree) -> Tensor:
    """The equations of Tai et al. (2015), one word at a time from the leaves, by word of the sentence."""
    assert isinstance(model.encoder, DepTree)
    cell, scorer = model.encoder.bottom_up, model.scorer
    hidden = cell.weight_h.shape[1]
    W_f, W_igo = cell.weight_x.split([hidden, 3 * hidden])
    U_f, U_igo = cell.weight_h.split([hidden, 3 * hidden])
    b_f, b_igo = cell.bias.split([hidden, 3 * hidden])
    vectors = model.lexicon(torch.from_numpy(model.lexicon.index(tree.words)))
    parents = tree.word_parents
    h: dict[int, Tensor] = {}
    c: dict[int, Tensor] = {}
    for word in reversed(tree.word_of.tolist()):
        children = [child for child, parent in enumerate(parents) if parent == word]
        x, total = (
            vectors[word],
            sum((h[child] for child in children), torch.zeros(hidden, dtype=torch.float64)),
        )
        i, g, o = (W_igo @ x + U_igo @ total + b_igo).chunk(3)
        c[word] = i.sigmoid() * g.tanh()
        for child in children:
            c[word] = c[word] + (W_f @ x + U_f @ h[child] + b_f).sigmoid() * c[child]
        h[word] = o.sigmoid() * c[word].tanh()
    states = torch.stack([h[word] for word in range(tree.num_words)])
    return (
        states @ scorer.hidden_weight.t() + scorer.hidden_bias
    ).relu() @ scorer.label_weight.t() + scorer.label_bias


def model_for_tests() -> TreeClassifier:
    torch.manual_seed(0)
    model = tiny_model("deptree", hidden=5, word_size=3).double()
    torch.nn.init.normal_(model.lexicon.get_parameter("vectors"))
    return model


@given(st.lists(dependency_trees(max_words=8, words=("good", "bad", "film", "the")), min_size=1, max_size=4))
@settings(max_examples=50)
def test_a_batch_against_a_plain_walk_over_each_tree(forest: list[DependencyTree]) -> None:
    model = model_for_tests()
    batch = batch_examples(model.prepare(forest))
    for tree, scores in zip(forest, batch.split(model(batch)), strict=True):
        expected = plain_scores(model, tree)[tree.word_of.tolist()]
        torch.testing.assert_close(scores, expected, rtol=0, atol=1e-12)


@given(st.lists(dependency_trees(max_words=8, words=WORDS), min_size=1, max_size=4))
@settings(max_examples=20)
def test_the_loss_is_that_of_the_labelled_nodes(forest: list[DependencyTree]) -> None:
    model = model_for_tests()
    expected = torch.zeros((), dtype=torch.float64)
    for tree in forest:
        scores = plain_scores(model, tree).log_softmax(1)
        for word, label in zip(tree.word_of.tolist(), tree.labels, strict=True):
            if label:
                expected = expected - scores[word, int(label)]
    torch.testing.assert_close(model.loss(batch_examples(model.prepare(forest))), expected)


def test_the_number_of_parameters() -> None:
    h, d, o, k = 150, 300, 128, 5
    expected = 4 * h * d + 4 * h * h + 4 * h + o * h + o + o * k + k
    assert count_parameters(ModelConfig(model="deptree", labels=tuple("01234"))) == expected == 290_573


def test_each_model_says_what_it_reads() -> None:
    with pytest.raises(ConfigError, match="this model reads dependency trees") as caught:
        tiny_model("deptree").prepare(tiny_trees(1))
    assert "sst-dependencies" in caught.value.remedy
    for name in ("bicontree", "bilstm"):
        with pytest.raises(ConfigError, match="this model reads constituency trees") as caught:
            tiny_model(name).prepare(tiny_dependencies(1))
        assert "deptree" in caught.value.remedy
    one = DependencyTree.from_parents(["good"], [-1])
    with pytest.raises(ConfigError):
        tiny_model("contree").prepare([one])
    with pytest.raises(ConfigError):
        tiny_model("deptree").prepare([Tree.leaf("good")])


def test_a_batch_of_the_wrong_kind_does_not_run() -> None:
    deptree, contree = tiny_model("deptree"), tiny_model("contree")
    star = DependencyTree.from_parents(["good", "old", "film"], [2, 2, -1])
    settings = {"labels": None, "direction": "right"}
    phrases = make_example(tiny_trees(1)[0], contree.lexicon, **settings)
    words = make_example(star, deptree.lexicon, kind="dependency", **settings)
    with pytest.raises(TreeError, match="a word at every node"):
        deptree(batch_examples([phrases]))
    with pytest.raises(TreeError, match="reads binary trees"):
        contree(batch_examples([words]))
