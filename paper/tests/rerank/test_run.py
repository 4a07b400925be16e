"""Training from end to end: better than the parser's own choice, resumable bit by bit, saved and read again."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.saving.edited_models import edit_weights

from lexitree.errors import CheckpointError, ConfigError, FileError, ModelFileError, TrainingDivergedError
from lexitree.saving.model_kinds import save_model
from lexitree.trees.brackets import tree_from_brackets
from lexitree_paper.analyze.head_overlap import find_reranker_heads, reranker_overlap
from lexitree_paper.rerank.data import RerankData, cut_folds, load_rerank_data, without_sentences_of
from lexitree_paper.rerank.examples import BinaryList
from lexitree_paper.rerank.lists import parse_list
from lexitree_paper.rerank.recipe import RERANKERS, RerankRecipe, RerankTraining
from lexitree_paper.rerank.reranker import load_reranker, ranked_to_json
from lexitree_paper.rerank.run import RerankRun, train_reranker
from lexitree_paper.rerank.scores import score_reranker
from tiny_lists import make_lists, tiny_data, tiny_recipe, write_lists


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RerankRun:
    """A reranker that has learned what trees of questions look like. Do not write into its folder."""
    return train_reranker(
        tiny_recipe(epochs=8), tmp_path_factory.mktemp("reranker") / "run", lists=tiny_data(150, 40, 40)
    )


@pytest.fixture(scope="module")
def saved(run: RerankRun) -> Path:
    return run.folder / "model"


def test_it_is_better_than_the_parser(run: RerankRun) -> None:
    assert run.test is not None
    summary = run.test.summary()
    assert summary["random_f1"] < summary["first_f1"] < summary["f1"] <= summary["oracle_f1"] == 1.0
    assert summary["gap_closed"] > 0.3
    assert summary["p"] < 0.05


def test_it_leaves_its_records(run: RerankRun) -> None:
    result = json.loads((run.folder / "result.json").read_text())
    assert result["lists"] == {"train": 150, "dev": 40, "test": 40}
    assert result["test"]["f1"] == run.test.chosen.f1 if run.test else False
    assert len(result["test_choices"]) == 40
    assert [row["first"] for row in result["test"]["by_length"]] == [1, 11]
    assert result["test"]["by_label"][0]["label"] == "NP"
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == list(range(1, 9))


def test_the_saved_reranker_is_the_trained_one(run: RerankRun, saved: Path) -> None:
    lists = [each.source for each in tiny_data(150, 40, 40).test]
    reranker = load_reranker(saved)
    assert reranker.base_weight == run.best.scores["base_weight"]
    ranked = list(reranker.rerank_all(lists, read_ahead=7))
    assert [each.order[0] for each in ranked] == list(run.choices)
    assert run.test is not None
    assert score_reranker(reranker, lists).chosen.f1 == run.test.chosen.f1
    assert "dev_f1" in reranker.training_record
    assert "reranker" in (saved / "README.md").read_text()


def test_lists_come_out_from_the_best_on(saved: Path) -> None:
    (candidates,) = make_lists(1)
    reranker = load_reranker(saved)
    ranked = reranker.rerank(candidates)
    assert sorted(ranked.order) == list(range(len(candidates.candidates)))
    totals = [candidate.score for candidate in ranked.candidates]
    assert totals == sorted(totals, reverse=True)
    assert ranked.best == ranked.candidates[0].tree
    # What is written is a list again, and reranking it changes nothing but the scores.
    again = parse_list(ranked_to_json(ranked), 1, "again")
    assert [each.tree for each in again.candidates] == [each.tree for each in ranked.candidates]
    assert again.gold == candidates.gold


def test_the_weight_of_the_parser_decides(saved: Path) -> None:
    lists = make_lists(20)
    by_parser = load_reranker(saved, base_weight=1e6)
    assert [by_parser.rerank(each).order[0] for each in lists] == [each.first for each in lists]
    alone = load_reranker(saved, base_weight=0.0)
    for each in lists:
        ranked = alone.rerank(each)
        np.testing.assert_allclose(ranked.totals, ranked.tree_scores)


def test_the_order_of_a_list_does_not_matter(saved: Path) -> None:
    reranker = load_reranker(saved)
    for each in make_lists(10):
        backwards = dataclasses.replace(each, candidates=each.candidates[::-1])
        assert reranker.rerank(each).best == reranker.rerank(backwards).best


def test_weights_that_do_not_fit_are_refused(saved: Path, tmp_path: Path) -> None:
    folder = save_model(load_reranker(saved), tmp_path / "other")
    edit_weights(folder, lambda tensors: tensors.update({"scorer.bias": tensors["scorer.bias"].half()}))
    with pytest.raises(ModelFileError, match="one precision"):
        load_reranker(folder)
    edit_weights(folder, lambda tensors: tensors.update({"scorer.bias": torch.zeros(3)}))
    with pytest.raises(ModelFileError, match="does not fit"):
        load_reranker(folder)


@pytest.mark.parametrize("model", RERANKERS)
def test_a_run_that_was_cut_ends_with_the_same_weights(model: str, tmp_path: Path) -> None:
    lists = tiny_data(24, 10, 10)
    recipe = tiny_recipe(model, epochs=3)
    whole = train_reranker(recipe, tmp_path / "whole", lists=lists)
    cut = train_reranker(recipe, tmp_path / "cut", lists=lists, minutes=0)
    assert len(cut.training.history) == 1
    with pytest.raises(FileError, match="already holds a run"):
        train_reranker(recipe, tmp_path / "cut", lists=lists)
    resumed = train_reranker(recipe, tmp_path / "cut", lists=lists, resume=True)
    assert [epoch.loss for epoch in resumed.training.history] == [
        epoch.loss for epoch in whole.training.history
    ]
    one, other = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_goes_on_only_with_its_own_settings(tmp_path: Path) -> None:
    lists = tiny_data(16, 8, 0)
    train_reranker(tiny_recipe(epochs=1), tmp_path / "run", lists=lists)
    with pytest.raises(CheckpointError, match="margin"):
        train_reranker(tiny_recipe(epochs=2, margin=3.0), tmp_path / "run", lists=lists, resume=True)
    with pytest.raises(CheckpointError, match="checksum of the lists"):
        train_reranker(
            tiny_recipe(epochs=2),
            tmp_path / "run",
            lists=RerankData(lists.train, lists.dev[:4]),
            resume=True,
        )
    assert train_reranker(tiny_recipe(epochs=2), tmp_path / "run", lists=lists, resume=True).test is None


def test_vectors_that_stay_are_not_in_the_checkpoint(tmp_path: Path) -> None:
    lists = tiny_data(16, 8, 0)
    words = sorted({word for each in [*lists.train, *lists.dev] for word in each.words})
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "vectors.npz", words=np.array(words), vectors=rng.normal(size=(len(words), 5)))
    recipe = dataclasses.replace(
        tiny_recipe(train_words=False, epochs=1), vectors=str(tmp_path / "vectors.npz"), vector_length=2.0
    )
    run = train_reranker(recipe, tmp_path / "run", lists=lists)
    assert not any("lexicon" in name for name in load_file(tmp_path / "run" / "checkpoint.safetensors"))
    table = load_reranker(run.folder / "model").model.lexicon
    lengths = next(table.parameters()).detach()[1:].norm(dim=1)
    torch.testing.assert_close(lengths, torch.full_like(lengths, 2.0))
    # The checkpoint is enough to go on.
    again = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, epochs=2))
    resumed = train_reranker(again, tmp_path / "run", lists=lists, resume=True)
    assert len(resumed.training.history) == 2


def test_divergence_is_said(tmp_path: Path) -> None:
    recipe = tiny_recipe(learning_rate=1e3, epochs=3, averaging=0.0)
    lists = tiny_data(16, 8, 0)
    huge = [dataclasses.replace(each, source=_with_scores(each, 1e38)) for each in lists.train]
    with pytest.raises(TrainingDivergedError, match="no longer a number"):
        train_reranker(recipe, tmp_path / "run", lists=RerankData(huge, lists.dev))


def _with_scores(each: BinaryList, factor: float) -> Any:
    candidates = tuple(
        candidate._replace(score=candidate.score * factor * 1e3) for candidate in each.source.candidates
    )
    return dataclasses.replace(each.source, candidates=candidates)


def test_files_of_lists(tmp_path: Path) -> None:
    lists = make_lists(30)
    train = write_lists(tmp_path / "train.jsonl", lists)
    test = write_lists(tmp_path / "test.jsonl", lists[:5])
    recipe = dataclasses.replace(tiny_recipe(), lists=(str(train),), test=(str(test),), held_out=0.2)
    found = load_rerank_data(recipe)
    # What is tested on is not trained on.
    assert found.sizes() == {"train": 20, "dev": 5, "test": 5}
    with pytest.raises(ConfigError, match="too few"):
        load_rerank_data(dataclasses.replace(recipe, test=(str(train),)))
    with_dev = dataclasses.replace(recipe, dev=(str(test),), test=())
    assert load_rerank_data(with_dev).sizes() == {"train": 30, "dev": 5, "test": 0}
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(FileError, match="has no lists"):
        load_rerank_data(dataclasses.replace(recipe, lists=(str(tmp_path / "empty.jsonl"),)))


def test_folds_cover_all_lists_and_never_share_a_sentence() -> None:
    lists = [*tiny_data(30, 10, 0).train, *tiny_data(30, 10, 0).train]
    folds = cut_folds(lists, 3, dev_share=0.2)
    assert sum(len(fold.test) for fold in folds) == len(lists)
    for fold in folds:
        assert without_sentences_of(fold.test, [*fold.train, *fold.dev]) == [*fold.train, *fold.dev]
        assert len(fold.dev) == round(0.2 * (len(fold.train) + len(fold.dev)))
    with pytest.raises(ConfigError, match="folds"):
        cut_folds(lists[:2], 3, dev_share=0.2)


def test_heads_are_words_of_their_phrases(saved: Path) -> None:
    model = load_reranker(saved).model
    trees = [each.source.gold for each in tiny_data(10, 1, 1).train if each.source.gold is not None]
    for headed in find_reranker_heads(model, trees):
        heads = headed.source_heads()
        assert all(start <= head < end for head, (start, end) in zip(heads, headed.source.spans, strict=True))
        single = [node for node in range(headed.tree.num_nodes) if not headed.tree.arity[node]]
        assert headed.learned[single].tolist() == list(range(headed.tree.num_words))
    overlap = reranker_overlap(model, trees)
    assert overlap.num_trees == len(trees)
    assert 0 <= overlap.all_phrases.learned <= 1


def test_a_model_without_heads_says_so(tmp_path: Path) -> None:
    run = train_reranker(tiny_recipe("contree", epochs=1), tmp_path / "run", lists=tiny_data(8, 4, 0))
    with pytest.raises(ConfigError, match="no head words"):
        list(
            find_reranker_heads(load_reranker(run.folder / "model").model, [tree_from_brackets("(S (NN a))")])
        )


class TestSettings:
    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"epochs": 0}, "epochs"),
            ({"margin": -1}, "margin"),
            ({"learning_rate": 0}, "learning_rate"),
            ({"train_words": 1}, "train_words"),
            ({"seed": 1.5}, "seed"),
            ({"nonsense": 1}, "nonsense"),
        ],
    )
    def test_of_training(self, values: dict[str, Any], said: str) -> None:
        with pytest.raises(ConfigError, match=said):
            RerankTraining.from_dict(values)

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"lists": "one.jsonl"}, "lists"),
            ({"held_out": 1}, "held_out"),
            ({"model": {"labels": ["NP"]}}, "labels"),
            ({"model": {"hidden": 0}}, "hidden"),
            ({"model": {"dropout": 1.0}}, "dropout"),
            ({"model": {"binarization": "up"}}, "binarization"),
            ({"model": {"odd": 1}}, "odd"),
            ({"model": 5}, "model"),
            ({"training": 5}, "training"),
            ({"odd": 1}, "odd"),
        ],
    )
    def test_of_a_recipe(self, values: dict[str, Any], said: str) -> None:
        with pytest.raises(ConfigError, match=said):
            RerankRecipe.from_dict(values)

    def test_a_recipe_comes_back_as_it_was(self, tmp_path: Path) -> None:
        recipe = tiny_recipe("bicontree")
        assert RerankRecipe.from_dict(recipe.as_dict()) == recipe
        path = tmp_path / "recipe.toml"
        path.write_text('lists = ["a.jsonl"]\n[model]\nmodel = "contree"\n[training]\nepochs = 2\n')
        read = RerankRecipe.from_toml(path)
        assert (read.lists, read.model["model"], read.training.epochs) == (("a.jsonl",), "contree", 2)
        path.write_text("[model]\nmodel = 3\n")
        with pytest.raises(FileError, match="recipe"):
            RerankRecipe.from_toml(path)

    def test_random_vectors_must_be_trained(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="start random"):
            train_reranker(tiny_recipe(train_words=False), tmp_path / "run", lists=tiny_data(8, 4, 0))
