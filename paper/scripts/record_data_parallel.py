"""Compare training in two processes with training in one, and record the differences in results/data-parallel.json.

    python paper/scripts/record_data_parallel.py
    python paper/scripts/record_data_parallel.py --corpus sst-fine --epochs 10

BiConTree with static vectors and over a small transformer is trained in one process and in two, on the CPU:

- in float64 for 200 updates: the largest difference between weights;
- in float32: the losses of the first epoch, the final scores beside those of other seeds, and the speed;
- killed at random moments, each time one of the processes or the command, and resumed: compared bit by bit.

The exit status is 1 if weights or losses differ by more than rounding, or if a kill has changed anything.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import root_path  # noqa: F401

# isort: split
from tests.learning.test_kill import final_state
from tests.learning.test_launching import kill_at_random
from tests.tiny_encoders import write_encoder

from environment import corpus_files
from lexitree.corpora.named import load_corpus
from lexitree.learning.distributed import join_processes
from lexitree.learning.launching import launch_processes
from lexitree.learning.loop import Trainer
from lexitree.learning.run_folder import read_result
from lexitree.ops.threads import use_cores
from lexitree.tasks.classify.building import build_model
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.task import ClassifyTask
from record_tour import Step, run_step
from result_records import describe_run, write_record

TRAIN = "lexitree train mini-reviews -o runs/together --batch-size 10 --epochs 3"
STEPS = (
    Step("train", f"{TRAIN} --processes 2"),
    Step(
        "torchrun",
        f"OMP_NUM_THREADS=1 torchrun --standalone --nproc-per-node 2 -m {TRAIN.replace('3', '4')} --resume",
    ),
)
"""The commands of the guide."""
PROGRAMS = {"lexitree": "lexitree", "torchrun": "torch.distributed.run"}
MODELS = ("static vectors", "transformer")
NUM_UPDATES = 200
BATCH_SIZE = 25
MAX_DIFFERENCE_OF_WEIGHTS = 1e-8
"""In float64, after all updates."""
MAX_DIFFERENCE_OF_LOSSES = 1e-3
"""In float32, in the first epoch."""
RECIPE = """\
corpus = "{corpus}"
[model]
hidden = 50
dropout = 0.5
state_dropout = 0.1
weight_dropout = 0.1
[training]
batch_size = {batch_size}
averaging = 0.99
clip = 5.0
schedule = "linear"
"""


def write_recipe(path: Path, model: str, corpus: str, encoder: Path) -> Recipe:
    text = RECIPE.format(corpus=corpus, batch_size=BATCH_SIZE)
    if model == "transformer":
        text += f'[encoder]\nname = "{encoder}"\n'
    path.write_text(text, encoding="utf-8")
    return Recipe.from_toml(path)


def train_in_double(recipe: Recipe, num_epochs: int, path: Path) -> None:
    """Make a number of updates in float64 and write the weights; the work of each process."""
    with join_processes() as processes, use_cores(1):
        corpus = load_corpus(recipe.corpus)
        torch.manual_seed(1)
        model = processes.from_first(lambda: build_model(recipe, corpus)).double()
        num_trees = NUM_UPDATES * BATCH_SIZE // num_epochs
        examples = model.prepare(corpus.train[:num_trees], training=True)
        assert len(examples) == num_trees, "the corpus is too small"
        config = dataclasses.replace(recipe.training, epochs=num_epochs)
        task = ClassifyTask(model, examples, [], config, processes=processes)
        result = Trainer(task, processes=processes).run()
        if processes.is_first:
            weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
            np.savez(path, losses=[record.loss for record in result.history], **weights)


def compare_in_double(recipe: Recipe, folder: Path) -> dict[str, Any]:
    weights: list[dict[str, Any]] = []
    for number in (1, 2):
        path = folder / f"{number}.npz"
        launch_processes(number, partial(train_in_double, recipe, 5, path))
        weights.append(dict(np.load(path)))
    one, two = weights
    losses = [each.pop("losses").tolist() for each in weights]
    return {
        "updates": NUM_UPDATES,
        # Unlike max, it does not lose a NaN.
        "largest_difference_of_weights": float(np.max([np.abs(one[name] - two[name]).max() for name in one])),
        "losses_of_one": losses[0],
        "losses_of_two": losses[1],
    }


def command(recipe_path: Path, folder: Path, epochs: int, seed: int, processes: int) -> list[str]:
    where = ["-o", str(folder), "--device", "cpu", "--quiet"]
    return [
        *("train", "--recipe", str(recipe_path), *where, "--epochs", str(epochs)),
        *("--seed", str(seed), "--processes", str(processes)),
    ]


def run(arguments: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "lexitree", *arguments], check=True, stdout=subprocess.DEVNULL)


def compare_in_single(recipe_path: Path, folder: Path, epochs: int, seeds: list[int]) -> dict[str, Any]:
    results: dict[tuple[int, int], dict[str, Any]] = {}
    for processes, seed in [*((1, seed) for seed in seeds), (2, seeds[0])]:
        target = folder / f"{processes}-{seed}"
        run(command(recipe_path, target, epochs, seed, processes))
        results[processes, seed] = read_result(target)
    one, two = (results[number, seeds[0]] for number in (1, 2))
    first_losses = [result["epochs"][0]["loss"] for result in (one, two)]
    alone = [results[1, seed]["test_phrase"] for seed in seeds]
    return {
        "epochs": epochs,
        "first_loss_of_one": first_losses[0],
        "difference_of_first_losses": abs(first_losses[1] - first_losses[0]),
        "one_process_phrase": one["test_phrase"],
        "one_process_phrase_deviation": statistics.stdev(alone),
        "two_processes_phrase": two["test_phrase"],
        "one_process_trees_per_second": median_speed(one),
        "two_processes_trees_per_second": median_speed(two),
        "phrase_of_all_seeds": alone,
        "losses_of_one": [record["loss"] for record in one["epochs"]],
        "losses_of_two": [record["loss"] for record in two["epochs"]],
    }


def median_speed(result: dict[str, Any]) -> int:
    return round(statistics.median(record["examples_per_second"] for record in result["epochs"]))


def compare_kills(recipe_path: Path, folder: Path, num_kills: int, epochs: int) -> dict[str, Any]:
    run(command(recipe_path, folder / "undisturbed", epochs, 1, 2))
    arguments = command(recipe_path, folder / "killed", epochs, 1, 2)
    rng = random.Random(2017)
    for number in range(num_kills):
        kill_at_random(arguments, folder / "killed", rng)
        print(f"kill {number + 1}", file=sys.stderr)
    run([*arguments, "--resume"])
    first, second = (final_state(folder / name) for name in ("undisturbed", "killed"))
    return {
        "kills": num_kills,
        "epochs": epochs,
        "compared": list(first),
        "different": [part for part in first if first[part] != second[part]],
        "parts_that_differ": sum(first[part] != second[part] for part in first),
    }


def find_problems(record: dict[str, Any]) -> Iterator[str]:
    """What is not as it must be."""
    for row in record["double"]:
        difference = row["largest_difference_of_weights"]
        if not difference <= MAX_DIFFERENCE_OF_WEIGHTS:
            yield f"{row['model']}: weights in float64 differ by {difference:.1e}"
    for row in record["single"]:
        difference = row["difference_of_first_losses"]
        if not difference <= MAX_DIFFERENCE_OF_LOSSES:
            yield f"{row['model']}: losses of the first epoch in float32 differ by {difference:.1e}"
    for row in record["kills"]:
        if row["different"]:
            yield f"{row['model']}: kills have changed {', '.join(row['different'])}"


def run_steps(folder: Path) -> dict[str, dict[str, str]]:
    """Run the commands of the guide; what each printed."""
    programs = folder / "programs"
    programs.mkdir()
    for name, module in PROGRAMS.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        (programs / name).chmod(0o755)
    steps: dict[str, dict[str, str]] = {}
    for step in STEPS:
        status, output = run_step(step, folder, programs)
        if status:
            raise RuntimeError(f"{step.command}\n{output}\nended with {status}")
        steps[step.name] = {"command": step.command, "output": output}
    return steps


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="mini-reviews")
    parser.add_argument("--epochs", type=int, default=3, help="epochs in float32")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args()
    # The commit is that of the code that starts, whatever happens to the files while it runs.
    record: dict[str, Any] = {
        **describe_run(corpus_files(options.corpus)),
        "what": "two processes against one, at the same batch size",
        "seeds": list(range(1, options.seeds + 1)),
    }
    start = time.monotonic()

    def keep(part: str, row: dict[str, Any]) -> None:
        """Add a row to a table of the record, and write it, as all of it takes long."""
        record.setdefault(part, []).append(row)
        record["seconds"] = round(time.monotonic() - start)
        write_record("data-parallel", record)
        print(part, row, file=sys.stderr)

    with tempfile.TemporaryDirectory() as name:
        work = Path(os.path.realpath(name))
        record["steps"] = run_steps(work)
        encoder = write_encoder(work / "encoder", "bert")
        recipes: dict[str, Path] = {}
        for model in MODELS:
            folder = work / model.replace(" ", "-")
            folder.mkdir()
            recipes[model] = folder / "recipe.toml"
            recipe = write_recipe(recipes[model], model, options.corpus, encoder)
            keep("double", {"model": model, **compare_in_double(recipe, folder)})
        for model, path in recipes.items():
            kills = compare_kills(path, path.parent, options.kills, options.kills + 7)
            keep("kills", {"model": model, **kills})
        for model, path in recipes.items():
            single = compare_in_single(path, path.parent, options.epochs, record["seeds"])
            keep("single", {"model": model, **single})
    record["problems"] = list(find_problems(record))
    print(write_record("data-parallel", record).name, *record["problems"], sep="\n")
    return bool(record["problems"])


if __name__ == "__main__":
    sys.exit(main())
