"""Experiments run at their smoke size, leave records, and do not run again what is recorded."""

from __future__ import annotations

import dataclasses
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from lexitree.tasks.classify.recipe import Recipe
from lexitree_paper.experiments import Experiment, PlannedRun, find_experiment
from lexitree_paper.kinds import run_experiment
from lexitree_paper.run_records import read_record
from lexitree_paper.runner import Settings, covers, data_files, plan
from lexitree_paper.score_tables import difference_tables, right_answers


def first_run(name: str) -> Experiment:
    """An experiment with its first row only: the others differ in settings, not in kind."""
    experiment = find_experiment(name)
    rows = dict(list(experiment.rows.items())[:1])
    return dataclasses.replace(experiment, rows=rows)


def settings(folder: Path, **changes: Any) -> Settings:
    return Settings(folder=folder / "runs", results=folder / "results", smoke=True, jobs=1, **changes)


def test_a_smoke_run_is_recorded_and_not_run_again(tmp_path: Path) -> None:
    experiment = first_run("questions")
    trained: list[str] = []

    def watch(run: PlannedRun, recipe: Recipe) -> Any:
        assert recipe.corpus == "mini-questions"
        trained.append(run.name)
        return nullcontext()

    records = run_experiment(experiment, settings(tmp_path), watch=watch)
    assert trained == ["trec-bilstm"]
    record = read_record(tmp_path / "results" / "smoke", "trec-bilstm")
    assert record == records["trec-bilstm"]
    assert {"command", "commit", "date", "data", "machine", "seeds", "recipe"} <= set(record)
    assert record["command"] == "lexitree reproduce questions --only trec-bilstm --smoke"
    assert len(record["runs"]["1"]["epochs"]) == 1
    right = right_answers(record)
    assert right is not None
    assert right.mean() == pytest.approx(record["runs"]["1"]["test_root"])
    run_experiment(experiment, settings(tmp_path), watch=watch)
    assert trained == ["trec-bilstm"]


def test_a_record_of_other_settings_does_not_count(tmp_path: Path) -> None:
    (run,) = first_run("head-methods").runs
    recipe = plan(run, settings(tmp_path))
    done = {"recipe": recipe.as_dict(), "seeds": [1, 2]}
    assert covers(done, recipe, [1])
    assert covers(done, recipe.with_seed(2), [1, 2])
    assert not covers(done, recipe, [1, 2, 3])
    longer = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, epochs=2))
    assert not covers(done, longer, [1])
    assert not covers(done, dataclasses.replace(recipe, model={**recipe.model, "hidden": 9}), [1])


def test_a_record_of_other_vectors_does_not_count(tmp_path: Path) -> None:
    """A record of vectors that stand in for others must not keep the real ones from being used."""
    (run,) = first_run("head-methods").runs
    full = dataclasses.replace(settings(tmp_path, vectors="somewhere/real.zip"), smoke=False)
    recipe = plan(run, full)
    done = {"recipe": {**recipe.as_dict(), "vectors": "$LEXITREE_DATA/vectors/real.zip"}, "seeds": [1]}
    assert covers(done, recipe, [1])
    for other in ("real.approx.npz", None):
        assert not covers({"recipe": {**recipe.as_dict(), "vectors": other}, "seeds": [1]}, recipe, [1])
    # Who names no vectors asks for what there is.
    assert covers(done, plan(run, dataclasses.replace(full, vectors=None)), [1])


def test_a_setting_that_a_record_is_too_old_for_counts_as_its_default(tmp_path: Path) -> None:
    (run,) = first_run("head-methods").runs
    recipe = plan(run, settings(tmp_path))
    old = recipe.as_dict()
    del old["training"]["decay_kind"]
    done = {"recipe": old, "seeds": [1]}
    assert covers(done, recipe, [1])
    other = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, decay_kind="l2"))
    assert not covers(done, other, [1])


@pytest.mark.parametrize("name", ["main-table", "model-size", "training-time"])
def test_full_size_takes_the_recipe_as_it_is(name: str, tmp_path: Path) -> None:
    for run in find_experiment(name).runs:
        full = dataclasses.replace(settings(tmp_path, vectors="glove.txt", epochs=3), smoke=False)
        recipe = plan(run, full)
        assert recipe.vectors == "glove.txt"
        assert recipe.training.epochs == 3
        assert recipe.corpus == run.read().corpus


def test_rntn_learns_its_own_vectors(tmp_path: Path) -> None:
    full = dataclasses.replace(settings(tmp_path, vectors="glove.txt"), smoke=False)
    (run,) = [run for run in find_experiment("quoted-systems").runs if run.name == "sst-rntn"]
    assert plan(run, full).vectors is None


@pytest.mark.slow
def test_what_is_learnt_from_five_labels_is_paired_with_what_is_learnt_from_two(tmp_path: Path) -> None:
    """The same test sentences in the same order, their labels numbered alike."""
    rows = {
        name: {"binary": find_experiment(name).rows["ConTree"]["binary"]}
        for name in ("main-table", "tuned-table")
    }
    experiment = dataclasses.replace(
        find_experiment("main-table"), rows=rows, pairs=(("tuned-table", "main-table"),)
    )
    records = run_experiment(experiment, settings(tmp_path))
    plain, tuned = records.values()
    assert (plain["recipe"]["corpus"], tuned["recipe"]["corpus"]) == (
        "mini-reviews-binary",
        "mini-reviews-polarity",
    )
    assert tuned["corpus"]["train"] > plain["corpus"]["train"]
    assert tuned["test_root_gold"] == plain["test_root_gold"]
    assert set(tuned["test_root_gold"]) == set("01")
    assert difference_tables(experiment, records) == [], "a recipe cannot be judged by one seed"
    again = {
        name: {**record, "runs": record["runs"] | {"2": record["runs"]["1"]}}
        for name, record in records.items()
    }
    table, _ = difference_tables(experiment, again)
    ((_, difference, _, _),) = table.rows
    scores = [record["runs"]["1"]["test_root"] for record in (tuned, plain)]
    assert difference == f"{100 * (scores[0] - scores[1]):+.1f}"


@pytest.mark.slow
def test_a_teacher_is_trained_before_its_student_and_once(tmp_path: Path) -> None:
    trained: list[str] = []

    def watch(run: PlannedRun, _recipe: Recipe) -> Any:
        trained.append(run.name)
        return nullcontext()

    students = ["sst-bicontree-minilm-taught", "sst-binary-bicontree-minilm-more-trees"]
    records = run_experiment(
        find_experiment("transformer").with_runs(students), settings(tmp_path), watch=watch
    )
    assert trained == ["sst-bicontree-minilm-static", *students]
    assert list(records) == students
    assert read_record(tmp_path / "results" / "smoke", "sst-bicontree-minilm-static") is not None
    recipe = records["sst-bicontree-minilm-taught"]["recipe"]
    assert Path(recipe["teacher"]).name == "sst-bicontree-minilm-static"


def test_a_record_of_another_teacher_does_not_count(tmp_path: Path) -> None:
    (run,) = find_experiment("transformer").with_runs(["sst-bicontree-minilm-more-trees"]).runs
    recipe = plan(run, dataclasses.replace(settings(tmp_path), smoke=False))
    assert recipe.teacher == str(tmp_path / "runs" / "sst-bicontree-minilm-static")
    assert len(recipe.teacher_trees) == 5
    done = {"recipe": {**recipe.as_dict(), "teacher": "elsewhere/sst-bicontree-minilm-static"}, "seeds": [1]}
    assert covers(done, recipe, [1])
    parsed = [path.replace("treebanks/", "runs/parses/") for path in recipe.teacher_trees]
    for change in ({"teacher": ""}, {"teacher": "another"}, {"teacher_trees": parsed}):
        assert not covers({"recipe": {**done["recipe"], **change}, "seeds": [1]}, recipe, [1])


@pytest.mark.slow
def test_a_student_with_lessons_needs_no_teacher(tmp_path: Path) -> None:
    trained: list[str] = []

    def watch(run: PlannedRun, _recipe: Recipe) -> Any:
        trained.append(run.name)
        return nullcontext()

    experiment = find_experiment("transformer").with_runs(["sst-bicontree-minilm-taught"])
    run_experiment(experiment, settings(tmp_path), watch=watch)
    runs = tmp_path / "runs" / "smoke"
    shutil.rmtree(runs / "sst-bicontree-minilm-static")
    (tmp_path / "results" / "smoke" / "sst.jsonl").unlink()
    run_experiment(experiment, settings(tmp_path), watch=watch)
    assert trained == ["sst-bicontree-minilm-static", *2 * ["sst-bicontree-minilm-taught"]]


def test_all_teachers_teach_whichever_seeds_are_asked_for(tmp_path: Path) -> None:
    experiment = find_experiment("transformer").with_runs(["sst-bicontree-minilm-taught"])
    asked: list[tuple[str, list[int]]] = []

    def note(run: PlannedRun, _recipe: Recipe, seeds: list[int], *_: Any) -> Any:
        asked.append((run.name, seeds))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lexitree_paper.trained.train_run", note)
        full = dataclasses.replace(settings(tmp_path), smoke=False, seeds=[7])
        with pytest.raises(KeyboardInterrupt):
            run_experiment(experiment, full)
    assert asked == [("sst-bicontree-minilm-static", [1, 2, 3, 4, 5])]


def test_the_trees_of_teachers_are_files_of_the_run(treebank: Path) -> None:
    trees = treebank / "dev.txt"
    recipe = Recipe(corpus=str(treebank), teacher="runs/teacher", teacher_trees=(str(trees),))
    assert data_files(recipe) == [trees]
