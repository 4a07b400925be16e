"""Trains the runs of the reranking experiment that are missing and writes its record."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lexitree.labels import LabelSet, order_labels
from lexitree.learning.provenance import describe_code, public_name
from lexitree.processes import run_in_processes
from lexitree.results.labelled_tree import LabelledTree
from lexitree.tasks.parse.data import find_data_file
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.views.svg import draw_svg
from lexitree.writing import atomic_write
from lexitree_paper.experiments import Experiment
from lexitree_paper.rerank.jackknife import write_jackknife_lists
from lexitree_paper.reranking.figures import collect_figures
from lexitree_paper.reranking.plan import RerankPlan, RerankTask, plan_reranking, settings_of
from lexitree_paper.reranking.recorded import ORIGIN, Runs, add_answers, has_lists, has_run, recorded_runs
from lexitree_paper.reranking.run_answers import TimeLimit, begin_anew, is_begun, read_answer, run_task
from lexitree_paper.run_records import read_record, save_record
from lexitree_paper.runner import Settings, command_of

PICTURE = "reranker-heads.svg"


def _write_drawings(experiment: Experiment, figures: Mapping[str, Any], folder: Path) -> list[str]:
    """Draw the experiment's sentences with the heads of the shown system; return the names of the pictures."""
    if not figures["drawn"]:
        return []
    trees = [_without_tags(tree_from_brackets(text)) for text in experiment.details["drawn"]]
    labels = LabelSet(order_labels(label for tree in trees for label in tree.labels))
    pictures = [
        LabelledTree.from_tree(tree, heads, labels)
        for tree, heads in zip(trees, figures["drawn"]["heads"], strict=True)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / PICTURE) as stream:
        stream.write(draw_svg(pictures))
    return [PICTURE]


def _without_tags(tree: Tree) -> Tree:
    """Remove tags, so that only phrases are coloured: there are too many tags."""
    pairs = zip(tree.arity.tolist(), tree.labels, strict=True)
    return Tree(tree.arity, [label if num_parts else NO_LABEL for num_parts, label in pairs], tree.words)


_SMOKE_PARSER: dict[str, Any] = {
    "min_count": 1,
    "model": {
        "word_size": 24,
        "affix_size": 24,
        "affix_rows": 512,
        "style_size": 4,
        "hidden": 40,
        "layers": 1,
        "span_size": 40,
    },
    "training": {"epochs": 12, "batch_words": 100, "learning_rate": 0.01, "warm_up": 0.03, "averaging": 0.9},
    "treebanks": [
        {"name": "questions", "path": "mini-questions/train", "last": 160},
        {"name": "dev", "path": "mini-questions/dev", "part": "dev", "last": 20},
    ],
}
"""A parser that trains in seconds and makes some mistakes, so that there is something to rerank."""
SMOKE_FOLDS, SMOKE_K = 2, 4

Say = Callable[[str], object]


def perform_reranking(experiment: Experiment, settings: Settings, say: Say = lambda _: None) -> None:
    """Train missing runs and write the record of all finished ones, including those recorded before.

    The figures are computed anew from the recorded choices, so that a better test needs no training. With
    `settings.minutes`, runs that would take longer are left for the next call. With `settings.again` runs are
    restarted; after an interruption, the command without it resumes them.
    """
    plan = plan_reranking(experiment, settings)
    before = read_record(settings.records_folder, experiment.name)
    recorded = recorded_runs(before, plan, settings.data)
    if settings.again:
        for task in plan.tasks:
            begin_anew(task)
    wanted = [task for task in plan.tasks if not has_run(recorded, task) or is_begun(task)]
    if not wanted and not has_lists(plan, settings.data):
        return
    if settings.smoke:
        _make_smoke_lists(settings, plan)
    _run_tasks([task for task in wanted if read_answer(task) is None], settings, say)
    num_missing = sum(read_answer(task) is None for task in wanted)
    if num_missing:
        command = "the same command without --again" if settings.again else "the same command"
        say(f"{num_missing} of {len(plan.tasks)} runs are not done yet; {command} resumes them")
    runs = add_answers(recorded, plan, settings.data)
    if not runs:
        return
    record = json.loads(json.dumps(_make_record(experiment, settings, plan, runs)))
    if before is None or any(record[name] != before.get(name) for name in ("runs", "figures")):
        save_record(settings.records_folder, experiment.name, record)


def _run_tasks(tasks: Sequence[RerankTask], settings: Settings, say: Say) -> None:
    begin = time.time()
    limit = None if settings.minutes is None else TimeLimit(begin, begin + 60 * settings.minutes)
    # A GPU serves many runs at once, a core one.
    jobs = settings.jobs or os.cpu_count() or 1
    arguments = [(task, limit) for task in tasks]
    num_done = 0
    for number, is_done in run_in_processes(run_task, arguments, jobs=jobs):
        if is_done:
            num_done += 1
            say(f"{num_done}/{len(tasks)} runs, {time.time() - begin:.0f} s: {tasks[number].name}")


def _make_smoke_lists(settings: Settings, plan: RerankPlan) -> None:
    (lists,) = plan.list_sets
    (name,) = lists.lists
    if not Path(name).exists():
        recipe = ParserRecipe.from_dict(_SMOKE_PARSER)
        folder = settings.runs_folder / "reranking" / "jackknife"
        write_jackknife_lists(recipe, folder, name, num_folds=SMOKE_FOLDS, k=SMOKE_K)


def _make_record(experiment: Experiment, settings: Settings, plan: RerankPlan, runs: Runs) -> dict[str, Any]:
    """Return the record of all runs; commit, date and machine are those of the newest."""
    entries = [
        (seed, entry)
        for found in runs.values()
        for seeds in found["systems"].values()
        for seed, entry in seeds.items()
    ]
    newest = max((entry for _, entry in entries), key=lambda entry: entry["date"])
    figures = collect_figures(experiment, plan, runs, settings)
    # Which lists are read and held out is said by each set of lists, not by the recipe.
    recipe = {
        name: value
        for name, value in plan.recipe.as_dict().items()
        if name not in ("lists", "dev", "test", "held_out")
    }
    if plan.recipe.vectors:
        recipe["vectors"] = public_name(find_data_file(plan.recipe.vectors, settings.data))
    return {
        "command": command_of(experiment, dataclasses.replace(settings, seeds=None)),
        **{name: newest[name] for name in ORIGIN if name in newest},
        "figures_from": {**describe_code(), "date": datetime.datetime.now(datetime.UTC).date().isoformat()},
        "data": {name: value for found in runs.values() for name, value in found["data"].items()},
        "seeds": sorted({int(seed) for seed, _ in entries}),
        "kind": experiment.kind,
        "recipe": recipe,
        "settings": settings_of(plan.recipe),
        "runs": runs,
        "figures": figures,
        "pictures": _write_drawings(experiment, figures, settings.pictures_folder),
    }
