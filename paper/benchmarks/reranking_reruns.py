"""Train one row of the reranking table again and again, with the same seeds: how far does rounding alone move it?

    python paper/benchmarks/reranking_reruns.py --output results/reranking-reruns.json

Every run has the same code, lists, seeds and settings. What differs is how the processor adds up: as it is, the same
once more, and with the instructions of other processors, which PyTorch and its linear algebra take when told to by
environment variables. The record of the table, from other processors, stands beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

import lexitree
import root_path
from environment import describe_run
from lexitree.tasks.parse.data import find_data_file
from lexitree_paper.experiments import find_experiment
from lexitree_paper.rerank.run import train_reranker
from lexitree_paper.reranking.plan import RerankTask, keep_systems, plan_reranking
from lexitree_paper.run_records import read_record
from lexitree_paper.runner import Settings

WAYS: dict[str, dict[str, str]] = {
    "as it is": {},
    "once more": {},
    "PyTorch's AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "MKL's compatible mode": {"MKL_CBWR": "COMPATIBLE"},
}
"""Environment variables by what they change."""

RESULTS = root_path.ROOT / "paper" / "results"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="contree", help="the system of the row")
    parser.add_argument("--lists", default="mctb", help="the lists of the column; not in folds")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--jobs", type=int, default=1, help="seeds trained at the same time")
    parser.add_argument("--epochs", type=int, help="default: those of the recipe")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    tasks = plan_tasks(options)
    if options.worker:
        print(json.dumps(train(tasks[0])))
        return
    rows: list[dict[str, Any]] = [{"way": "the table's record", "f1": recorded(tasks)}]
    for way in options.ways:
        rows.append({"way": way, "variables": WAYS[way], **run_workers(WAYS[way], options)})
        print(json.dumps(rows[-1]), flush=True)
        if options.output:
            # After every way: all of them take long.
            write_record(rows, tasks[0], options)


def write_record(rows: list[dict[str, Any]], task: RerankTask, options: argparse.Namespace) -> None:
    files = [find_data_file(name, None) for name in (*task.lists.lists, *task.lists.test)]
    record = {
        **describe_run({file.name: file for file in files}),
        "what": "F1 of one row of the reranking table, trained again with the same seeds",
        "system": task.system.name,
        "lists": task.lists.title,
        "seeds": options.seeds,
        "rows": rows,
    }
    options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def plan_tasks(options: argparse.Namespace) -> list[RerankTask]:
    """The runs of the row, one for each seed; their folders are not used."""
    settings = Settings(folder=Path("unused"), results=RESULTS, seeds=options.seeds, epochs=options.epochs)
    plan = plan_reranking(keep_systems(find_experiment("reranking"), [options.model]), settings)
    return [task for task in plan.tasks if task.lists.name == options.lists]


def recorded(tasks: list[RerankTask]) -> list[float]:
    """F1 of the seeds in the record of the table."""
    figures = read_record(RESULTS, "reranking")
    assert figures is not None
    seeds = sorted(figures["seeds"])
    f1 = figures["figures"]["systems"][tasks[0].system.name][tasks[0].lists.name]["f1"]
    return [f1[seeds.index(task.seed)] for task in tasks]


def run_workers(variables: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    """Train each seed in a process with these variables."""
    source = str(Path(lexitree.__file__).parent.parent)
    environment = {**os.environ, **variables, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}

    def run(seed: int) -> dict[str, Any]:
        command = [sys.executable, *sys.argv, "--seeds", str(seed), "--worker"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run, options.seeds))
    return {name: [result[name] for result in results] for name in results[0]}


def train(task: RerankTask) -> dict[str, Any]:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        run = train_reranker(
            task.recipe, Path(folder) / "run", lists=task.read_lists(), device="cpu", data=task.data
        )
    assert run.test is not None
    return {
        "f1": run.test.chosen.f1,
        "dev_f1": run.best.scores["dev_f1"],
        "best_epoch": run.best.epoch,
        "first_loss": run.training.history[0].loss,
    }


if __name__ == "__main__":
    main()
