"""Start worker scripts and send them requests."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.environments import FOLDER, AbsentPeerError, worker_environment


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


def script(name: str) -> str:
    return os.fspath(FOLDER / name)
