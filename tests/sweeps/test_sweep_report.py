"""The report lists every trial, and the best recipe can be trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.sweeps.ledger import best_trial, open_sweep
from lexitree.sweeps.sweep_report import rank_trials, write_report
from lexitree.tasks.classify.recipe import CorpusPlan, Recipe, TrainingConfig
from tests.sweeps.fake_trials import run_all, write_space

pytest.importorskip("optuna", reason="the extra sweep is not installed")
pytest.importorskip("matplotlib", reason="the extra plots is not installed")

RECIPE = Recipe(
    corpus='a "quoted" name\n',
    teacher="runs/large",
    teacher_trees=("a.txt", "b.txt"),
    strip_traces=True,
    model={"model": "contree", "hidden": 75},
    training=TrainingConfig(epochs=3, learning_rate=1e-05),
)


def test_a_report_has_all_trials_and_the_best_recipe(tmp_path: Path) -> None:
    space = write_space(tmp_path, trials=12)
    with open_sweep(tmp_path / "runs", RECIPE, space) as sweep:
        run_all(sweep)
        write_report(sweep)
    trials = sweep.finished()
    page = (tmp_path / "runs" / "report.html").read_text(encoding="utf-8")
    states = [trial.outcome.state for trial in trials]
    assert page.count("stopped early</td>") == states.count("pruned") > 0
    assert page.count("failed: the loss is no longer a number") == states.count("failed") > 0
    assert page.count("<tr><th scope='row'>") == 12
    assert "<script" not in page
    assert page.count("<svg") == 1
    best = best_trial(trials)
    assert Recipe.from_toml(tmp_path / "runs" / "best.toml") == RECIPE.with_values(best.settings)
    assert [trial.outcome.state for trial in rank_trials(trials)] == sorted(
        states, key=["complete", "pruned", "failed"].index
    )
    records = json.loads((tmp_path / "runs" / "trials.json").read_text(encoding="utf-8"))
    assert records[best.number]["score"] == max(record["score"] or 0 for record in records)
    assert [record["state"] for record in records] == states


def test_the_score_has_its_name(tmp_path: Path) -> None:
    space = write_space(tmp_path, trials=1)
    several = Recipe(more=(CorpusPlan(corpus="mini-questions"),), training=TrainingConfig(choose_by="mean"))
    for recipe, name in ((Recipe(), "dev root"), (several, "dev mean")):
        with open_sweep(tmp_path / name, recipe, space) as sweep:
            run_all(sweep)
            write_report(sweep)
        assert f"<th>{name}</th>" in (tmp_path / name / "report.html").read_text(encoding="utf-8")
        assert f"{name} accuracy" in (tmp_path / name / "plots.svg").read_text(encoding="utf-8")


def test_one_seed_has_no_deviation(tmp_path: Path) -> None:
    with open_sweep(tmp_path / "runs", Recipe(), write_space(tmp_path, trials=1, seeds=(1,))) as sweep:
        run_all(sweep)
        write_report(sweep)
    for name in ("report.html", "best.toml"):
        assert "±" not in (tmp_path / "runs" / name).read_text(encoding="utf-8")


def test_variants_are_drawn_by_name(tmp_path: Path) -> None:
    rates = "".join(
        f'[variants."rate-{rate}"]\nmodel.dropout = 0.3\n"training.learning_rate" = {rate}\n'
        for rate in (1e-3, 1e-2)
    )
    with open_sweep(tmp_path / "runs", Recipe(), write_space(tmp_path, rates)) as sweep:
        run_all(sweep)
        write_report(sweep)
    assert "rate-0.01" in (tmp_path / "runs" / "plots.svg").read_text(encoding="utf-8")
    assert best_trial(sweep.finished()).parameters == {"variant": "rate-0.001"}
