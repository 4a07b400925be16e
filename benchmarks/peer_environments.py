"""Install the systems to compare with into environments of their own, start them there and send them requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Peer:
    """A system to compare with and what to install for it."""

    name: str
    requirements: tuple[str, ...]
    imports: str
    """A module whose import shows that the installation works."""
    cell: str = ""
    """The tree LSTM that it has."""
    threads: int | None = None
    """The most threads that it can use, where it has such a limit."""


PEERS = (
    Peer(
        name="dynet",
        cell="n-ary",
        requirements=("dyNET38==2.2", "numpy==1.26.4"),
        imports="dynet",
        threads=1,
    ),
    Peer(
        name="dgl",
        cell="n-ary",
        # Later versions of dgl from the package index fail to import; this one leaves `packaging` undeclared.
        requirements=("dgl==1.1.3", "torch==2.13.0", "numpy==1.26.4", "scipy==1.17.1", "packaging==24.2"),
        imports="dgl",
    ),
    Peer(
        name="pytorch-tree-lstm",
        cell="child-sum",
        requirements=("pytorch-tree-lstm==0.1.3", "torch==2.13.0", "numpy==1.26.4"),
        imports="treelstm",
    ),
)


class AbsentPeerError(Exception):
    """The peer cannot be installed or started here; the message says why."""


def default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lexitree-benchmarks"


def prepare(peer: Peer, cache: Path) -> Path:
    """The interpreter of the peer's environment, which is made unless it is there with the same requirements."""
    folder = cache / peer.name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    note = folder / "requirements.txt"
    wanted = (
        "\n".join([f"# python {sys.version_info.major}.{sys.version_info.minor}", *peer.requirements]) + "\n"
    )
    if python.exists() and note.exists() and note.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {peer.name} ({', '.join(peer.requirements)})", file=sys.stderr)
    try:
        venv.create(folder, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise AbsentPeerError(f"no environment could be made: {error}") from error
    _try([str(python), "-m", "pip", "install", "--quiet", *peer.requirements])
    _try([str(python), "-c", f"import {peer.imports}"])
    note.write_text(wanted, encoding="utf-8")
    return python


def worker_environment(threads: int) -> dict[str, str]:
    """The variables of a worker: none of this process's paths, and no more threads than asked for."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    limits = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    return {**kept, **limits, "DGLBACKEND": "pytorch"}


def _try(command: list[str]) -> None:
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env=worker_environment(threads=1)
    )
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if line.strip() and "WARNING" not in line]
        raise AbsentPeerError(lines[-1].strip() if lines else f"{command[2]} ended with {run.returncode}")


class Worker:
    """One system in its own process; it waits on its input, so it takes no time while another runs."""

    def __init__(
        self, name: str, command: Sequence[str], threads: int, python_path: Path | None = None
    ) -> None:
        self.name = name
        environment = worker_environment(threads)
        if python_path:
            environment["PYTHONPATH"] = str(python_path)
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (lives as long as the process)
        self._process = subprocess.Popen(
            [*command, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment,
        )
        self.versions: dict[str, str] = self._read()["versions"]

    def run(self, batches: list[list[int]], gradients: Path | None = None) -> tuple[float, float]:
        """(seconds, loss) of these batches; the last batch's gradients go to the file."""
        request: dict[str, Any] = {"batches": batches}
        if gradients:
            request["gradients"] = str(gradients)
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        return answer["seconds"], answer["loss"]

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()
        self._log.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        self._process.wait()
        self._log.seek(0)
        lines = [text.strip() for text in self._log.read().splitlines() if text.strip()]
        raise AbsentPeerError(f"its worker ended: {lines[-1] if lines else self._process.returncode}")
