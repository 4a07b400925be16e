"""Start `lexitree serve`, ask it what the guide asks, stop it, and record that in results/service-tour.json.

    python scripts/record_service.py

Port 8000 must be free.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record_plugin import make_environment
from record_tour import EXAMPLES, Step, run_step
from result_records import describe_run, write_record

START = "lexitree serve --workers 2"
JSON = "--json"
"""Sends a body of JSON, from curl 7.82 on."""
TEXT = '"text": "Not a bad film, but nobody will remember it."'
STEPS = (
    Step("label", f"curl -s localhost:8000/v1/label {JSON} '{{{TEXT}}}'", width=400),
    Step(
        "many",
        f'curl -s localhost:8000/v1/label {JSON} \'{{"texts": ["Good.", "Bad."], "include": ["heads"]}}\'',
        width=400,
    ),
    Step(
        "stream",
        """printf '"Good."\\n{"text": "Bad.", "id": 7}\\n' | curl -s localhost:8000/v1/label/stream"""
        " -H 'Content-Type: application/x-ndjson' --data-binary @-",
        width=400,
    ),
    Step(
        "explain",
        f'curl -s localhost:8000/v1/explain {JSON} \'{{{TEXT}, "format": "svg"}}\' -o tree.svg && ls tree.svg',
    ),
    Step(
        "refused", f'curl -s localhost:8000/v1/label {JSON} \'{{{TEXT}, "model": "sentimnet"}}\'', width=400
    ),
    Step("ready", "curl -s localhost:8000/ready"),
    Step("metrics", "curl -s localhost:8000/metrics | grep ^lexitree_requests_total"),
    Step("client", "python ask.py"),
)
READY_SECONDS = 60.0


def start_service(folder: Path, programs: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The running service, and what it says to a person until it is ready (its log aside)."""
    log = folder / "service.log"
    with log.open("wb") as stream:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LEXITREE_")}
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
        process = subprocess.Popen(START.split(), cwd=folder, env=environment, stdout=stream, stderr=stream)
    deadline = time.monotonic() + READY_SECONDS
    while "Ready" not in (said := log.read_text(encoding="utf-8")):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise SystemExit(f"error: the service did not start\n{said}")
        time.sleep(0.1)
    return process, re.sub(r"^\{.*\n", "", said, flags=re.MULTILINE).strip()


def main() -> int:
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = make_environment(folder / "environment")
        for file in ("reviews.txt", "service/ask.py"):
            shutil.copy(EXAMPLES / file, folder)
        process, said = start_service(folder, programs)
        steps = {"start": {"command": START, "output": said}}
        for step in STEPS:
            print(step.command, flush=True)
            status, output = run_step(step, folder, programs)
            if status != step.status:
                failed.append(step.name)
                print(f"{output}\nended with {status}", file=sys.stderr)
            steps[step.name] = {"command": step.command, "output": output}
        process.send_signal(signal.SIGTERM)
        if process.wait(60) != 0:
            failed.append("stop")
    record = {
        **describe_run({}),
        "command": "python scripts/record_service.py",
        "data": {},
        "seeds": [],
        "steps": steps,
    }
    write_record("service-tour", record)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
