"""Small lists of candidates: the embedded questions with their trees, and the same trees with mistakes."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from lexitree.corpora.mini import load_mini_parses
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from lexitree.parsers.penn_spans import without_root
from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree
from lexitree_paper.rerank.data import RerankData
from lexitree_paper.rerank.examples import BinaryList, binarize_list, frequent_labels
from lexitree_paper.rerank.lists import CandidateList, ScoredTree
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.recipe import RerankerConfig, RerankRecipe, RerankTraining

SIZES: dict[str, Any] = {"hidden": 12}


def make_lists(count: int, *, seed: int = 0, num_wrong: int = 3, split: str = "train") -> list[CandidateList]:
    """Lists in which the right tree stands anywhere, and the parser's scores are right half of the time."""
    rng = random.Random(seed)
    trees = [without_root(tree) for tree in load_mini_parses()[split]]
    return [make_list(tree, rng, num_wrong) for tree in trees[:count]]


def make_list(gold: Tree, rng: random.Random, num_wrong: int) -> CandidateList:
    wrong = {spoil(gold, rng) for _ in range(num_wrong)} - {gold}
    trees = [gold, *sorted(wrong, key=tree_to_brackets)]
    scores = [rng.uniform(-3, 0) + (tree is gold) for tree in trees]
    candidates = [ScoredTree(tree, score) for tree, score in zip(trees, scores, strict=True)]
    rng.shuffle(candidates)
    return CandidateList(tuple(candidates), gold)


def spoil(tree: Tree, rng: random.Random) -> Tree:
    """The tree without one of its phrases, or with another label on it."""
    phrases = [node for node in range(1, tree.num_nodes) if tree.arity[node]]
    if not phrases:
        return tree
    node = rng.choice(phrases)
    if rng.random() < 0.3:
        labels = list(tree.labels)
        labels[node] = "ADVP" if labels[node] != "ADVP" else "NP"
        return tree.with_labels(labels)
    spans = [span for place, span in enumerate(tree.spans) if place != node]
    labels = [label for place, label in enumerate(tree.labels) if place != node]
    return Tree.from_spans(tree.words, spans, labels)


def as_json(candidates: CandidateList) -> dict[str, Any]:
    listed = [
        {"score": candidate.score, "tree": tree_to_brackets(candidate.tree)}
        for candidate in candidates.candidates
    ]
    gold = {} if candidates.gold is None else {"gold": tree_to_brackets(candidates.gold)}
    return {**gold, "candidates": listed}


def write_lists(path: Path, lists: Sequence[CandidateList]) -> Path:
    path.write_text("".join(json.dumps(as_json(each)) + "\n" for each in lists), encoding="utf-8")
    return path


def prepared(lists: Sequence[CandidateList]) -> list[BinaryList]:
    return [binarize_list(each, "head") for each in lists]


def tiny_data(num_train: int = 60, num_dev: int = 25, num_test: int = 25) -> RerankData:
    lists = prepared(make_lists(num_train + num_dev + num_test))
    return RerankData(lists[:num_train], lists[num_train : num_train + num_dev], lists[num_train + num_dev :])


def tiny_recipe(model: str = "contree-lex", **training: Any) -> RerankRecipe:
    """A recipe that trains in a second or two."""
    settings = {
        "epochs": 3,
        "batch_size": 8,
        "learning_rate": 0.01,
        "averaging": 0.9,
        "train_words": True,
        "min_label_count": 1,
        **training,
    }
    return RerankRecipe(
        model={"model": model, "dropout": 0.1, **SIZES}, min_count=1, training=RerankTraining(**settings)
    )


def tiny_model(
    name: str, lists: Sequence[BinaryList], *, backend: str = "auto", seed: int = 1, **settings: Any
) -> RerankerModel:
    """A model in double precision with random weights that knows the words and labels of some lists."""
    torch.manual_seed(seed)
    config = RerankerConfig(
        **{
            "model": name,
            "labels": frequent_labels(lists, 1),
            "word_size": 6,
            "hidden": 5,
            "bias_init": "uniform",
            **settings,
        }
    )
    vocabulary = Vocabulary.from_trees([each.trees[0] for each in lists])
    table = WordTable(vocabulary, torch.randn(vocabulary.num_rows, config.word_size))
    return RerankerModel(config, table, backend=backend).double().eval()
