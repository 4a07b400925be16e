"""Tables of the paper's own protocol, of the decision between recipes for questions, and of re-runs."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lexitree.evaluation.significance import compare_recipes
from lexitree_paper.experiments import find_experiment
from lexitree_paper.run_records import read_record
from lexitree_paper.score_tables import result_cells, right_answers
from markdown_text import make_table, show_percent, show_spread
from record_tables import NOT_MEASURED, show_origin
from result_records import PAPER_RESULTS

AUTHORS_LOSSES = {1: 20.4, 2: 17.3, 3: 16.1, 4: 15.3, 5: 14.7, 10: 13.1, 30: 11.1}
"""The mean training loss of a sentence by epoch, from the log that the authors released with their code."""


def render_losses() -> str:
    """The training losses of BiConTree by epoch, beside those of the authors' log."""
    rows = [["the authors' log, one seed", *(f"{loss:.1f}" for loss in AUTHORS_LOSSES.values())]]
    for title, name in (
        ("one sentence per update", "sst-bicontree-batch-1"),
        ("batches of 25", "sst-bicontree"),
    ):
        record = read_record(PAPER_RESULTS, name)
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
    header = [
        "system",
        "root, the paper",
        "best of the seeds: dev",
        "its test",
        "mean of seeds",
        "seeds",
        "epochs",
    ]
    rows: list[list[str]] = []
    for task, title in experiment.tasks.items():
        for system, tasks in experiment.rows.items():
            if record := read_record(PAPER_RESULTS, tasks[task].name):
                rows.append([f"{title}: {system}", f"{tasks[task].paper['root']:.1f}", *_by_protocol(record)])
    log = [AUTHORS_LOSSES[epoch] for epoch in SHOWN_LOSSES]
    rows.append(
        [
            "5-class: BiConTree, the authors' log",
            "",
            *(show_percent(AUTHORS_LOG[name]) for name in ("dev_root", "test_root")),
            "",
            "1",
            str(max(AUTHORS_LOSSES)),
            *(f"{loss:.1f}" for loss in log),
        ]
    )
    return make_table([*header, *(f"loss, epoch {epoch}" for epoch in SHOWN_LOSSES)], rows)


def _by_protocol(record: Mapping[str, Any]) -> list[str]:
    runs = list(record["runs"].values())
    chosen = max(runs, key=lambda run: run["dev_root"])
    num_epochs = min(len(run["epochs"]) for run in runs)
    losses = {
        epoch: statistics.fmean(run["epochs"][epoch - 1]["loss"] for run in runs)
        for epoch in SHOWN_LOSSES
        if epoch <= num_epochs
    }
    return [
        *(show_percent(chosen[name]) for name in ("dev_root", "test_root")),
        show_spread([run["test_root"] for run in runs]),
        str(len(runs)),
        str(num_epochs),
        *(f"{losses[epoch]:.1f}" if epoch in losses else "–" for epoch in SHOWN_LOSSES),
    ]


QUESTION_RECIPES = ("trec-bicontree", "trec-bicontree-subtypes", "trec-bicontree-tuned")
"""The recipes between which the protocol on the page on questions decides; the first is the untuned one."""
TRANSFORMER_QUESTION_RECIPES = ("trec-pooled-minilm", "trec-bicontree-minilm", "trec-bicontree-minilm-static")
"""The same over a transformer; the first is the transformer alone."""


def render_question_choice() -> str:
    """What ten new seeds decide between the recipes without a transformer."""
    return _render_choice(QUESTION_RECIPES)


def render_transformer_question_choice() -> str:
    """What ten new seeds decide between the recipes over a transformer."""
    return _render_choice(TRANSFORMER_QUESTION_RECIPES)


def _render_choice(recipes: Sequence[str]) -> str:
    """Held-out questions choose a recipe, and one test on the test questions judges it."""
    records = {name: read_record(PAPER_RESULTS / "trec-ten", name) for name in recipes}
    found = {name: record for name, record in records.items() if record is not None}
    if len(found) < len(recipes):
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
    first = next(iter(found))
    if chosen == first:
        return f"\n\nThe first recipe, `{first}`, is chosen, and there is nothing to test."
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


def render_reruns() -> str:
    """F1 of one row of the reranking table, trained again with the same seeds under other rounding."""
    record = read_record(PAPER_RESULTS, "reranking-reruns")
    if record is None:
        return NOT_MEASURED
    header = ["run", *(f"seed {seed}" for seed in record["seeds"]), "mean"]
    rows = [
        [row["way"], *(f"{100 * f1:.2f}" for f1 in row["f1"]), f"{100 * statistics.fmean(row['f1']):.2f}"]
        for row in record["rows"]
    ]
    # A repetition that is the same bit by bit is not another draw.
    draws: list[Sequence[float]] = []
    for row in record["rows"]:
        draws += [row["f1"]] if row["f1"] not in draws else []
    by_seed = list(zip(*draws, strict=True))
    means = [statistics.fmean(seeds) for seeds in draws]
    spread = (
        f"{record['system']}, {record['lists']}, F1. Standard deviation of one seed over its runs:"
        f" {100 * _pooled_deviation(by_seed):.2f}; largest range of a seed:"
        f" {100 * max(max(runs) - min(runs) for runs in by_seed):.2f}; means of a row: {100 * min(means):.2f} to"
        f" {100 * max(means):.2f}."
    )
    return "\n\n".join([make_table(header, rows), spread, show_origin(record)])


def render_gpu_training_time() -> str:
    """How long the systems of the training-time experiment take on a GPU, by the records of their five seeds."""
    rows: list[list[str]] = []
    for system in ("contree", "contree-lex", "bicontree"):
        record = read_record(PAPER_RESULTS, f"sst-{system}")
        if record is None or not record["machine"].get("gpu"):
            return NOT_MEASURED
        runs = record["runs"].values()
        seconds = sum(run["seconds"] for run in runs) / len(runs)
        rows.append(
            [
                f"`{system}`",
                f"{seconds:.0f}",
                f"{record['wall_seconds']:.0f}",
                str(len(runs)),
                str(record["recipe"]["training"]["epochs"]),
                f"`{record['commit']}`, {record['machine']['gpu']}",
            ]
        )
    header = [
        "system",
        "seconds a seed",
        "seconds, all seeds side by side",
        "seeds",
        "epochs",
        "commit, machine",
    ]
    return make_table(header, rows)


def _pooled_deviation(groups: Sequence[Sequence[float]]) -> float:
    """The standard deviation within groups."""
    return statistics.fmean(statistics.variance(group) for group in groups) ** 0.5


TUNING_RECORDS = {
    "MiniLM": (
        "tuning-sst-minilm",
        "tuning-sst-minilm-second",
        "tuning-sst-pooled-minilm",
        "tuning-sst-pooled-minilm-second",
        "tuning-trec-minilm",
        "tuning-trec-minilm-second",
        "tuning-trec-pooled-minilm",
    ),
    "MPNet": (
        "tuning-sst-mpnet",
        "tuning-sst-pooled-mpnet",
        "tuning-sst-pooled-mpnet-second",
        "tuning-trec-mpnet",
        "tuning-trec-pooled-mpnet",
    ),
}
"""The records of what was tried on development data, by transformer."""


def render_tuning_effort() -> str:
    """How many variants and runs chose the settings of a transformer with a tree, and without one."""
    tried: dict[tuple[str, str, str], set[tuple[str, str]]] = {}
    num_runs: Counter[tuple[str, str, str]] = Counter()
    for transformer, names in TUNING_RECORDS.items():
        for name in names:
            for row in (read_record(PAPER_RESULTS, name) or {"rows": []})["rows"]:
                corpus = row["recipe"].partition("-")[0].upper()
                key = transformer, corpus, "no" if "pooled" in row["recipe"] else "yes"
                tried.setdefault(key, set()).add((row["recipe"], row["variant"]))
                num_runs[key] += row["seeds"]
    rows = [[*key, str(len(variants)), str(num_runs[key])] for key, variants in tried.items()]
    return make_table(["transformer", "corpus", "tree", "variants", "runs"], rows) if rows else NOT_MEASURED
