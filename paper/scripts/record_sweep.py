"""Record a finished sweep in results/NAME.json: the scores of all trials over seeds, the command, data and machine.

python paper/scripts/record_sweep.py runs/tuning-sst --name tuning-sst -- lexitree sweep sst-bicontree \
    paper/recipes/tuning/sst.toml -o runs/tuning-sst --set vectors=glove.840B.300d.zip --set training.epochs=12

The command after -- is the one that made the sweep. Run it on the same machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import root_path  # noqa: F401
from lexitree.tasks.classify.recipe import Recipe
from lexitree_paper.run_records import public_recipe
from lexitree_paper.runner import data_files
from record_run import describe_data
from result_records import describe_code, join_command, machine_of_run, write_record


def record_sweep(folder: Path, name: str, command: Sequence[str]) -> Path:
    """Write the record of a finished sweep."""
    sweep = read_json(folder / "sweep.json")
    trials = read_json(folder / "trials.json")
    recipe = Recipe.from_dict(sweep["recipe"])
    runs = [run for trial in trials for run in runs_of(trial, folder, Path(command[2]).stem)]
    first = next(folder.glob("trials/*/seed-*/result.json"))
    files = {path for trial in trials for path in data_files(recipe.with_values(trial["settings"]))}
    record = {
        "command": join_command(list(command)),
        **describe_code(),
        "date": datetime.datetime.fromtimestamp(first.stat().st_mtime, datetime.UTC).date().isoformat(),
        "data": describe_data(sweep["recipe"], sorted(files)),
        "machine": machine_of_run(read_json(first)["environment"]),
        "seeds": sweep["sweep"]["seeds"],
        "what": "development scores of variants of recipes",
        "recipe": public_recipe(sweep["recipe"]),
        "space": {key: value for key, value in sweep.items() if key != "recipe"},
        "rows": summarise([run for run in runs if run["state"] == "complete"]),
        "histories": runs,
    }
    return write_record(name, record)


def runs_of(trial: Mapping[str, Any], folder: Path, recipe: str) -> Iterator[dict[str, Any]]:
    """The runs of a trial, one for each seed that was trained."""
    variant = trial["parameters"].get("variant") or ", ".join(
        f"{name.rpartition('.')[2]} {f'{value:.2g}' if isinstance(value, float) else value}"
        for name, value in trial["settings"].items()
    )
    for seed, curve in trial["curves"].items():
        path = folder / "trials" / f"{trial['trial']:04}" / f"seed-{seed}" / "metrics.jsonl"
        epochs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][: len(curve)]
        yield {
            "recipe": recipe,
            "variant": variant,
            "seed": int(seed),
            "state": trial["state"],
            "dev_root": [round(epoch["dev_root"], 5) for epoch in epochs],
            "dev_phrase": [epoch["dev_phrase"] and round(epoch["dev_phrase"], 5) for epoch in epochs],
            "loss": [round(epoch["loss"], 4) for epoch in epochs],
            "seconds": round(sum(epoch["seconds"] for epoch in epochs), 1),
        }


def summarise(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every variant with its means over seeds, the best plateau of each recipe first."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in runs:
        grouped.setdefault((run["recipe"], run["variant"]), []).append(run)
    rows = [summarise_variant(*names, group) for names, group in grouped.items()]
    return sorted(rows, key=lambda row: (row["recipe"], -row["plateau_root"]))


def summarise_variant(recipe: str, variant: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The scores of the best epoch, and root over the five epochs in a row that are best together.

    The best of many epochs is half luck: a plateau is less so.
    """
    best = [best_epoch(run["dev_root"]) for run in runs]
    roots = [run["dev_root"][epoch] for run, epoch in zip(runs, best, strict=True)]
    phrases = [run["dev_phrase"][epoch] for run, epoch in zip(runs, best, strict=True)]
    plateaus = [plateau(run["dev_root"]) for run in runs]
    return {
        "recipe": recipe,
        "variant": variant,
        "seeds": len(runs),
        "best_epoch": statistics.fmean(best) + 1,
        "dev_root": statistics.fmean(roots),
        "dev_root_deviation": deviation(roots),
        "dev_phrase": None if None in phrases else statistics.fmean(phrases),
        "plateau_root": statistics.fmean(plateaus),
        "plateau_root_deviation": deviation(plateaus),
    }


def best_epoch(scores: list[float]) -> int:
    """From 0 on; of equal ones the later, as in training."""
    return max(range(len(scores)), key=lambda epoch: (scores[epoch], epoch))


def plateau(scores: list[float], width: int = 5) -> float:
    width = min(width, len(scores))
    return max(statistics.fmean(scores[first : first + width]) for first in range(len(scores) - width + 1))


def deviation(values: list[float]) -> float | None:
    """None for one seed, of which nothing is known of others."""
    return statistics.stdev(values) if len(values) > 1 else None


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the sweep's directory")
    parser.add_argument("--name", required=True, help="the record's name")
    parser.add_argument("command", nargs="+", help="after --: the command that made the sweep")
    options = parser.parse_args()
    print(f"results/{record_sweep(options.folder, options.name, options.command).name}")


if __name__ == "__main__":
    main()
