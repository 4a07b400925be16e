"""Tables of significance tests between systems, from recorded answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX
from lexitree.evaluation.answers import answers_from_text
from lexitree.evaluation.significance import BootstrapResult, paired_bootstrap
from lexitree_paper.experiments import Experiment
from lexitree_paper.report import NOT_RUN, Table
from lexitree_paper.run_records import ANSWERS, GOLD

Records = Mapping[str, Mapping[str, Any]]

TITLE = "differences in root accuracy, in points"
NOTES = (
    "paired bootstrap over test sentences, 10,000 resamples",
    "a sentence counts with the share of the seeds that are right",
    "p is two-sided and speaks about these trained models: seeds are not resampled",
)


def significance_table(experiment: Experiment, records: Records) -> Table | None:
    """One row for each pair of systems; None where no pair has answers recorded."""
    columns = ["systems"]
    for title in experiment.tasks.values():
        columns += [f"{title} difference", "95 % between", "p"]
    found = [
        (pair, [_test_pair(experiment, records, pair, task) for task in experiment.tasks])
        for pair in experiment.pairs
    ]
    rows = tuple(
        (f"{first} – {second}", *(cell for result in results for cell in result_cells(result)))
        for (first, second), results in found
        if any(results)
    )
    return Table(tuple(columns), rows, NOTES, TITLE) if rows else None


def result_cells(result: BootstrapResult | None) -> tuple[str, str, str]:
    """The difference, the bounds and p, as text."""
    if result is None:
        return NOT_RUN, NOT_RUN, NOT_RUN
    bounds = f"{100 * result.low:+.1f} and {100 * result.high:+.1f}"
    return f"{100 * result.difference:+.1f}", bounds, result.shown_p()


def _test_pair(
    experiment: Experiment, records: Records, pair: tuple[str, str], task: str
) -> BootstrapResult | None:
    """The test of one pair on one task; None where one was not run, or before answers were kept."""
    runs = [experiment.rows[system].get(task) for system in pair if system in experiment.rows]
    chosen = [records[run.name] for run in runs if run is not None and run.name in records]
    # Other sentences, or the same in another order, cannot be paired.
    if len(chosen) < 2 or chosen[0].get(GOLD) != chosen[1].get(GOLD):
        return None
    first, second = map(right_answers, chosen)
    return None if first is None or second is None else paired_bootstrap(first, second)


def right_answers(record: Mapping[str, Any]) -> npt.NDArray[np.bool_] | None:
    """[seeds, sentences]: which sentences each seed got right; None for a record without answers."""
    answers = [run.get(ANSWERS) for run in record["runs"].values()]
    if not record.get(GOLD) or not all(answers):
        return None
    gold = answers_from_text(record[GOLD])
    right = np.stack([answers_from_text(text) == gold for text in answers])
    return right[:, gold != NO_INDEX]
