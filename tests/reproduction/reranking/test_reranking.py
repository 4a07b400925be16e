"""The experiment on reranking at its smoke size: lists, runs, record and tables; and what goes on where it was cut."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError
from lexitree.reproduction.experiments import find_experiment
from lexitree.reproduction.kinds import make_report, perform
from lexitree.reproduction.records import read_record
from lexitree.reproduction.report import to_markdown
from lexitree.reproduction.reranking.plan import keep_systems, plan_reranking
from lexitree.reproduction.runner import Settings
from lexitree.reproduction.tables import read_records
from tests.reranking.tiny_lists import make_lists, write_lists

EXPERIMENT = find_experiment("reranking")


def settings(folder: Path, **changes: Any) -> Settings:
    return Settings(folder=folder / "runs", results=folder / "results", smoke=True, jobs=1, **changes)


def with_lists(folder: Path, **changes: Any) -> Settings:
    """Lists are there already, so that no parser has to be trained for them."""
    found = settings(folder, **changes)
    path = found.runs_folder / "reranking" / "lists.jsonl"
    path.parent.mkdir(parents=True)
    write_lists(path, make_lists(60))
    return found


def test_the_plan_has_every_system_seed_and_part(tmp_path: Path) -> None:
    plan = plan_reranking(EXPERIMENT, Settings(folder=tmp_path, results=tmp_path))
    assert [system.name for system in plan.systems] == ["ConTree", "ConTree+Lex", "BiConTree"]
    assert len(plan.tasks) == 3 * 5 * (5 + 1)
    assert len({task.folder for task in plan.tasks}) == len(plan.tasks)
    assert {task.recipe.model["model"] for task in plan.tasks} == {"contree", "contree-lex", "bicontree"}
    assert plan.tasks[0].read_result() is None


def test_one_command_leaves_a_record_and_tables(tmp_path: Path) -> None:
    said: list[str] = []
    small = with_lists(tmp_path)
    perform(EXPERIMENT, small, say=said.append)
    assert len([line for line in said if "runs, " in line]) == 3 * 2
    record = read_record(tmp_path / "results" / "smoke" / "reranking.json")
    assert record is not None
    assert record["command"] == "lexitree reproduce reranking --smoke"
    figures = record["figures"]
    assert set(figures["systems"]) == {"ConTree", "ConTree+Lex", "BiConTree"}
    bounds = figures["lists"]["mini"]
    assert bounds["sentences"] == 60
    assert bounds["random_f1"] < bounds["oracle_f1"] == 1.0
    assert {row["system"] for row in figures["heads"]} == {"ConTree+Lex", "BiConTree"}
    assert len(figures["comparisons"]) == 3
    text = to_markdown(make_report(EXPERIMENT, read_records(EXPERIMENT, small.records_folder)))
    for part in ("ConTree+Lex", "4-best oracle", "90.83", "19.6", "by label", "Collins"):
        assert part in text
    # What is recorded is not run again, whether the runs are there or not.
    said.clear()
    elsewhere = dataclasses.replace(small, folder=tmp_path / "nowhere")
    perform(EXPERIMENT, elsewhere, say=said.append)
    assert said == []


def test_a_run_that_is_cut_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    one = keep_systems(EXPERIMENT, ["contree"])
    perform(one, with_lists(tmp_path, minutes=0), say=said.append)
    assert said == ["0 of 2 runs are done; the same command goes on with the others"]
    assert not (tmp_path / "results").exists()
    said.clear()
    perform(one, settings(tmp_path), say=said.append)
    assert len(said) == 2
    record = json.loads((tmp_path / "results" / "smoke" / "reranking.json").read_text())
    assert set(record["figures"]["systems"]) == {"ConTree"}


def test_unknown_systems_are_refused() -> None:
    with pytest.raises(ConfigError, match="contree-lex"):
        keep_systems(EXPERIMENT, ["rntn"])


@pytest.mark.slow
def test_the_smoke_size_makes_its_own_lists(tmp_path: Path) -> None:
    perform(keep_systems(EXPERIMENT, ["contree-lex"]), settings(tmp_path))
    assert (tmp_path / "results" / "smoke" / "reranking.json").exists()
