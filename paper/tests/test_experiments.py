"""The experiments name recipes that exist, models that can be built and figures that the paper prints."""

from __future__ import annotations

import pytest

from lexitree.errors import ConfigError
from lexitree.models.catalog import count_parameters
from lexitree.models.model_config import ModelConfig
from lexitree.trees.brackets import tree_from_brackets
from lexitree_paper.experiments import (
    SCORE_TABLE,
    Experiment,
    PlannedRun,
    find_experiment,
    list_experiments,
)
from lexitree_paper.kinds import ANALYSES, KINDS, RERANKING

EXPERIMENTS = list_experiments()
RUNS = {run.name: run for experiment in EXPERIMENTS for run in experiment.runs}


@pytest.mark.parametrize("run", RUNS.values(), ids=lambda run: run.name)
def test_every_run_has_a_recipe(run: PlannedRun) -> None:
    recipe = run.read()
    values = recipe.as_dict()
    for name, value in run.changes.items():
        table, _, setting = name.rpartition(".")
        assert (values[table] if table else values)[setting] == value
    ModelConfig.from_dict({**recipe.model, "labels": ("0", "1")})


def test_runs_of_one_name_are_one_run() -> None:
    for experiment in EXPERIMENTS:
        for run in experiment.runs:
            other = RUNS[run.name]
            assert (run.recipe, dict(run.changes)) == (other.recipe, dict(other.changes))


def test_the_sizes_of_the_paper_are_those_of_the_modules() -> None:
    sizes = [run for run in find_experiment("model-size").runs if "num_parameters" in run.paper]
    assert len(sizes) == 7
    for run in sizes:
        config = ModelConfig.from_dict({**run.read().model, "labels": tuple("01234")})
        assert count_parameters(config) == run.paper["num_parameters"], run.name


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_experiment_says_what_it_is(experiment: Experiment) -> None:
    assert experiment.title
    assert experiment.about
    assert experiment.num_seeds >= 1
    assert experiment.kind in KINDS
    # An analysis compares models, and the paper's figures stand with it rather than with its runs.
    # What is under its trees, static vectors or a transformer, makes an experiment the paper's or ours.
    of_the_paper = [
        run for run in experiment.runs if not run.read().encoder and experiment.name != "taught-or-not"
    ]
    assert experiment.kind != SCORE_TABLE or all(run.paper for run in of_the_paper)
    assert all(system in experiment.rows for pair in experiment.pairs for system in pair)


def test_every_analysis_is_an_experiment_that_shares_its_runs() -> None:
    scored = {
        run.name for experiment in EXPERIMENTS if experiment.kind == SCORE_TABLE for run in experiment.runs
    }
    analyses = [experiment for experiment in EXPERIMENTS if experiment.kind not in (SCORE_TABLE, RERANKING)]
    assert {experiment.kind for experiment in analyses} == set(ANALYSES)
    for experiment in analyses:
        assert {run.name for run in experiment.runs} <= scored
        assert experiment.record_names == (experiment.name,)
        assert all(len(tasks) == 1 for tasks in experiment.rows.values())


@pytest.mark.parametrize("name", ["head-pictures", "error-analysis"])
def test_the_sentences_of_the_paper_are_binary_trees(name: str) -> None:
    sentences = find_experiment(name).details["sentences"]
    assert len(sentences) == 3
    for entry in sentences:
        tree = tree_from_brackets(entry["tree"])
        assert tree.is_binary
        assert entry.get("head", tree.words[0]) in tree.words


def test_an_unknown_experiment_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="main-tabel") as error:
        find_experiment("main-tabel")
    assert "Did you mean main-table" in str(error.value)
