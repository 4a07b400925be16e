"""The figures of an error analysis agree with each other, and its tables show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.systems import made_up_system

from lexitree.evaluation.significance import compare_recipes
from lexitree_paper.analyses.error_analysis import (
    analyse_errors,
    compare_slices,
    mean_confusion,
    report_errors,
)
from lexitree_paper.analyses.job import Job, record_findings
from lexitree_paper.experiments import find_experiment
from lexitree_paper.runner import Settings, watch_nothing

EXPERIMENT = find_experiment("error-analysis")
SENTENCES = ["not bad", "good", "no way", "fine"]
GOLD = [0, 0, 1, 1]
BASELINE = made_up_system("base", GOLD, [[0, 1, 0, 1], [1, 1, 0, 1]], sentences=SENTENCES)
SYSTEM = made_up_system("new", GOLD, [[0, 0, 1, 2]] * 2, sentences=SENTENCES, names={"a": "bad"})


@pytest.fixture(scope="module")
def record(smoke_runs: Path) -> dict[str, Any]:
    job = Job(EXPERIMENT, Settings(folder=smoke_runs, results=smoke_runs, smoke=True), watch_nothing)
    return record_findings(job, analyse_errors(job))


def test_slices_are_compared_on_their_own_sentences() -> None:
    slices = {part["title"]: part for part in compare_slices(SYSTEM, BASELINE)}
    assert slices["all sentences"]["accuracies"] == {"base": 0.375, "new": 0.75}
    assert slices["bad"]["num_sentences"] == 2
    assert slices["c"]["significance"] is None
    negated = slices["with negation"]
    assert negated["accuracies"] == {"base": 0.25, "new": 1.0}
    expected = compare_recipes(SYSTEM.correct[:, [0, 2]], BASELINE.correct[:, [0, 2]])
    assert negated["significance"] == expected.as_dict()
    one_seed = made_up_system("one", GOLD, [[0, 0, 1, 2]], sentences=SENTENCES)
    assert all(part["significance"] is None for part in compare_slices(one_seed, BASELINE))


def test_confusions_are_means_over_seeds() -> None:
    assert mean_confusion(BASELINE) == [[0.5, 1.5, 0], [1, 1, 0], [0, 0, 0]]
    assert mean_confusion(SYSTEM) == [[2, 0, 0], [0, 1, 1], [0, 0, 0]]


def test_the_figures_agree_with_each_other(record: dict[str, Any]) -> None:
    figures = record["figures"]
    everything = figures["slices"][0]
    for name, counts in figures["confusions"].items():
        right = sum(counts[label][label] for label in range(5))
        assert right / everything["num_sentences"] == pytest.approx(everything["accuracies"][name])
    found = figures["agreement"]
    assert (found["only_first"], found["only_second"]) == (figures["num_won"], figures["num_lost"])
    assert len(figures["won"]) <= 5
    titles = {part["title"] for part in figures["slices"]}
    assert set(EXPERIMENT.details["paper"]) <= titles


def test_the_tables(record: dict[str, Any]) -> None:
    slices, agreement, *confusions, won, lost, examples = report_errors(EXPERIMENT, record).tables
    by_title = {row[0]: row for row in slices.rows}
    assert by_title["very positive"][-1] == "+11.0"
    assert by_title["with negation"][-1] == "+4.4"
    assert sum(float(cell) for cell in agreement.rows[0]) == 300
    assert [len(table.rows) for table in confusions] == [5, 5]
    assert won.columns == ("sentence", "BiConTree", "ConTree")
    assert lost.columns == ("sentence", "ConTree", "BiConTree")
    assert [row[1] for row in examples.rows] == ["positive", "negative", "neutral"]
    assert examples.rows[0][0].startswith("Gloriously goofy ( and gory )")
    assert examples.rows[0][-1] == "Gloriously"
    assert all(row[4].endswith(" 1") for row in examples.rows)
