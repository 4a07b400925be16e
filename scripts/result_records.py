"""Read, write and check records; a record is a figure with everything that led to it.

The product's records are files of results/; those of the paper are rows of paper/results/*.jsonl, which
lexitree_paper writes. Pages of both show both.
"""

from __future__ import annotations

import json
import platform
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# The benchmarks are programs, not a package; they and these scripts describe a machine in the same way.
sys.path.append(str(ROOT / "benchmarks"))

from environment import describe_code, describe_run, machine  # noqa: E402
from lexitree.corpora.locations import DATA_VARIABLE  # noqa: E402
from lexitree.learning.provenance import checksums, committed_digest, public_name  # noqa: E402

__all__ = [
    "DATA_VARIABLE",
    "checksums",
    "current_command",
    "describe_code",
    "describe_run",
    "faults",
    "join_command",
    "machine_of_run",
    "public_name",
    "read_record",
    "write_record",
]

RESULTS = ROOT / "results"
PAPER_RESULTS = ROOT / "paper" / "results"
MOVED_PROGRAMS = tomllib.loads((ROOT / "scripts" / "moved_programs.toml").read_text(encoding="utf-8"))
"""Programs by the paths that older records know them by."""

FIELDS = ("command", "commit", "data", "seeds", "machine", "date")
MACHINE_FIELDS = ("cpu", "cores", "memory_gib", "torch", "python")
LOCAL_PATH = re.compile(r"(?<![\w.$/])(?!/v1/)(/[\w.-]+){2,}|[A-Z]:\\\\")


SETTINGS_OF_OPTIONS = {
    "--parses": "parses",
    "--vector-length": "vector_length",
    "--teacher": "teacher",
    "--teacher-trees": "teacher_trees",
    "--output-size": "model.output",
    "--weight-dropout": "model.weight_dropout",
    "--averaging": "training.averaging",
    "--decay": "training.decay",
}
"""Options of `lexitree train` in older records, by the settings that --set now takes in their place."""


def current_command(command: str) -> str:
    """The command of a record as it is given today; the record keeps what was run."""
    command = " ".join(MOVED_PROGRAMS.get(word, word) for word in command.split(" "))
    if not command.startswith(("lexitree train ", "lexitree sweep ")):
        return command
    words: list[str] = []
    lists: dict[str, list[str]] = {"teacher_trees": []}
    rest = iter(map(_current_recipe, shlex.split(command)))
    for word in rest:
        setting = SETTINGS_OF_OPTIONS.get(word)
        if setting in lists:
            lists[setting].append(next(rest))
        else:
            words += [word] if setting is None else ["--set", f"{setting}={next(rest)}"]
    for setting, values in lists.items():
        words += ["--set", f"{setting}={json.dumps(values)}"] if values else []
    return join_command(words)


def _current_recipe(word: str) -> str:
    """A file below recipes/ by the name that a command gives it today; any other word as it is."""
    path = Path(word)
    if path.parent == Path("recipes/tuning"):
        return f"paper/{word}"
    return path.stem if path.parent == Path("recipes") and path.suffix == ".toml" else word


def join_command(words: Iterable[str]) -> str:
    """A command line of these words, in which the data folder stays a variable."""
    return " ".join(word if word.startswith(f"${DATA_VARIABLE}/") else shlex.quote(word) for word in words)


def read_record(name: str) -> dict[str, Any] | None:
    """The record of that name, None where nothing was measured yet; of the paper's, what is not packed apart."""
    path = RESULTS / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    rows = _rows_of(name)
    if not rows.exists():
        return None
    with rows.open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record.pop("name") == name.rpartition("/")[2]:
                return record
    return None


def write_record(name: str, record: Mapping[str, Any]) -> Path:
    """Write results/NAME.json, or the row of one of the paper's records; refuse what nobody else could use."""
    path, rows = RESULTS / f"{name}.json", _rows_of(name)
    if path.exists() or not rows.exists():
        RESULTS.mkdir(exist_ok=True)
        return write_file(path, record)
    _refuse_faults(name, record)
    # Only the paper's own records need its package.
    from lexitree_paper.run_records import save_record

    save_record(rows.parent, name.rpartition("/")[2], record)
    return rows


def _rows_of(name: str) -> Path:
    """The file with the row of a record of the paper: one per first word."""
    folder, _, row = name.rpartition("/")
    return PAPER_RESULTS / folder / f"{row.partition('-')[0]}.jsonl"


def write_file(path: Path, record: Mapping[str, Any]) -> Path:
    """Write a record to a file, and refuse what nobody else could use."""
    _refuse_faults(path.stem, record)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _refuse_faults(name: str, record: Mapping[str, Any]) -> None:
    wrong = faults(record)
    if wrong:
        raise ValueError(f"{name}: {'; '.join(wrong)}")


def faults(record: Mapping[str, Any]) -> list[str]:
    """What a record lacks, or says that nobody else could use."""
    found = [f"no {field}" for field in FIELDS if field not in record]
    found += [f"no machine.{field}" for field in MACHINE_FIELDS if field not in record.get("machine", {})]
    for name, digest in record.get("data", {}).items():
        if digest != "embedded" and not re.fullmatch("[0-9a-f]{64}", digest):
            found.append(f"{name} has no checksum")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(record.get("date"))):
        found.append("the date is not written as 2025-01-31")
    if not re.fullmatch(r"[0-9a-f]{7,40}(\+changes)?", str(record.get("commit"))):
        found.append("the commit is none")
    found += hidden_changes(str(record.get("commit")), record.get("source"))
    texts = [str(value) for key, value in _leaves(record) if key != "output"]
    found += [f"it holds a path of one machine: {text}" for text in texts if LOCAL_PATH.search(text)]
    return found


def hidden_changes(commit: str, source: str | None) -> list[str]:
    """What is wrong if the sources were not those of the commit; older records have no digest of them."""
    committed = committed_digest(commit) if source else None
    if committed in (None, source) or commit.endswith("+changes"):
        return []
    return [f"the sources were not those of commit {commit}, and it does not say +changes"]


def machine_of_run(environment: Mapping[str, Any]) -> dict[str, Any]:
    """This machine, if a run says that it was trained here; ValueError otherwise, because nothing is told by hand."""
    here = machine()
    device = environment.get("device")
    if device not in (None, here["gpu"], platform.machine()):
        raise ValueError(f"the run was trained on another machine, with {device}: record it there")
    return {**here, "torch": environment["torch"], "python": environment["python"]}


def _leaves(values: Any, key: str = "") -> Iterable[tuple[str, Any]]:
    """Every plain value of nested JSON with the key it stands under."""
    if isinstance(values, Mapping):
        for name, value in values.items():
            yield "key", name
            yield from _leaves(value, name)
    elif isinstance(values, list):
        for value in values:
            yield from _leaves(value, key)
    else:
        yield key, values
