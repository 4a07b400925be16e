"""The two checkouts: where their sources are, and processes that ask them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "gate"
COMMIT = "5f42adee"
WEIGHTS = ("sentiment", "questions", "parser")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class GateError(Exception):
    """Nothing can be compared; the message says why and what to do."""


@dataclass(frozen=True)
class Checkouts:
    """The sources of both sides, and the weights that both read."""

    present: Path
    yardstick: Path
    weights: Path

    def source(self, *, is_yardstick: bool) -> Path:
        """The folder that PYTHONPATH names."""
        return self.yardstick if is_yardstick else self.present


def checkouts_of_history() -> Checkouts:
    """This checkout, and the yardstick as the repository's history has it."""
    source = CACHE / COMMIT / "src"
    if not source.is_dir():
        _extract(source)
    check_sources(source)
    return Checkouts(ROOT / "src", source, source / "lexitree" / "shipped")


def prepared_checkouts(folder: Path) -> Checkouts:
    """Those of a folder that `prepare` has made."""
    found = Checkouts(folder / "present", folder / "yardstick", folder / "weights")
    for path in (found.present, found.yardstick, found.weights):
        if not path.is_dir():
            raise GateError(f"{folder} was not made by `python tests/gate prepare`: it has no {path.name}")
    return found


def _extract(source: Path) -> None:
    done = subprocess.run(
        ["git", "archive", COMMIT, "src/lexitree"], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode:
        raise GateError(
            f"the history here does not have the yardstick, commit {COMMIT}: {done.stderr.decode().strip()}\n"
            "Fetch it (git fetch --unshallow), or name a prepared folder with --folder."
        )
    part = source.parent.with_name(f"{COMMIT}.{os.getpid()}")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(part, filter="data")
    source.parent.parent.mkdir(parents=True, exist_ok=True)
    part.rename(source.parent)


def check_sources(source: Path) -> None:
    """Refuse a yardstick that was changed: it would measure nothing."""
    found = checksum_of_files([path for path in (source / "lexitree").rglob("*") if _is_source(path)], source)
    if found != json.loads((HERE / "checksums.json").read_text())["sources"]:
        raise GateError(
            f"{source} is not commit {COMMIT} (checksum {found}); delete it, and it is made again"
        )


def _is_source(path: Path) -> bool:
    return path.is_file() and path.suffix in (".py", ".c", ".h", ".json", ".safetensors", ".js", ".css")


def checksum_of_files(paths: list[Path], folder: Path) -> str:
    """A checksum of the names and contents of files."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def compile_kernels(source: Path) -> None:
    """Compile the kernels of a checkout from its own sources; up-to-date ones are left alone."""
    script = (
        "from lexitree.kernels import compiling, library\n"
        "if library.why_absent(): compiling.compile_library()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(source), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise GateError(f"the kernels of {source} do not compile: {done.stderr.strip()[-600:]}")


def environment(source: Path) -> dict[str, str]:
    """The environment of a process that asks a checkout, on one thread."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LEXITREE_")}
    return {**inherited, **ONE_THREAD, "PYTHONPATH": str(source)}


def worker_command(source: Path, job: dict[str, Any]) -> list[str]:
    """The command that asks a checkout."""
    told = {name: str(value) if isinstance(value, Path) else value for name, value in job.items()}
    return [sys.executable, str(HERE / "worker.py"), json.dumps({**told, "source": str(source)})]


def ask(checkouts: Checkouts, job: dict[str, Any], variables: dict[str, str] | None = None) -> None:
    """Let a worker do a job."""
    source = checkouts.source(is_yardstick=job["is_yardstick"])
    command = worker_command(source, {**job, "weights": job.get("weights", checkouts.weights)})
    done = subprocess.run(
        command, env={**environment(source), **(variables or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        side = f"the yardstick ({COMMIT})" if job["is_yardstick"] else "this checkout"
        raise GateError(f"{side} does not answer ({job['task']}): {done.stderr.strip()[-3000:]}")


def prepare(checkouts: Checkouts, inputs: Path, folder: Path) -> None:
    """Write a folder that a machine without the history and the data can run the gate from."""
    for name, source in (("present", checkouts.present), ("yardstick", checkouts.yardstick)):
        ignored = shutil.ignore_patterns("shipped", "__pycache__", "_kernels.so*")
        shutil.copytree(source / "lexitree", folder / name / "lexitree", ignore=ignored, dirs_exist_ok=True)
    for name in WEIGHTS:
        shutil.copytree(checkouts.weights / name, folder / "weights" / name, dirs_exist_ok=True)
    shutil.copytree(
        HERE, folder / "gate", ignore=shutil.ignore_patterns("__pycache__", "test_*"), dirs_exist_ok=True
    )
    asked = json.loads(inputs.read_text(encoding="utf-8"))
    # A machine without the treebanks has a GPU, where their scores are not asked for.
    (folder / "inputs.json").write_text(json.dumps({**asked, "treebanks": {}}), encoding="utf-8")
