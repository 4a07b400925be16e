"""The experiment on reranking at its smoke size: lists, runs, record and tables; and what goes on where it was cut."""

from __future__ import annotations

import dataclasses
import json
import shutil
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, FileError
from lexitree_paper.experiments import find_experiment
from lexitree_paper.kinds import make_report, perform
from lexitree_paper.report import to_markdown
from lexitree_paper.reranking import plan as plan_module
from lexitree_paper.reranking.plan import keep_systems, plan_reranking
from lexitree_paper.reranking.run_answers import ANSWER_FILE, TimeLimit, read_answer, run_task
from lexitree_paper.run_records import read_record, save_record
from lexitree_paper.runner import Settings
from lexitree_paper.score_tables import read_records
from tiny_lists import make_lists, write_lists

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
    assert read_answer(plan.tasks[0]) is None


def test_one_command_leaves_a_record_and_tables(tmp_path: Path) -> None:
    said: list[str] = []
    small = with_lists(tmp_path)
    perform(EXPERIMENT, small, say=said.append)
    assert len([line for line in said if "runs, " in line]) == 3 * 2
    record = read_record(tmp_path / "results" / "smoke", "reranking")
    assert record is not None
    assert record["command"] == "lexitree reproduce reranking --smoke"
    figures = record["figures"]
    assert set(figures["systems"]) == {"ConTree", "ConTree+Lex", "BiConTree"}
    bounds = figures["lists"]["mini"]
    assert bounds["sentences"] == 60
    assert bounds["random_f1"] < bounds["oracle_f1"] == 1.0
    assert {row["system"] for row in figures["heads"]} == {"ConTree+Lex", "BiConTree"}
    assert figures["comparisons"] == [], "one seed each cannot be compared"
    assert bounds["dev_share"] == 0.125
    assert "held_out" not in record["recipe"]
    text = to_markdown(make_report(EXPERIMENT, read_records(EXPERIMENT, small.records_folder)))
    assert (small.records_folder / "reranker-heads.svg").exists()
    for part in (
        "reranker-heads.svg",
        "ConTree+Lex",
        "4-best oracle",
        "90.83",
        "19.6",
        "by label",
        "Collins",
    ):
        assert part in text
    # What is recorded is not run again, whether the runs are there or not.
    said.clear()
    elsewhere = dataclasses.replace(small, folder=tmp_path / "nowhere")
    perform(EXPERIMENT, elsewhere, say=said.append)
    assert said == []


def record_in(folder: Path) -> dict[str, Any]:
    record = read_record(folder / "results" / "smoke", "reranking")
    assert record is not None
    return record


def run(folder: Path, *models: str, **changes: Any) -> list[str]:
    """Make the runs of some models; the names of those that were made."""
    said: list[str] = []
    perform(keep_systems(EXPERIMENT, models or ["contree"]), settings(folder, **changes), say=said.append)
    return [line.partition(": ")[2] for line in said if "runs, " in line]


def test_a_run_that_is_cut_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    one = keep_systems(EXPERIMENT, ["contree"])
    perform(one, with_lists(tmp_path, minutes=0), say=said.append)
    assert said == ["2 of 2 runs are not done yet; the same command resumes them"]
    assert not (tmp_path / "results").exists()
    assert len(run(tmp_path)) == 2
    assert set(record_in(tmp_path)["figures"]["systems"]) == {"ConTree"}


@pytest.mark.slow
def test_other_systems_and_seeds_are_added_to_what_is_recorded(tmp_path: Path) -> None:
    with_lists(tmp_path)
    run(tmp_path, "contree-lex", seeds=[2])
    first = record_in(tmp_path)
    shutil.rmtree(tmp_path / "runs" / "smoke" / "reranking" / "mini-contree-lex")
    run(tmp_path, "contree", seeds=[1])
    assert len(run(tmp_path, "contree", "contree-lex", seeds=[2])) == 2
    record = record_in(tmp_path)
    # The order of the table, not that of the runs.
    assert list(record["figures"]["systems"]) == ["ConTree", "ConTree+Lex"]
    assert list(record["figures"]["systems"]["ConTree"]["mini"]["seeds"]) == ["1", "2"]
    assert record["figures"]["systems"]["ConTree+Lex"] == first["figures"]["systems"]["ConTree+Lex"]
    assert record["figures"]["heads"] == first["figures"]["heads"]
    assert record["seeds"] == [1, 2]
    assert record["command"] == "lexitree reproduce reranking --smoke"
    assert record["figures"]["comparisons"] == []
    run(tmp_path, "contree-lex", seeds=[1])
    figures = record_in(tmp_path)["figures"]
    (row,) = figures["comparisons"]
    means = {name: statistics.fmean(system["mini"]["f1"]) for name, system in figures["systems"].items()}
    assert row["difference"] == pytest.approx(means["ConTree+Lex"] - means["ConTree"], abs=1e-8)
    assert row["num_seeds"] == [2, 2]
    tested = figures["systems"]["ConTree"]["mini"]["significance"]
    assert tested["difference"] == pytest.approx(
        means["ConTree"] - figures["lists"]["mini"]["first_f1"], abs=1e-8
    )
    assert tested["num_seeds"] == [2, 0]


def test_figures_are_computed_anew_without_training(tmp_path: Path) -> None:
    """An older record may have figures of another test."""
    with_lists(tmp_path)
    run(tmp_path)
    found = record_in(tmp_path)
    path = tmp_path / "results" / "smoke" / "reranking.jsonl"
    save_record(path.parent, "reranking", {**found, "figures": {}})
    assert run(tmp_path) == []
    assert record_in(tmp_path)["figures"] == found["figures"]
    # Nothing is written where nothing changes.
    changed = path.stat().st_mtime_ns
    run(tmp_path)
    assert path.stat().st_mtime_ns == changed


def test_again_means_anew(tmp_path: Path) -> None:
    with_lists(tmp_path)
    assert len(run(tmp_path)) == 2
    assert run(tmp_path) == []
    assert len(run(tmp_path, again=True)) == 2
    # What was to be made anew and was cut is made by the same command without it; until then the record stays.
    before = record_in(tmp_path)
    assert run(tmp_path, again=True, minutes=0) == []
    assert record_in(tmp_path) == before
    assert len(run(tmp_path)) == 2
    assert run(tmp_path) == []


def test_other_lists_are_run_again(tmp_path: Path) -> None:
    path = with_lists(tmp_path).runs_folder / "reranking" / "lists.jsonl"
    run(tmp_path)
    write_lists(path, make_lists(50))
    assert len(run(tmp_path)) == 2
    assert record_in(tmp_path)["figures"]["lists"]["mini"]["sentences"] == 50
    assert run(tmp_path) == []


def test_another_recipe_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_lists(tmp_path)
    run(tmp_path)
    monkeypatch.setattr(plan_module, "SMOKE_EPOCHS", 3)
    assert len(run(tmp_path)) == 2


def test_a_record_without_runs_is_made_anew(tmp_path: Path) -> None:
    """One of an older version, of which nothing can be kept."""
    with_lists(tmp_path)
    run(tmp_path)
    save_record(tmp_path / "results" / "smoke", "reranking", {"figures": record_in(tmp_path)["figures"]})
    shutil.rmtree(tmp_path / "runs" / "smoke" / "reranking" / "mini-contree")
    assert len(run(tmp_path)) == 2
    assert record_in(tmp_path)["runs"]


def test_small_files_are_enough_to_go_on_elsewhere(tmp_path: Path) -> None:
    with_lists(tmp_path / "there")
    run(tmp_path / "there", "contree-lex")
    with_lists(tmp_path / "here")
    for answer in (tmp_path / "there").rglob(ANSWER_FILE):
        assert answer.stat().st_size < 20_000
        copy = tmp_path / "here" / answer.relative_to(tmp_path / "there")
        copy.parent.mkdir(parents=True)
        shutil.copy(answer, copy)
    assert len(run(tmp_path / "here", "contree", "contree-lex")) == 2
    there, here = (record_in(tmp_path / name)["figures"] for name in ("there", "here"))
    assert here["systems"]["ConTree+Lex"] == there["systems"]["ConTree+Lex"]
    assert (here["heads"], here["drawn"]) == (there["heads"], there["drawn"])
    assert not list(tmp_path.rglob("checkpoint.safetensors"))


def test_a_damaged_answer_is_told(tmp_path: Path) -> None:
    with_lists(tmp_path)
    run(tmp_path)
    (tmp_path / "results" / "smoke" / "reranking.jsonl").unlink()
    next(tmp_path.rglob(ANSWER_FILE)).write_text("{")
    with pytest.raises(FileError, match=r"answer\.json"):
        run(tmp_path)


class TestTimeLimit:
    def test_what_would_end_too_late_waits(self) -> None:
        limit = TimeLimit(time.time() - 60, time.time() + 60)
        assert limit.minutes_left == pytest.approx(1, abs=0.1)
        assert limit.has_room_for(30)
        assert not limit.has_room_for(100)

    def test_what_is_longer_than_any_limit_is_begun_all_the_same(self) -> None:
        assert TimeLimit(time.time() - 60, time.time() + 60).has_room_for(1000)

    def test_runs_of_a_system_say_how_long_the_next_will_take(self, tmp_path: Path) -> None:
        with_lists(tmp_path)
        run(tmp_path, seeds=[1])
        for path in tmp_path.rglob(ANSWER_FILE):
            path.write_text(json.dumps({**json.loads(path.read_text()), "seconds": 50.0}))
        # The limit is two minutes, and 50 s of them are left.
        waits = TimeLimit(time.time() - 70, time.time() + 50)
        task = plan_reranking(EXPERIMENT, settings(tmp_path, seeds=[2])).tasks[0]
        assert not run_task(task, waits)
        assert not task.folder.exists()
        assert run_task(task, TimeLimit(time.time(), time.time() + 120))


def test_unknown_systems_are_refused() -> None:
    with pytest.raises(ConfigError, match="contree-lex"):
        keep_systems(EXPERIMENT, ["rntn"])


@pytest.mark.slow
def test_the_smoke_size_makes_its_own_lists(tmp_path: Path) -> None:
    perform(keep_systems(EXPERIMENT, ["contree-lex"]), settings(tmp_path))
    assert (tmp_path / "results" / "smoke" / "reranking.jsonl").exists()
