"""Tables of scores beside the paper's figures, and of significance tests between systems."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX
from lexitree.evaluation.answers import answers_from_text
from lexitree.evaluation.significance import RecipeDifference, compare_recipe_scores, compare_recipes
from lexitree_paper.experiments import SCORES, Experiment, PlannedRun
from lexitree_paper.report import NOT_RUN, Report, Table, percent, spread, training_notes
from lexitree_paper.run_records import ANSWERS, GOLD, read_named

Records = Mapping[str, Mapping[str, Any]]
"""Records by the names of runs."""


def read_records(experiment: Experiment, results: Path) -> dict[str, dict[str, Any]]:
    """Read the existing records of an experiment, by name; further runs of a recipe join the first."""
    also = {run.name: run.also for run in experiment.runs}
    names = experiment.record_names
    found = read_named(results, [*names, *(other for others in also.values() for other in others)])
    return {
        name: _join_runs(found[name], [found[other] for other in also.get(name, ()) if other in found])
        for name in names
        if name in found
    }


def _join_runs(first: dict[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a record with the seeds of further records of the same recipe."""
    joined = {**first}
    for number, other in enumerate(others, 2):
        joined["seeds"] = [*joined["seeds"], *other["seeds"]]
        runs = {f"{seed}, run {number}": run for seed, run in other["runs"].items()}
        joined["runs"] = {**joined["runs"], **runs}
    return joined


def report_scores(experiment: Experiment, records: Mapping[str, Mapping[str, Any]]) -> Report:
    """Report the scores and, if answers were recorded, the significance of differences."""
    tables = (make_table(experiment, records), *difference_tables(experiment, records))
    return Report(tables)


def make_table(experiment: Experiment, records: Mapping[str, Mapping[str, Any]]) -> Table:
    """Make the table of scores: one row per system, beside the paper's figures."""
    figures = [
        (task, figure)
        for task in experiment.tasks
        for figure in (*SCORES, *experiment.shows)
        if _is_shown(experiment, records, task, figure)
    ]
    columns = ["system"]
    for task, figure in figures:
        title = f"{experiment.tasks[task]} {_FIGURE_NAMES[figure]}"
        columns += [title, f"{title}, the paper"] if _is_printed(experiment, task, figure) else [title]
    rows = [
        (
            system,
            *(cell for task, figure in figures for cell in _cells(experiment, tasks, records, task, figure)),
        )
        for system, tasks in experiment.rows.items()
    ]
    return Table(tuple(columns), tuple(rows), _notes(experiment, records))


_FIGURE_NAMES = {
    "root": "root",
    "phrase": "phrase",
    "num_parameters": "parameters",
    "seconds": "seconds",
}


def _is_shown(
    experiment: Experiment, records: Mapping[str, Mapping[str, Any]], task: str, figure: str
) -> bool:
    runs = [tasks[task] for tasks in experiment.rows.values() if task in tasks]
    return any(figure in run.paper for run in runs) or (
        figure in SCORES
        and any(_scores(records[run.name], figure) for run in runs if run.name in records)
        and not experiment.shows
    )


def _is_printed(experiment: Experiment, task: str, figure: str) -> bool:
    """Return whether the paper has this figure for any system."""
    return any(figure in tasks[task].paper for tasks in experiment.rows.values() if task in tasks)


def _cells(
    experiment: Experiment,
    tasks: Mapping[str, PlannedRun],
    records: Mapping[str, Mapping[str, Any]],
    task: str,
    figure: str,
) -> list[str]:
    """Return our cell and, if the paper has the figure for any system, the paper's."""
    run = tasks.get(task)
    record = records.get(run.name) if run else None
    cells = [_ours(record, figure) if record else NOT_RUN]
    if _is_printed(experiment, task, figure):
        cells.append(_plain(run.paper[figure], figure) if run and figure in run.paper else NOT_RUN)
    return cells


def _ours(record: Mapping[str, Any], figure: str) -> str:
    if figure == "num_parameters":
        return _plain(record["num_parameters"], figure)
    if figure == "seconds":
        return _plain(statistics.fmean(run["seconds"] for run in record["runs"].values()), figure)
    scores = _scores(record, figure)
    if not scores:
        return NOT_RUN
    if len(scores) == 1:
        return f"{spread(scores)} (one seed)"
    return f"{spread(scores)} (best by dev: {percent(_chosen(record, figure))})"


def _scores(record: Mapping[str, Any], figure: str) -> list[float]:
    """Return the test scores of all seeds; empty if the task has no such score."""
    values = [run.get(f"test_{figure}") for run in record["runs"].values()]
    return [] if any(value is None for value in values) else values


def _chosen(record: Mapping[str, Any], figure: str) -> float:
    """Return the test score of the seed with the best development accuracy, as in the paper."""
    return max(record["runs"].values(), key=lambda run: run["dev_root"])[f"test_{figure}"]


def _plain(value: float, figure: str) -> str:
    return f"{value:,.0f}" if figure in ("num_parameters", "seconds") else f"{value:.1f}"


def _notes(experiment: Experiment, records: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return notes on seeds, epochs and vectors, and on what has not been run."""
    notes = training_notes(records.values())
    missing = [name for name in experiment.record_names if name not in records]
    if missing:
        notes.append(f"not run yet: {', '.join(missing)}")
    return tuple(notes)


SIGNIFICANCE_NOTES = (
    "Student's t over seeds and test sentences together, so that p and the interval are about the recipes",
    "p is two-sided and that of each test by itself: of twenty tests of equal recipes one is below 0.05",
)
_SEED_NOTES = ("Welch's t over seeds only, because single phrases are not recorded; p is two-sided",)


def difference_tables(experiment: Experiment, records: Records) -> list[Table]:
    """Make the tables of differences between systems, in root and in phrase accuracy, where they can be tested."""
    tables = [
        _difference_table(experiment, records, _test_roots, "root", SIGNIFICANCE_NOTES),
        _difference_table(experiment, records, _test_phrases, "phrase", _SEED_NOTES),
    ]
    return [table for table in tables if table is not None]


Test = Callable[[Mapping[str, Any], Mapping[str, Any]], RecipeDifference | None]
"""Compares the records of two recipes; None if they cannot be compared."""


def _difference_table(
    experiment: Experiment, records: Records, test: Test, score: str, notes: tuple[str, ...]
) -> Table | None:
    """Make a table with one row per pair of systems; None if no pair can be tested."""
    found = {
        pair: {task: _test_pair(experiment, records, pair, task, test) for task in experiment.tasks}
        for pair in experiment.pairs
    }
    tasks = [task for task in experiment.tasks if any(results[task] for results in found.values())]
    columns = ["systems"]
    for task in tasks:
        columns += [f"{experiment.tasks[task]} difference", "95 % between", "p"]
    rows = tuple(
        (f"{first} – {second}", *(cell for task in tasks for cell in result_cells(results[task])))
        for (first, second), results in found.items()
        if any(results.values())
    )
    title = f"differences in {score} accuracy, in points"
    return Table(tuple(columns), rows, notes, title) if rows else None


def result_cells(result: RecipeDifference | None) -> tuple[str, str, str]:
    """Format the difference, its bounds and p."""
    if result is None:
        return NOT_RUN, NOT_RUN, NOT_RUN
    bounds = f"{100 * result.low:+.1f} and {100 * result.high:+.1f}"
    return f"{100 * result.difference:+.1f}", bounds, result.shown_p()


def _test_pair(
    experiment: Experiment, records: Records, pair: tuple[str, str], task: str, test: Test
) -> RecipeDifference | None:
    """Test one pair on one task; None without two records of at least two seeds, which tell of a recipe."""
    runs = [experiment.rows[system].get(task) for system in pair if system in experiment.rows]
    chosen = [records[run.name] for run in runs if run is not None and run.name in records]
    if len(chosen) < 2 or any(len(record["runs"]) < 2 for record in chosen):
        return None
    return test(*chosen)


def _test_roots(first: Mapping[str, Any], second: Mapping[str, Any]) -> RecipeDifference | None:
    """Compare answers; different sentences, or the same in another order, cannot be paired."""
    one, other = right_answers(first), right_answers(second)
    if one is None or other is None or first[GOLD] != second[GOLD]:
        return None
    return compare_recipes(one, other)


def _test_phrases(first: Mapping[str, Any], second: Mapping[str, Any]) -> RecipeDifference | None:
    scores = [_scores(record, "phrase") for record in (first, second)]
    return compare_recipe_scores(*scores) if all(scores) else None


def right_answers(record: Mapping[str, Any]) -> npt.NDArray[np.bool_] | None:
    """Return [seeds, sentences]: what each seed got right; None for a record without answers."""
    answers = [run.get(ANSWERS) for run in record["runs"].values()]
    if not record.get(GOLD) or not all(answers):
        return None
    gold = answers_from_text(record[GOLD])
    right = np.stack([answers_from_text(text) == gold for text in answers])
    return right[:, gold != NO_INDEX]
