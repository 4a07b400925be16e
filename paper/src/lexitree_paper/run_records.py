"""Reads and writes records of runs: JSON Lines, one record a row, in a file per first word of the names.

The record `sst-bicontree` is a row of `sst.jsonl`. Long lists (the answers to all test sentences, the figures of all
epochs) would make rows unreadable, so they are packed apart, in `packed/sst.jsonl.gz`; `read_record` puts them back.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from lexitree.corpora.locations import DATA_VARIABLE
from lexitree.files import file_errors
from lexitree.learning.provenance import describe, public_name
from lexitree.writing import atomic_path, exclusive_lock

ANSWERS, GOLD = "test_root_answers", "test_root_gold"
"""One character per test sentence, for paired tests: the answers of each seed, and the gold labels."""
_KEPT = ("best_epoch", "dev_root", "dev_phrase", "test_root", "test_phrase", "seconds", "epochs")
"""What a record keeps of each seed: scores and their history; settings are the same for all."""

_PACKED = (GOLD, "histories")
_PACKED_OF_RUNS = (ANSWERS, "epochs")
_PACKED_FOLDER = "packed"
_GZIP = ".gz"
_SECONDS_TO_WAIT = 60.0


def read_record(folder: Path, name: str) -> dict[str, Any] | None:
    """Read a record; None if there is none yet."""
    return read_named(folder, [name]).get(name)


def read_named(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read those of the named records that there are, by name."""
    wanted = set(names)
    found: dict[str, dict[str, Any]] = {}
    for path in {_file_of(folder, name) for name in wanted}:
        packed = _read_rows(_packed_file(path), wanted)
        for name, row in _read_rows(path, wanted).items():
            found[name] = _unpack(row, packed.get(name, {}))
    return found


def list_records(folder: Path) -> list[str]:
    """Return the names of all records of a folder."""
    return [_name_in(line) for path in sorted(folder.glob("*.jsonl")) for line in _lines(path)]


def save_record(folder: Path, name: str, record: Mapping[str, Any]) -> None:
    """Write a record, replacing the one of this name."""
    row, packed = _pack(record)
    path = _file_of(folder, name)
    if packed or name in map(_name_in, _lines(_packed_file(path))):
        _put_row(_packed_file(path), name, packed)
    _put_row(path, name, row)


def _file_of(folder: Path, name: str) -> Path:
    return folder / f"{name.partition('-')[0]}.jsonl"


def _packed_file(path: Path) -> Path:
    return path.parent / _PACKED_FOLDER / f"{path.name}{_GZIP}"


def _pack(record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide a record into its row and what is packed apart."""
    row = {key: value for key, value in record.items() if key not in _PACKED}
    packed = {key: record[key] for key in _PACKED if key in record}
    runs: Any = record.get("runs")
    long = {key for run in runs.values() for key in run if key in _PACKED_OF_RUNS} if runs else set[str]()
    if long:
        row["runs"] = {
            seed: {key: value for key, value in run.items() if key not in long} for seed, run in runs.items()
        }
        packed["runs"] = {
            seed: {key: value for key, value in run.items() if key in long} for seed, run in runs.items()
        }
    return row, packed


def _unpack(row: Mapping[str, Any], packed: Mapping[str, Any]) -> dict[str, Any]:
    """Put a record together again."""
    joined = {**row, **packed}
    if "runs" in packed:
        runs = packed["runs"]
        joined["runs"] = {seed: {**run, **runs.get(seed, {})} for seed, run in row["runs"].items()}
    return joined


def _read_rows(path: Path, names: Collection[str]) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in _lines(path) if _name_in(line) in names]
    return {row.pop("name"): row for row in rows}


def _put_row(path: Path, name: str, row: Mapping[str, Any]) -> None:
    """Replace the row of this name; rows are sorted, so that files do not depend on the order of the runs."""
    with exclusive_lock(path, "writes a record", wait=_SECONDS_TO_WAIT):
        lines = [line for line in _lines(path) if _name_in(line) != name]
        lines.append(json.dumps({"name": name, **row}, ensure_ascii=False))
        content = "".join(f"{line}\n" for line in sorted(lines, key=_name_in)).encode()
        with atomic_path(path) as temporary:
            # Without the time, so that equal records are equal files.
            temporary.write_bytes(gzip.compress(content, mtime=0) if path.suffix == _GZIP else content)


def _name_in(line: str) -> str:
    """Return the name of a row, without reading the rest of it."""
    return line.split('"', 4)[3]


def _lines(path: Path) -> list[str]:
    if not path.exists():
        return []
    with file_errors(path, "read"):
        content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == _GZIP else content).decode().split("\n")[:-1]


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
