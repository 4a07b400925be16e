"""Where and when a figure was measured: what every record under results/ carries."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch


def describe_run(data: dict[str, Path | None]) -> dict[str, Any]:
    """The command, the commit, the data (by checksum; None for embedded) and the machine."""
    return {
        "command": " ".join(["python", *map(shorten, sys.argv)]),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "data": {name: checksum(path) if path else "embedded" for name, path in data.items()},
        "machine": machine(),
    }


def shorten(argument: str) -> str:
    """An argument without the folders of this machine."""
    folder = os.environ.get("LEXITREE_DATA")
    if folder and argument.startswith(folder):
        return argument.replace(folder.rstrip("/"), "$LEXITREE_DATA", 1)
    return Path(argument).name if Path(argument).is_absolute() else argument


def commit() -> str:
    """The commit that was measured, marked when files were changed since.

    A machine that was given the files without their history is told by LEXITREE_COMMIT.
    """
    if told := os.environ.get("LEXITREE_COMMIT"):
        return told
    root = Path(__file__).parent
    run = ["git", "-C", str(root)]
    head = subprocess.run(
        [*run, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    status = subprocess.run(
        [*run, "status", "--porcelain", "--", "../src"], capture_output=True, text=True, check=False
    )
    return (head.stdout.strip() or "unknown") + ("+changes" if status.stdout.strip() else "")


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def machine() -> dict[str, Any]:
    """The processor, its cores and memory, the GPU if there is one, and the versions."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
