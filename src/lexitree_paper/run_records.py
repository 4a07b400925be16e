"""Records of runs: the figures with the command, commit, data, seeds and machine behind them."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from lexitree.files import atomic_write
from lexitree.version import __version__

DATA_VARIABLE = "LEXITREE_DATA"
_COMMIT_VARIABLE = "LEXITREE_COMMIT"
_KEPT = ("best_epoch", "dev_root", "dev_phrase", "test_root", "test_phrase", "seconds", "epochs")
"""What a record keeps of each seed: scores and their history; settings are the same for all."""
ANSWERS, GOLD = "test_root_answers", "test_root_gold"
"""One character per test sentence, for paired tests: the answers of each seed, and the gold labels."""


def record_seeds(
    command: str, results: Mapping[int, Mapping[str, Any]], files: Iterable[Path], wall_seconds: float | None
) -> dict[str, Any]:
    """Return the record of one recipe trained with several seeds."""
    seeds = sorted(results)
    first = results[seeds[0]]
    return {
        **describe(command, files, seeds, embedded=first["recipe"]["corpus"]),
        "recipe": public_recipe(first["recipe"]),
        "num_parameters": first["num_parameters"],
        "corpus": first["corpus"],
        "environment": first["environment"],
        "wall_seconds": wall_seconds,
        **({GOLD: first[GOLD]} if first.get(GOLD) else {}),
        "runs": {str(seed): keep_scores(results[seed]) for seed in seeds},
    }


def describe(command: str, files: Iterable[Path], seeds: list[int], *, embedded: str) -> dict[str, Any]:
    """Return what every record starts with: command, commit, date, data, machine and seeds."""
    return {
        "command": command,
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "data": checksums(files) or {embedded: "embedded"},
        "machine": machine(),
        "seeds": seeds,
    }


def keep_scores(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record keeps of one seed; older runs have no answers."""
    answers = {ANSWERS: result[ANSWERS]} if result.get(ANSWERS) else {}
    return {**{key: result[key] for key in _KEPT}, **answers}


def public_recipe(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recipe without the folders of the machine it ran on."""
    public = {**recipe, "data": None}
    for name in ("vectors", "corpus"):
        if recipe[name] and Path(recipe[name]).is_absolute():
            public[name] = f"${DATA_VARIABLE}/{public_name(recipe[name])}"
    # Older records have no teachers.
    if recipe.get("teacher"):
        public["teacher"] = _relative(recipe["teacher"])
        public["teacher_trees"] = [_relative(path) for path in recipe["teacher_trees"]]
    return public


def _relative(path: str) -> str:
    return public_name(path) if Path(path).is_absolute() else path


def read_record(path: Path) -> dict[str, Any] | None:
    """Read a record; None if there is none yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def save_record(path: Path, record: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        json.dump(record, stream, indent=1, ensure_ascii=False)
        stream.write("\n")


def commit() -> str:
    """Return the current commit, marked `+changes` if files differ from it; without a history, the version.

    On a machine without the history, LEXITREE_COMMIT names the commit.
    """
    if told := os.environ.get(_COMMIT_VARIABLE):
        return told
    root = Path(__file__).parents[2]
    run = ["git", "-C", str(root)]
    try:
        head = subprocess.run(
            [*run, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
        )
        status = subprocess.run(
            [*run, "status", "--porcelain", "--", "."], capture_output=True, text=True, check=False
        )
    except OSError:
        return f"lexitree {__version__}"
    changes = "+changes" if status.stdout.strip() else ""
    return head.stdout.strip() + changes if head.stdout.strip() else f"lexitree {__version__}"


def checksums(paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of data files by public name."""
    return {public_name(path): checksum(path) for path in paths}


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def public_name(path: str | Path) -> str:
    """Return a path relative to the data folder, or the file name alone."""
    folder = os.environ.get(DATA_VARIABLE)
    resolved = Path(path).resolve()
    if folder and resolved.is_relative_to(Path(folder).resolve()):
        return str(resolved.relative_to(Path(folder).resolve()))
    return resolved.name


def machine() -> dict[str, Any]:
    """Describe the processor, memory, GPU and versions."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _memory_gib() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, ValueError, OSError):
        # Not every system reports it.
        return None


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
