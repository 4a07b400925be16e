"""Create a separate environment for each library on first use, and return its interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Peer:
    """A system to compare with: what to install, which script runs it and which cell it has."""

    name: str
    worker: str
    cell: str
    requirements: tuple[str, ...]
    imports: str
    """A module whose import shows that the installation works."""
    threads: int | None = None
    """The most threads that it can use, where it has such a limit."""


PEERS = (
    Peer(
        name="dynet",
        worker="dynet_worker.py",
        cell="n-ary",
        requirements=("dyNET38==2.2", "numpy==1.26.4"),
        imports="dynet",
        threads=1,
    ),
    Peer(
        name="dgl",
        worker="dgl_worker.py",
        cell="n-ary",
        # Later versions of dgl from the package index fail to import; this one leaves `packaging` undeclared.
        requirements=("dgl==1.1.3", "torch==2.13.0", "numpy==1.26.4", "scipy==1.17.1", "packaging==24.2"),
        imports="dgl",
    ),
    Peer(
        name="pytorch-tree-lstm",
        worker="pytorch_tree_lstm_worker.py",
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
