"""Record a run of `lexitree train` in results/NAME.json: scores, command, data, machine.

python paper/scripts/record_run.py runs/mini-reviews --name mini-reviews
python paper/scripts/record_run.py runs/sst --name sst-bicontree --data $LEXITREE_DATA/sst/*.txt vectors.npz
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import root_path  # noqa: F401
from lexitree.corpora.named import EMBEDDED, find_entry
from lexitree.tasks.classify.recipe import Recipe
from lexitree_paper.run_records import GOLD, keep_scores, public_recipe
from result_records import (
    checksums,
    describe_code,
    join_command,
    machine_of_run,
    public_name,
    write_record,
)

OPTIONS = {
    "parser": "--parser",
    "vectors": "--vectors",
    "encoder.name": "--encoder",
    "model.model": "--model",
    "training.epochs": "--epochs",
    "training.batch_size": "--batch-size",
}
"""The settings that have an option of their own; the others are given by --set."""


class RecordError(Exception):
    """The run cannot be recorded as it is."""


def read_results(folder: Path) -> dict[int, dict[str, Any]]:
    """The result of each seed, from summary.json or, for a single seed, result.json."""
    summary, single = folder / "summary.json", folder / "result.json"
    if summary.exists():
        seeds = json.loads(summary.read_text(encoding="utf-8"))["seeds"]
        return {int(seed): result for seed, result in seeds.items()}
    if single.exists():
        result = json.loads(single.read_text(encoding="utf-8"))
        return {result["recipe"]["training"]["seed"]: result}
    raise RecordError(f"{folder} has neither summary.json nor result.json: is the run finished?")


def wall_seconds(folder: Path) -> float | None:
    """How long several seeds took together, where there were several."""
    path = folder / "summary.json"
    return json.loads(path.read_text(encoding="utf-8")).get("wall_seconds") if path.exists() else None


def command_of(recipe: Mapping[str, Any], seeds: list[int], name: str) -> str:
    """The command that repeats a run: the corpus, and every setting that is not the default."""
    defaults = dict(_dotted(Recipe().as_dict()))
    words = ["lexitree", "train", recipe["corpus"], "-o", f"runs/{name}"]
    for setting, value in _dotted(recipe):
        if setting in ("corpus", "data", "training.seed") or value == defaults.get(setting):
            continue
        text = value if isinstance(value, str) else json.dumps(value)
        words += [OPTIONS[setting], text] if setting in OPTIONS else ["--set", f"{setting}={text}"]
    if seeds != [1]:
        words += ["--seeds", _seed_range(seeds)]
    return join_command(words)


def _dotted(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings with those of tables by dotted names."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield name, value


def _seed_range(seeds: list[int]) -> str:
    if seeds == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 1:
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds))


def describe_data(recipe: Mapping[str, Any], files: list[Path]) -> dict[str, str]:
    """The checksums of what the run read; nothing it read may be missing."""
    entry = find_entry(recipe["corpus"])
    is_embedded = entry is not None and entry.package == EMBEDDED
    data = {entry.name: EMBEDDED} if entry is not None and is_embedded else {}
    data |= checksums(files)
    if not is_embedded and not files:
        raise RecordError(f"name the files of {recipe['corpus']} by --data")
    if recipe["vectors"] and public_name(recipe["vectors"]) not in data:
        raise RecordError(f"name {recipe['vectors']} by --data as well")
    return data


def record_run(folder: Path, name: str, files: list[Path]) -> Path:
    """Write the record of a finished run."""
    results = read_results(folder)
    seeds = sorted(results)
    first = results[seeds[0]]
    recipe = first["recipe"]
    data = describe_data(recipe, files)
    recipe = public_recipe(recipe)
    finished = max(path.stat().st_mtime for path in folder.rglob("result.json"))
    environment = first["environment"]
    record = {
        "command": command_of(recipe, seeds, name),
        **describe_code(),
        "date": datetime.datetime.fromtimestamp(finished, datetime.UTC).date().isoformat(),
        "data": data,
        "machine": machine_of_run(environment),
        "seeds": seeds,
        "recipe": recipe,
        "num_parameters": first["num_parameters"],
        "corpus": first["corpus"],
        "environment": environment,
        "wall_seconds": wall_seconds(folder),
        GOLD: first.get(GOLD),
        "runs": {str(seed): keep_scores(results[seed]) for seed in seeds},
    }
    return write_record(name, {key: value for key, value in record.items() if value is not None})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the run's directory")
    parser.add_argument("--name", required=True, help="the record's name")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="the files the run read")
    options = parser.parse_args()
    try:
        path = record_run(options.folder, options.name, options.data)
    except (RecordError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"results/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
