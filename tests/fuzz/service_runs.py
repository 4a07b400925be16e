"""Many damaged requests for a service: given to the application directly, over HTTP, and made from its OpenAPI document."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.driver import TARGETS, Failure, problem_of
from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.service_requests import STATUSES, Request, check_answer, request_of
from tests.fuzz.service_targets import running_apps, send
from tests.server.raw_http import Connection, ConnectionPool
from tests.server.service_process import HOST, ServiceProcess, Vitals, vitals_of

CONCURRENT = 32
CASE_SECONDS = 60.0
SETTLING_SHARE = 0.2
"""Memory is compared from here on: caches fill and pools grow at first."""
MEMORY_SLACK_MIB = 64.0
"""What allocators may keep."""
MISFRAMED = 0.05
"""The share of requests over HTTP whose bytes are damaged as a whole, so that nobody knows where they end."""
MISFRAMED_SECONDS = 0.5
"""For how long such a request gets an answer; the service may be waiting for the rest of it."""
AS_DOCUMENTED = dict.fromkeys(
    (f"limits_{name}" for name in ("words", "sentence_words", "token_characters", "phrases")), "none"
)
"""Settings of a service that takes whatever its OpenAPI document allows: it cannot tell how long words are."""
TARGET = TARGETS["service"]


@dataclass(slots=True)
class Report:
    """What came of many requests."""

    requests: int = 0
    seconds: float = 0.0
    answers: Counter[str] = field(default_factory=Counter[str])
    failures: dict[str, Failure] = field(default_factory=dict[str, Failure])
    held: list[Vitals] = field(default_factory=list[Vitals])
    """What the service held after a fifth of the requests, and after all."""
    leftovers: dict[str, int] = field(default_factory=dict[str, int])
    """How many more tasks, threads and sockets there are than before."""
    log: list[str] = field(default_factory=list[str])
    """Errors in the log."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "seconds": round(self.seconds),
            "answers": dict(sorted(self.answers.items())),
            "failures": {problem: failure.count for problem, failure in self.failures.items()},
            "memory_mib": [round(each.memory_mib, 1) for each in self.held],
            "leftovers": self.leftovers,
            "errors_in_log": len(self.log),
        }

    def compare(self, now: Vitals, **leftovers: int) -> Report:
        """Note what the service holds at rest and did not hold in the middle of the work."""
        first = self.held[0]
        counts = {"threads": now.threads - first.threads, "sockets": now.sockets - first.sockets}
        self.leftovers = {name: max(0, number) for name, number in (counts | leftovers).items()}
        return self

    @property
    def is_clean(self) -> bool:
        first, last = (each.memory_mib for each in self.held)
        has_leak = any(self.leftovers.values()) or last - first > MEMORY_SLACK_MIB
        return not (self.failures or self.log or has_leak)


async def _run(
    number: int,
    seed: int,
    ask: Callable[[Request, int], Awaitable[str]],
    vitals: Callable[[], Vitals],
    *,
    concurrent: int = CONCURRENT,
) -> Report:
    """Run the cases 0 to `number`, many at a time."""
    report, waiting = Report(), iter(range(number))
    start = time.perf_counter()

    async def worker() -> None:
        for case_number in waiting:
            case = TARGET.case(seed, case_number)
            try:
                async with asyncio.timeout(CASE_SECONDS):
                    report.answers[await ask(request_of(case), case_number)] += 1
            except Exception as error:
                problem = problem_of(error)
                failure = Failure("service", problem, f"{error}"[:300], seed, case_number, case, count=0)
                report.failures.setdefault(problem, failure).count += 1
            report.requests += 1
            if report.requests in (int(SETTLING_SHARE * number), number):
                report.held.append(vitals())

    await asyncio.gather(*(worker() for _ in range(concurrent)))
    report.seconds = time.perf_counter() - start
    return report


class _Errors(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        where = f": {problem_of(error)}: {error}" if error else ""
        self.lines.append(f"{record.name}: {record.getMessage()}{where}"[:300])


def run_in_process(number: int, seed: int = 1) -> Report:
    """Give requests to the application, with a tiny model, without sockets."""
    runner, apps = running_apps()
    errors = _Errors()
    logging.getLogger().addHandler(errors)

    async def ask(request: Request, case_number: int) -> str:
        rng = Random(f"{seed}/{case_number}")
        status = await send(rng.choice(apps), request, rng)
        return str(status) if status else "none: the client had gone"

    async def run() -> Report:
        loop, tasks = asyncio.get_running_loop(), len(asyncio.all_tasks())
        loop.set_exception_handler(lambda _, context: errors.lines.append(str(context)[:300]))
        report = await _run(number, seed, ask, lambda: vitals_of(os.getpid()))
        await asyncio.sleep(0.2)
        return report.compare(vitals_of(os.getpid()), tasks=len(asyncio.all_tasks()) - tasks)

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            report = runner.run(run())
    finally:
        logging.getLogger().removeHandler(errors)
    report.log = [*errors.lines, *(str(each.message) for each in caught if each.category is RuntimeWarning)]
    return report


def run_over_http(service: ServiceProcess, number: int, seed: int = 1) -> Report:
    """Send requests to a real service."""

    async def run() -> Report:
        async with ConnectionPool(HOST, service.port) as pool:

            async def ask(request: Request, case_number: int) -> str:
                rng = Random(f"{seed}/{case_number}")
                if rng.random() < MISFRAMED:
                    return await send_misframed(service, mutate_bytes(request.raw(), rng, b""))
                answer = await pool.ask(request.raw())
                if answer.status == 400 and "x-request-id" not in answer.headers:
                    return "400 by the HTTP server"
                check_answer(request, answer.status, answer.headers, answer.body)
                return str(answer.status)

            report = await _run(number, seed, ask, service.vitals)
        await asyncio.sleep(1)
        return report.compare(service.vitals())

    report = asyncio.run(run())
    report.log = service.unhandled()
    return report


async def send_misframed(service: ServiceProcess, data: bytes) -> str:
    """Send bytes that are hardly a request over a connection of their own."""
    connection = await Connection.open(HOST, service.port)
    try:
        answer = await asyncio.wait_for(connection.ask(data), MISFRAMED_SECONDS)
    except (TimeoutError, ConnectionError):
        return "damaged bytes: none"
    finally:
        connection.close()
    assert answer.status in STATUSES | {408, 431}, f"status {answer.status}: {answer.body[:300]!r}"
    return f"damaged bytes: {answer.status}"


def run_schemathesis(service: ServiceProcess, examples: int, folder: Path, seed: int = 1) -> dict[str, Any]:
    """Let schemathesis make requests from the OpenAPI document; what it has counted and found."""
    events = folder / "events.ndjson"
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"http://{HOST}:{service.port}/openapi.json"]
    command += ["--checks", "all", "--max-examples", str(examples), "--seed", str(seed), "--workers", "2"]
    command += ["--no-color", "--continue-on-failure", "--report-ndjson-path", str(events)]
    start = time.perf_counter()
    variables = {
        "SCHEMATHESIS_HOOKS": "tests.fuzz.schemathesis_hooks",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=os.environ | variables
    )
    requests, failures = read_events(events)
    report = {
        "requests": requests,
        "seconds": round(time.perf_counter() - start),
        "failures": dict(failures),
        "leftovers": {},
        "errors_in_log": len(service.unhandled()),
        "output": finished.stdout[-8000:] + finished.stderr[-2000:],
    }
    if finished.returncode > 1:
        report["failures"] = {f"exit status {finished.returncode}": 1}
    return report


def read_events(events: Path) -> tuple[int, Counter[str]]:
    """How many requests schemathesis has sent, and which of its checks failed how often."""
    number, failures = 0, Counter[str]()
    with suppress(FileNotFoundError), events.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            failures.update(each["value"]["type"] for name, each in event.items() if name == "NonFatalError")
            recorder = event.get("ScenarioFinished", {}).get("recorder", {})
            number += len(recorder.get("interactions", ()))
            for checks in recorder.get("checks", {}).values():
                failures.update(
                    f"{recorder['label']}: {check['name']}"
                    for check in checks
                    if check["status"] != "success"
                )
    # A line that is not valid is answered in its line, and the others are answered too.
    del failures["POST /v1/label/stream: negative_data_rejection"]
    return number, failures
