"""The plan of the experiment in, its runs done and its record written out; what is done is not done again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from lexitree.learning.many_runs import run_in_processes
from lexitree.parsing.recipe import ParserRecipe
from lexitree.parsing.treebanks import find_data_file
from lexitree.reproduction.experiments import Experiment
from lexitree.reproduction.records import describe, public_name, read_record, save_record
from lexitree.reproduction.reranking.figures import collect_figures
from lexitree.reproduction.reranking.plan import RerankPlan, RerankTask, plan_reranking
from lexitree.reproduction.runner import Settings, command_of, record_path
from lexitree.reranking.jackknife import write_jackknife_lists
from lexitree.reranking.run import train_reranker

SMOKE_PARSER: dict[str, Any] = {
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
    "training": {"epochs": 12, "batch_words": 100, "learning_rate": 0.01, "warm_up": 5, "averaging": 0.9},
    "treebanks": [
        {"name": "questions", "path": "mini-questions/train", "last": 160},
        {"name": "dev", "path": "mini-questions/dev", "part": "dev", "last": 20},
    ],
}
"""A parser of seconds that gets some things wrong, as a parser should that is to be reranked."""
SMOKE_FOLDS, SMOKE_K = 2, 4

Say = Callable[[str], object]


def perform_reranking(experiment: Experiment, settings: Settings, say: Say = lambda _: None) -> None:
    """Train what is missing and write the record of all that is done.

    With `settings.minutes`, what would take longer is left for the next time: the same command goes on.
    """
    plan = plan_reranking(experiment, settings)
    path = record_path(experiment.name, settings)
    record = read_record(path)
    if record is not None and not settings.again and _covers(record, plan):
        return
    if settings.smoke:
        _make_smoke_lists(settings, plan)
    _run_tasks([task for task in plan.tasks if task.read_result() is None], settings, say)
    num_done = sum(task.read_result() is not None for task in plan.tasks)
    if num_done < len(plan.tasks):
        say(f"{num_done} of {len(plan.tasks)} runs are done; the same command goes on with the others")
    figures = collect_figures(experiment, plan, settings)
    if figures["systems"]:
        save_record(path, _make_record(experiment, settings, plan, figures))


def _covers(record: Mapping[str, Any], plan: RerankPlan) -> bool:
    """Whether a record is of the same recipe and has all that is planned; whether the runs are still there or not."""
    done, wanted = record["recipe"], json.loads(json.dumps(plan.recipe.as_dict()))
    is_same = all(done[name] == wanted[name] for name in wanted if name != "vectors")
    systems = record["figures"]["systems"]
    return is_same and all(
        set(map(str, plan.seeds)) <= set(systems.get(system.name, {}).get(lists.name, {}).get("seeds", {}))
        for system in plan.systems
        for lists in plan.list_sets
    )


def _run_tasks(tasks: Sequence[RerankTask], settings: Settings, say: Say) -> None:
    deadline = None if settings.minutes is None else time.time() + 60 * settings.minutes
    # One GPU serves many runs at once, a core one.
    jobs = settings.jobs or os.cpu_count() or 1
    start = time.perf_counter()
    arguments = [(task, deadline) for task in tasks]
    for done, (number, is_done) in enumerate(run_in_processes(run_task, arguments, jobs=jobs), 1):
        task = tasks[number]
        spent = time.perf_counter() - start
        name = f"{task.system.name}, {task.lists.title}, part {task.part + 1}, seed {task.seed}"
        if is_done:
            say(f"{done}/{len(tasks)} runs, {spent:.0f} s: {name}")


def run_task(task: RerankTask, deadline: float | None) -> bool:
    """Train one run, in this process or in one of its own; whether it is done."""
    left = None if deadline is None else (deadline - time.time()) / 60
    if left is not None and left <= 0:
        return False
    # The products are small: runs make better use of several cores.
    torch.set_num_threads(1)
    lists = task.lists.read_part(task.part, task.recipe.direction, task.data)
    run = train_reranker(
        task.recipe,
        task.folder,
        lists=lists,
        data=task.data,
        device=task.device,
        minutes=left,
        # The checkpoint refuses what was begun with other settings.
        resume=task.folder.exists(),
    )
    return len(run.history) >= task.recipe.training.epochs


def _make_smoke_lists(settings: Settings, plan: RerankPlan) -> None:
    (lists,) = plan.list_sets
    (name,) = lists.lists
    if not Path(name).exists():
        recipe = ParserRecipe.from_dict(SMOKE_PARSER)
        folder = settings.runs_folder / "reranking" / "jackknife"
        write_jackknife_lists(recipe, folder, name, num_folds=SMOKE_FOLDS, k=SMOKE_K)


def _make_record(
    experiment: Experiment, settings: Settings, plan: RerankPlan, figures: dict[str, Any]
) -> dict[str, Any]:
    files = (
        [] if settings.smoke else [path for lists in plan.list_sets for path in lists.files(settings.data)]
    )
    vectors = plan.recipe.vectors
    if vectors:
        files.append(find_data_file(vectors, settings.data))
    recipe = plan.recipe.as_dict()
    recipe["vectors"] = public_name(files[-1]) if vectors else None
    return {
        **describe(command_of(experiment, settings), files, list(plan.seeds), embedded="mini-questions"),
        "kind": experiment.kind,
        "recipe": recipe,
        "figures": figures,
    }
