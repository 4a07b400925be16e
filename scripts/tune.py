"""A recipe and variants of it in, their development scores over seeds out; nothing is scored on the test split.

python scripts/tune.py --grid recipes/tuning/sst.toml --vectors glove.npz --seeds 1-3 --epochs 12 \
    --workers cuda:6,cpu:8 --minutes 8 --name tuning-sst

Variants are tables of a TOML file with the settings they change. Runs that the record has already are not repeated,
and those that are under way when the time is over are left out: the same command can be given until all is done. A
teacher labels its trees once for all runs; what it says is kept in the folder --lessons.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import multiprocessing
import queue
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from lexitree.cli.console import parse_seeds
from lexitree.corpora.corpus import Corpus
from lexitree.learning.loop import Trainer
from lexitree.ops.devices import products_in
from lexitree.tasks.classify.building import build_model, load_recipe_corpus
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import make_lessons
from lexitree.tasks.classify.task import ClassifyTask
from lexitree.tasks.classify.teaching import learn_from, read_lessons, trees_checksum
from lexitree_paper.experiments import recipes_folder
from lexitree_paper.run_records import public_recipe, read_record
from lexitree_paper.runner import data_files
from result_records import RESULTS, describe_run, public_name, write_record
from variant_scores import best_epoch, summarise

SECONDS_BETWEEN_LOOKS = 5.0

Task = tuple[str, str, int]
"""The recipe's name, the variant's, and the seed."""


def main() -> None:
    # The workers are daemons: they end with a parent that exits, but outlive one that a signal ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = read_options()
    grid = tomllib.loads(options.grid.read_text(encoding="utf-8"))
    recipes = plan(grid, options)
    record = read_record(RESULTS / f"{options.name}.json") or {}
    runs: list[dict[str, Any]] = record.get("histories", [])
    about: dict[str, Any] = {
        "what": "development scores of variants of recipes",
        "epochs": options.epochs,
        "recipes": {name: public_recipe(base_recipe(name).as_dict()) for name in grid},
        "grid": grid,
    }
    check_same_settings(record, about)
    done = {(run["recipe"], run["variant"], run["seed"]) for run in runs}
    seeds = parse_seeds(options.seeds)
    # Seed by seed: when time is short every variant has been tried as often as the others.
    tasks = [
        (name, variant, seed)
        for seed in seeds
        for name, variant in recipes
        if (name, variant, seed) not in done
    ]
    files = {path for recipe in recipes.values() for path in data_files(recipe)}
    about = {**describe_run({public_name(path): path for path in sorted(files)}), **about}
    options.lessons = options.lessons or Path(tempfile.mkdtemp())
    for run in train_all(tasks, recipes, options):
        # A record may be filled by several calls, each of which says for itself what it ran.
        runs.append({**run, "commit": about["commit"]})
        tried = sorted({run["seed"] for run in runs})
        write_record(options.name, {**about, "seeds": tried, "rows": summarise(runs), "histories": runs})
    for row in summarise(runs):
        print(
            f"{row['recipe']:24} {row['variant']:28} root {100 * row['dev_root']:.2f}  plateau"
            f" {100 * row['plateau_root']:.2f}  phrase {100 * (row['dev_phrase'] or 0):.2f}"
            f"  epoch {row['best_epoch']:.1f}  ({row['seeds']} seeds)"
        )


def check_same_settings(record: dict[str, Any], about: dict[str, Any]) -> None:
    """Runs of other settings must not stand in one record, which has one grid and one number of epochs."""
    tried = {(run["recipe"], run["variant"]) for run in record.get("histories", [])}
    changed = [
        f"{name}.{variant}"
        for name, variant in sorted(tried)
        if record["epochs"] != about["epochs"]
        or record["grid"][name][variant] != about["grid"].get(name, {}).get(variant)
        or not is_same(record.get("recipes", {}).get(name), about["recipes"].get(name))
    ]
    if changed:
        raise SystemExit(
            f"the record has runs with other settings or epochs ({', '.join(changed)}): choose another --name"
        )


def is_same(before: dict[str, Any] | None, now: dict[str, Any] | None) -> bool:
    """Settings younger than a record have their defaults; records from before recipes were kept cannot tell."""
    if before is None or now is None:
        return before is None
    return Recipe.from_dict(before) == Recipe.from_dict(now)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--grid", type=Path, required=True, help="the variants, a TOML file")
    parser.add_argument("--name", required=True, help="the record's name")
    parser.add_argument("--vectors", help="a file of word vectors; without it, recipes with an encoder only")
    parser.add_argument(
        "--parser", help="instead of the recipe's, such as brackets:FILE with trees made before"
    )
    parser.add_argument("--lessons", type=Path, help="a folder for what teachers say; default: a new one")
    parser.add_argument("--only", nargs="*", default=[], help="only these variants")
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--workers", default="cpu:2", help="how many at once, and where: cuda:6,cpu:8")
    parser.add_argument("--precision", default="tf32", help="of the products on a GPU")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after so long")
    return parser.parse_args()


def plan(grid: dict[str, Any], options: argparse.Namespace) -> dict[tuple[str, str], Recipe]:
    """Every variant of every recipe of the grid, by their names."""
    recipes: dict[tuple[str, str], Recipe] = {}
    for name, variants in grid.items():
        base = base_recipe(name)
        for variant, changes in variants.items():
            if options.only and variant not in options.only:
                continue
            training = {"epochs": options.epochs, **changes.get("training", {})}
            recipes[name, variant] = dataclasses.replace(
                base,
                **({"parser": options.parser} if options.parser and base.parser else {}),
                **changes.get("recipe", {}),
                # Beside a transformer, static vectors are a choice.
                vectors=options.vectors if not base.encoder or changes.get("with_vectors") else None,
                encoder={**base.encoder, **changes.get("encoder", {})},
                model={**base.model, **changes.get("model", {})},
                training=dataclasses.replace(base.training, **training),
            )
    return recipes


def base_recipe(name: str) -> Recipe:
    return Recipe.from_toml(recipes_folder() / f"{name}.toml")


def train_all(
    tasks: list[Task], recipes: dict[tuple[str, str], Recipe], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """The runs as they end, from as many processes as asked for."""
    deadline = time.monotonic() + 60 * options.minutes
    context = multiprocessing.get_context("spawn")
    waiting: Any = context.Queue()
    ended: Any = context.Queue()
    # What teachers need to label their trees is part of the time.
    lessons = {names: lessons_for(recipes[names], options) for names in {task[:2] for task in tasks}}
    for name, variant, seed in tasks:
        waiting.put((name, variant, recipes[name, variant].with_seed(seed), lessons[name, variant]))
    workers = [
        context.Process(target=work, args=(device, options.precision, waiting, ended), daemon=True)
        for device in devices(options.workers)
    ]
    for worker in workers:
        worker.start()
    num_ended = 0
    while num_ended < len(tasks) and time.monotonic() < deadline:
        # Asked for before the queue is: what the last worker had sent is then there.
        is_working = any(worker.is_alive() for worker in workers)
        try:
            run = ended.get(timeout=min(SECONDS_BETWEEN_LOOKS, max(deadline - time.monotonic(), 0)))
        except queue.Empty:
            if not is_working:
                print(f"all workers have ended, {len(tasks) - num_ended} runs are missing", flush=True)
                break
            continue
        num_ended += 1
        print(describe(run), flush=True)
        yield run
    for worker in workers:
        worker.terminate()


def devices(workers: str) -> list[str]:
    pairs = [part.split(":") for part in workers.split(",")]
    return [device for device, count in pairs for _ in range(int(count))]


def work(device: str, precision: str, waiting: Any, ended: Any) -> None:
    """One process: takes runs from the queue until there are none."""
    torch.set_num_threads(1)
    while True:
        try:
            name, variant, recipe, lessons = waiting.get(timeout=5)
        except queue.Empty:
            return
        ended.put({"recipe": name, "variant": variant, **train_one(recipe, device, precision, lessons)})


def lessons_for(recipe: Recipe, options: argparse.Namespace) -> Path | None:
    """What the teacher of a recipe says of its trees, by the teacher and the trees: variants may share them."""
    if not recipe.teacher:
        return None
    corpus = recipe_corpus(recipe)
    path = options.lessons / f"{Path(recipe.teacher).name}-{trees_checksum(corpus.train)}.safetensors"
    if not path.exists():
        start = time.monotonic()
        make_lessons(recipe, corpus, path, device=devices(options.workers)[0])
        print(
            f"{recipe.teacher} has labelled {len(corpus.train):,} trees: {time.monotonic() - start:.0f} s",
            flush=True,
        )
    return path


def train_one(recipe: Recipe, device: str, precision: str, lessons: Path | None = None) -> dict[str, Any]:
    corpus = recipe_corpus(recipe)
    with products_in(precision if device == "cuda" else "float32"):
        torch.manual_seed(recipe.training.seed)
        model = build_model(recipe, corpus).to(device)
        train, dev = model.prepare(corpus.train, training=True), model.prepare(corpus.dev)
        if lessons is not None:
            taught = read_lessons(lessons, recipe.teacher)
            train = learn_from(taught, train, recipe.training.teacher_weight)
        history = Trainer(ClassifyTask(model, train, dev, recipe.training)).run().history
    return {
        "seed": recipe.training.seed,
        "device": device,
        "dev_root": [round(record.scores["dev_root"], 5) for record in history],
        "dev_phrase": [
            record.scores["dev_phrase"] and round(record.scores["dev_phrase"], 5) for record in history
        ],
        "loss": [round(record.loss, 4) for record in history],
        "seconds": round(sum(record.seconds for record in history), 1),
    }


def recipe_corpus(recipe: Recipe) -> Corpus:
    return read_corpus(
        recipe.corpus, recipe.data, recipe.parser, recipe.parses, recipe.teacher, tuple(recipe.teacher_trees)
    )


@functools.cache
def read_corpus(*settings: Any) -> Corpus:
    names = ("corpus", "data", "parser", "parses", "teacher", "teacher_trees")
    return load_recipe_corpus(Recipe(**dict(zip(names, settings, strict=True))))


def describe(run: dict[str, Any]) -> str:
    best = best_epoch(run["dev_root"])
    phrase = run["dev_phrase"][best]
    return (
        f"{run['recipe']:24} {run['variant']:28} seed {run['seed']}  epoch {best + 1:2}"
        f"  dev root {100 * run['dev_root'][best]:.2f}  phrase {100 * (phrase or 0):.2f}"
        f"  {run['seconds']:.0f} s on {run['device']}"
    )


if __name__ == "__main__":
    main()
