"""Dependency trees through the whole house: trained, resumed, saved, loaded, evaluated, predicted and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lexitree
from lexitree.corpora.named import load_corpus
from lexitree.errors import ConfigError
from lexitree.pipeline.predictor import Predictor
from lexitree.tasks.classify.run import train
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.jsonl import tree_from_json
from tests.tiny import tiny_dependencies, tiny_model, tiny_recipe, write_dependency_treebank

SETTINGS = {"model": "deptree", "dropout": 0.2}


def test_the_corpus_is_one_of_dependency_trees(dependency_bank: Path) -> None:
    corpus = load_corpus(dependency_bank)
    assert all(isinstance(tree, DependencyTree) for trees in corpus.splits.values() for tree in trees)
    assert corpus.labels == ("0", "1")
    assert corpus.supervision == "all"


def test_it_learns_and_scores_as_it_did(dependency_run: Path, dependency_bank: Path) -> None:
    result = json.loads((dependency_run / "result.json").read_text())
    assert result["test_root"] >= 0.9
    predictor = lexitree.load(dependency_run / "model")
    scores = predictor.evaluate(load_corpus(dependency_bank).test)
    assert scores.root.accuracy == result["test_root"]
    assert scores.phrase is not None
    assert scores.phrase.accuracy == result["test_phrase"]
    assert "dependency-trees" in (dependency_run / "model" / "README.md").read_text()


def test_a_resumed_run_gives_the_same_weights(dependency_bank: Path, tmp_path: Path) -> None:
    for epochs in (2, 4):
        train(
            tiny_recipe(dependency_bank, model=SETTINGS, epochs=epochs), tmp_path / "cut", resume=epochs == 4
        )
    train(tiny_recipe(dependency_bank, model=SETTINGS, epochs=4), tmp_path / "whole")
    cut, whole = (tmp_path / name / "model" / "model.safetensors" for name in ("cut", "whole"))
    assert cut.read_bytes() == whole.read_bytes()


def test_the_order_of_the_words_is_part_of_a_run(dependency_bank: Path, tmp_path: Path) -> None:
    """Two trees of one shape over the same words differ in which word stands where."""
    recipe = tiny_recipe(dependency_bank, model=SETTINGS)
    train(recipe, tmp_path / "run")
    other = tmp_path / "other"
    write_dependency_treebank(other)
    lines = [json.loads(line) for line in (other / "train.jsonl").read_text().splitlines()]
    for line in lines:
        # Determiner and noun change places: the same arity at every node.
        line["parents"][0], line["parents"][1] = line["parents"][1], 0
        line["phrases"] = [{"word": phrase["word"], "label": phrase["label"]} for phrase in line["phrases"]]
        swapped = {0: 1, 1: 0}
        for phrase in line["phrases"]:
            phrase["word"] = swapped.get(phrase["word"], phrase["word"])
    (other / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(lexitree.LexitreeError, match="checksum of the trees"):
        train(tiny_recipe(other, model=SETTINGS, epochs=3), tmp_path / "run", resume=True)


def test_every_node_is_predicted(dependency_run: Path) -> None:
    predictor = lexitree.load(dependency_run / "model")
    trees = tiny_dependencies(20, seed=9)
    for tree, prediction in zip(trees, predictor.predict_all(trees), strict=True):
        assert prediction.node_probabilities.shape == (tree.num_words, 2)
        assert prediction.tree.words == tree.words
        values = json.loads(json.dumps(prediction.as_dict()))
        assert tree_from_json(values) == prediction.tree
        assert [phrase["word"] for phrase in values["phrases"]] == tree.word_of.tolist()
        alone = predictor.predict(tree)
        np.testing.assert_allclose(alone.node_probabilities, prediction.node_probabilities, atol=1e-5)
        root = predictor.predict(tree, nodes="root")
        np.testing.assert_allclose(root.node_probabilities[0], prediction.node_probabilities[0], atol=1e-5)
    first = next(iter(predictor.predict(trees[0]).draw()))
    assert first.endswith("  is")


def test_deep_wide_and_lone_words() -> None:
    predictor = Predictor(tiny_model("deptree"))
    size = 3_000
    shapes = ([-1, *range(size - 1)], [-1] + [0] * (size - 1), [-1])
    trees = [DependencyTree.from_parents(["good"] * len(parents), parents) for parents in shapes]
    for prediction in predictor.predict_all(trees):
        assert np.isfinite(prediction.node_probabilities).all()


@pytest.mark.parametrize(("model", "reads"), [("bicontree", "constituency"), ("bilstm", "constituency")])
def test_a_model_of_phrases_is_not_trained_on_them(
    dependency_bank: Path, tmp_path: Path, model: str, reads: str
) -> None:
    with pytest.raises(ConfigError, match=f"this model reads {reads} trees"):
        train(tiny_recipe(dependency_bank, model={"model": model}), tmp_path / "run")


def test_nor_deptree_on_phrases(treebank: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this model reads dependency trees"):
        train(tiny_recipe(treebank, model=SETTINGS), tmp_path / "run")
