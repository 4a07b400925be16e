"""Records of an experiment in, its table out, each figure beside the paper's: mean, deviation and the chosen seed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexitree.reproduction.experiments import SCORES, Experiment, PlannedRun
from lexitree.reproduction.records import read_record

NOT_RUN = "–"
APPROXIMATED = "approx"
"""In the name of a file of vectors: they stand in for the real ones, and every table must say so."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """A table of text cells, ready for a terminal or a page."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def read_records(experiment: Experiment, results: Path) -> dict[str, dict[str, Any]]:
    """The records that there are, by the names of the runs."""
    found = {run.name: read_record(results / f"{run.name}.json") for run in experiment.runs}
    return {name: record for name, record in found.items() if record is not None}


def make_table(experiment: Experiment, records: Mapping[str, Mapping[str, Any]]) -> ScoreTable:
    """One row a system; for each task the figures that the paper or a run has."""
    figures = [
        (task, figure)
        for task in experiment.tasks
        for figure in (*SCORES, *experiment.shows)
        if _is_shown(experiment, records, task, figure)
    ]
    columns = ["system"]
    for task, figure in figures:
        title = f"{experiment.tasks[task]} {FIGURE_NAMES[figure]}"
        columns += [title, f"{title}, the paper"]
    rows = [
        (system, *(cell for task, figure in figures for cell in _cells(tasks.get(task), records, figure)))
        for system, tasks in experiment.rows.items()
    ]
    return ScoreTable(tuple(columns), tuple(rows), _notes(experiment, records))


FIGURE_NAMES = {
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


def _cells(run: PlannedRun | None, records: Mapping[str, Mapping[str, Any]], figure: str) -> tuple[str, str]:
    """Ours and the paper's."""
    if run is None:
        return NOT_RUN, NOT_RUN
    printed = _plain(run.paper[figure], figure) if figure in run.paper else NOT_RUN
    record = records.get(run.name)
    return (_ours(record, figure) if record else NOT_RUN), printed


def _ours(record: Mapping[str, Any], figure: str) -> str:
    if figure == "num_parameters":
        return _plain(record["num_parameters"], figure)
    if figure == "seconds":
        return _plain(statistics.fmean(run["seconds"] for run in record["runs"].values()), figure)
    scores = _scores(record, figure)
    if not scores:
        return NOT_RUN
    mean = f"{100 * statistics.fmean(scores):.1f}"
    if len(scores) == 1:
        return f"{mean} (one seed)"
    return f"{mean} ± {100 * statistics.stdev(scores):.1f} (best by dev: {100 * _chosen(record, figure):.1f})"


def _scores(record: Mapping[str, Any], figure: str) -> list[float]:
    """The test scores of all seeds; none where the task has no such score."""
    values = [run[f"test_{figure}"] for run in record["runs"].values()]
    return [] if any(value is None for value in values) else values


def _chosen(record: Mapping[str, Any], figure: str) -> float:
    """The test score of the seed with the best development accuracy, as the paper chooses."""
    return max(record["runs"].values(), key=lambda run: run["dev_root"])[f"test_{figure}"]


def _plain(value: float, figure: str) -> str:
    return f"{value:,.0f}" if figure in ("num_parameters", "seconds") else f"{value:.1f}"


def _notes(experiment: Experiment, records: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """What a reader must know: seeds and epochs, vectors that stand in for others, what has not been run."""
    notes: list[str] = []
    used = list(records.values())
    for epochs, seeds in sorted({(r["recipe"]["training"]["epochs"], len(r["seeds"])) for r in used}):
        notes.append(f"{_count(seeds, 'seed')}, {_count(epochs, 'epoch')}")
    vectors = {r["recipe"]["vectors"] for r in used}
    if any(name and APPROXIMATED in name for name in vectors):
        notes.append("the word vectors are an approximation of GloVe 840B")
    if None in vectors:
        notes.append("without pretrained word vectors")
    missing = [run.name for run in experiment.runs if run.name not in records]
    if missing:
        notes.append(f"not run yet: {', '.join(dict.fromkeys(missing))}")
    return tuple(notes)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def to_markdown(table: ScoreTable) -> str:
    """The table as a page shows it."""
    lines = [
        _line(table.columns),
        _line(["---"] + ["---:"] * (len(table.columns) - 1)),
        *map(_line, table.rows),
    ]
    notes = f"\n\n{'; '.join(table.notes)}." if table.notes else ""
    return "\n".join(lines) + notes


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
