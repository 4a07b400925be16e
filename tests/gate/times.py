"""Times of this checkout as ratios of the yardstick's, both measured in turns on one machine."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from adapter import Adapter
from checkouts import COMMIT, Checkouts, GateError, compile_kernels, environment, worker_command
from yardstick_adapter import YardstickAdapter

STREAM, WARM, REQUESTS = 1_000, 100, 400
"""How many sentences, single sentences and requests a round has."""
GPU_STREAM = 20_000
CLIENTS = 8
SECONDS_TO_START = 120
IDLE_LOAD = 0.3
"""A machine with more work than this when the times begin is not idle."""

Round = Callable[[], float]
"""Does the work of a round and tells the seconds."""


def measure_times(checkouts: Checkouts, inputs: Path, options: argparse.Namespace) -> None:
    """Print a line for each time: the ratio of the medians, the range of the rounds' ratios, and both medians."""
    load = os.getloadavg()[0]
    if load > IDLE_LOAD:
        print(f"The machine is not idle (load {load:.1f}): other work takes part in these times.")
    texts: Sequence[str] = json.loads(inputs.read_text(encoding="utf-8"))["texts"]["sst"]
    measured: dict[str, Callable[[bool, ExitStack], Round]]
    if options.device == "cpu":
        for source in (checkouts.yardstick, checkouts.present):
            compile_kernels(source)
    if options.device == "cuda":
        cuda = {"device": "cuda", "library": "torch", "inputs": inputs}
        measured = {
            "text on a GPU": _worker(checkouts, {**cuda, "what": "stream", "number": GPU_STREAM}),
            "epoch on a GPU": _worker(checkouts, {**cuda, "what": "training"}),
        }
    else:
        cpu = {"device": "cpu", "library": "numpy", "inputs": inputs, "kernels": True}
        measured = {
            "stream": _worker(checkouts, {**cpu, "what": "stream", "number": STREAM}),
            "warm sentence": _worker(checkouts, {**cpu, "what": "warm", "number": WARM}),
            "training on a CPU": _worker(checkouts, {**cpu, "what": "training"}),
            "cold start": lambda side, _: _cold_start(checkouts, side, texts[0]),
            "service": lambda side, stack: stack.enter_context(_service(checkouts, side, texts)),
        }
    print(f"{'':20}{'ratio':>8}{'range':>16}{'this (s)':>16}{COMMIT + ' (s)':>14}")
    for name, start in measured.items():
        if options.times and name not in options.times:
            continue
        with ExitStack() as stack:
            rounds = {side: start(side, stack) for side in (True, False)}
            _show(name, *_in_turns(rounds, options.rounds))


def _in_turns(rounds: dict[bool, Round], number: int) -> tuple[list[float], list[float]]:
    """Seconds of the yardstick and of this checkout; they take turns in going first."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(number):
        for side in (True, False) if turn % 2 else (False, True):
            seconds[side].append(rounds[side]())
    return seconds[True], seconds[False]


def _show(name: str, before: Sequence[float], after: Sequence[float]) -> None:
    ratios = [own / other for own, other in zip(after, before, strict=True)]
    own, other = statistics.median(after), statistics.median(before)
    between = f"{min(ratios):.3f}-{max(ratios):.3f}"
    print(f"{name:20}{own / other:8.3f}{between:>16}{own:16.3f}{other:14.3f}", flush=True)


def _worker(checkouts: Checkouts, job: dict[str, Any]) -> Callable[[bool, ExitStack], Round]:
    """Rounds in a process that stays, so that only the first one warms up."""

    def start(is_yardstick: bool, stack: ExitStack) -> Round:
        source = checkouts.source(is_yardstick=is_yardstick)
        told = {"task": "turns", "is_yardstick": is_yardstick, "weights": checkouts.weights, **job}
        process = stack.enter_context(_process(worker_command(source, told), source, stdin=subprocess.PIPE))
        assert process.stdin is not None
        assert process.stdout is not None
        to, answers = process.stdin, process.stdout
        if answers.readline() != "ready\n":
            raise GateError(f"{source} does not run: {job['what']}")

        def work() -> float:
            to.write("\n")
            to.flush()
            return float(answers.readline())

        return work

    return start


@contextmanager
def _process(command: list[str], source: Path, **options: Any) -> Generator[subprocess.Popen[str]]:
    """A process that ends with the block."""
    with subprocess.Popen(
        command, env=environment(source), stdout=subprocess.PIPE, text=True, **options
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _cold_start(checkouts: Checkouts, is_yardstick: bool, text: str) -> Round:
    """The command that labels one text, as a process."""
    source = checkouts.source(is_yardstick=is_yardstick)
    command = _adapter(is_yardstick).predict_command(checkouts.weights / "sentiment", text)

    def work() -> float:
        began = time.perf_counter()
        subprocess.run(command, env=environment(source), check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    work()
    return work


def _adapter(is_yardstick: bool) -> YardstickAdapter:
    return YardstickAdapter() if is_yardstick else Adapter()


@contextmanager
def _service(checkouts: Checkouts, is_yardstick: bool, texts: Sequence[str]) -> Generator[Round]:
    """The service, asked by several clients at a time; it waits while the other one works."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    source, adapter = checkouts.source(is_yardstick=is_yardstick), _adapter(is_yardstick)
    command = adapter.serve_command(port)
    requests = [adapter.service_request(text) for text in texts[:REQUESTS]]
    with _process(command, source, stderr=subprocess.DEVNULL) as process:
        _wait_until_ready(process, port, adapter.ready_path)

        def work() -> float:
            began = time.perf_counter()
            with ThreadPoolExecutor(CLIENTS) as pool:
                list(
                    pool.map(_send, [port] * CLIENTS, [requests[first::CLIENTS] for first in range(CLIENTS)])
                )
            return time.perf_counter() - began

        work()
        yield work


def _wait_until_ready(process: subprocess.Popen[str], port: int, path: str) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        if process.poll() is not None:
            raise GateError(f"the service did not start: {process.args}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.2)
    raise GateError(f"the service is not ready after {SECONDS_TO_START} seconds")


def _send(port: int, requests: Sequence[tuple[str, bytes]]) -> None:
    """Send requests over one connection, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for path, body in requests:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise GateError(f"the service answers {answer.status}: {said[:200]!r}")
    connection.close()
