"""Tables of the paper's own protocol beside the authors' log, and of the decision between recipes for questions."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from lexitree.evaluation.significance import compare_recipes
from lexitree_paper.experiments import find_experiment
from lexitree_paper.score_tables import result_cells, right_answers
from markdown_text import make_table, show_percent, show_spread
from record_tables import NOT_MEASURED
from result_records import read_record

AUTHORS_LOSSES = {1: 20.4, 2: 17.3, 3: 16.1, 4: 15.3, 5: 14.7, 10: 13.1, 30: 11.1}
"""The mean training loss of a sentence by epoch, from the log that the authors released with their code."""


def render_losses() -> str:
    """The training losses of BiConTree by epoch, beside those of the authors' log."""
    rows = [["the authors' log, one seed", *(f"{loss:.1f}" for loss in AUTHORS_LOSSES.values())]]
    for title, name in (
        ("one sentence per update", "sst-bicontree-batch-1"),
        ("batches of 25", "sst-bicontree"),
    ):
        record = read_record(name)
        if record is None:
            return NOT_MEASURED
        runs = record["runs"].values()
        means = [
            statistics.fmean(run["epochs"][epoch - 1]["loss"] for run in runs) for epoch in AUTHORS_LOSSES
        ]
        rows.append([f"{title}, mean of {len(runs)} seeds", *(f"{mean:.1f}" for mean in means)])
    return make_table(["BiConTree, five classes", *(f"epoch {epoch}" for epoch in AUTHORS_LOSSES)], rows)


AUTHORS_LOG = {"dev_root": 0.5204, "test_root": 0.5118}
"""The best development accuracy of the authors' log, and the test accuracy of that epoch."""
SHOWN_LOSSES = (1, 10, 30)
"""The epochs whose losses are shown for all systems."""


def render_reproduced() -> str:
    """Every system by the paper's own protocol: its figure, ours chosen as it chooses and as a mean, and losses."""
    experiment = find_experiment("paper-protocol")
    header = ["system", "root, the paper", "best of the seeds: dev", "its test", "mean of seeds", "seeds"]
    rows: list[list[str]] = []
    for task, title in experiment.tasks.items():
        for system, tasks in experiment.rows.items():
            if record := read_record(tasks[task].name):
                rows.append([f"{title}: {system}", f"{tasks[task].paper['root']:.1f}", *_by_protocol(record)])
    log = [AUTHORS_LOSSES[epoch] for epoch in SHOWN_LOSSES]
    rows.append(
        [
            "5-class: BiConTree, the authors' log",
            "",
            *(show_percent(AUTHORS_LOG[name]) for name in ("dev_root", "test_root")),
            "",
            "1",
            *(f"{loss:.1f}" for loss in log),
        ]
    )
    return make_table([*header, *(f"loss, epoch {epoch}" for epoch in SHOWN_LOSSES)], rows)


def _by_protocol(record: Mapping[str, Any]) -> list[str]:
    runs = list(record["runs"].values())
    chosen = max(runs, key=lambda run: run["dev_root"])
    losses = [statistics.fmean(run["epochs"][epoch - 1]["loss"] for run in runs) for epoch in SHOWN_LOSSES]
    return [
        *(show_percent(chosen[name]) for name in ("dev_root", "test_root")),
        show_spread([run["test_root"] for run in runs]),
        str(len(runs)),
        *(f"{loss:.1f}" for loss in losses),
    ]


QUESTION_RECIPES = ("trec-bicontree", "trec-bicontree-subtypes", "trec-bicontree-tuned")
"""The recipes between which the protocol on the page on questions decides; the first is the untuned one."""


def render_question_choice() -> str:
    """What ten new seeds decide: held-out questions choose a recipe, and one test on the test questions judges it."""
    records = {name: read_record(f"trec-ten/{name}") for name in QUESTION_RECIPES}
    found = {name: record for name, record in records.items() if record is not None}
    if len(found) < len(QUESTION_RECIPES):
        return NOT_MEASURED
    chosen = max(found, key=lambda name: statistics.fmean(_roots(found[name], "dev_root")))
    rows = [
        [
            f"`{name}`" + (", chosen" if name == chosen else ""),
            str(len(record["runs"])),
            show_spread(_roots(record, "dev_root")),
            show_spread(_roots(record, "test_root")),
        ]
        for name, record in found.items()
    ]
    return make_table(["recipe", "seeds", "held-out questions", "test questions"], rows) + _judge(
        found, chosen
    )


def _judge(found: Mapping[str, Mapping[str, Any]], chosen: str) -> str:
    first = QUESTION_RECIPES[0]
    if chosen == first:
        return f"\n\nThe untuned recipe, `{first}`, is chosen, and there is nothing to test."
    ours, untuned = right_answers(found[chosen]), right_answers(found[first])
    assert ours is not None
    assert untuned is not None
    difference, bounds, p = result_cells(compare_recipes(ours, untuned))
    return (
        f"\n\n`{chosen}` against `{first}` on the test questions: {difference} points, 95 % between {bounds},"
        f" p {p}."
    )


def _roots(record: Mapping[str, Any], name: str) -> list[float]:
    return [run[name] for run in record["runs"].values()]
