"""Send requests to a service: as fast as clients get answers (closed loop), or at a fixed rate (open loop).

In an open loop, requests come when they come, however long the service takes, as those of many users do. Latency
counts from the moment at which a request was meant to be sent, so that a late generator hides nothing.
"""

from __future__ import annotations

import asyncio
import gc
import math
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import Any

from tests.server.raw_http import Answer, ConnectionPool, request_bytes
from tests.server.running import ask as ask_once
from tests.server.service_process import HOST, ServiceProcess

NO_ANSWER = 0
"""Stands for the status of a request whose connection failed."""
LAST_ANSWER_SECONDS = 60.0
COUNTED = re.compile(r'^lexitree_requests_total\{route="/v1/label",status="(\d+)"\} (\S+)', re.MULTILINE)


@dataclass(slots=True)
class Sample:
    """One request: when it was meant to be sent, how long its answer took from then on, and its status."""

    start: float
    seconds: float
    status: int


@dataclass(slots=True)
class Watched:
    """What was seen of the service while requests were sent to it, at times in seconds from the start."""

    live: list[Sample] = field(default_factory=list[Sample])
    ready: list[Sample] = field(default_factory=list[Sample])
    memory: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    threads: int = 0
    sockets: int = 0


@contextmanager
def no_garbage_collection() -> Generator[None]:
    """Pauses of the generator would look like pauses of the service."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


async def ask(pool: ConnectionPool, request: bytes) -> Answer | None:
    """The answer; None if the connection failed."""
    try:
        return await pool.ask(request)
    except (OSError, ValueError):
        return None


async def closed_loop(pool: ConnectionPool, requests: Sequence[bytes], clients: int) -> list[Answer | None]:
    """Send all requests; each client sends its next one when it has the answer to the last."""
    waiting = iter(enumerate(requests))
    answers: list[Answer | None] = [None] * len(requests)

    async def client() -> None:
        for number, request in waiting:
            answers[number] = await ask(pool, request)

    await asyncio.gather(*(client() for _ in range(clients)))
    return answers


async def open_loop(
    pool: ConnectionPool, requests: Sequence[bytes], rate: float, seconds: float, rng: Random
) -> list[Sample]:
    """Send requests, over and over, at random times (a Poisson process) of a fixed mean rate."""
    samples: list[Sample] = []
    under_way: set[asyncio.Task[None]] = set()
    began = time.perf_counter()

    async def send(request: bytes, start: float) -> None:
        answer = await ask(pool, request)
        taken = time.perf_counter() - began - start
        samples.append(Sample(start, taken, answer.status if answer else NO_ANSWER))

    for request, start in zip(cycle(requests), _arrivals(rate, seconds, rng), strict=False):
        delay = start - (time.perf_counter() - began)
        if delay > 0:
            await asyncio.sleep(delay)
        task = asyncio.create_task(send(request, start))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    if under_way:
        _, late = await asyncio.wait(under_way, timeout=LAST_ANSWER_SECONDS)
        for task in late:
            # What has no answer by now is taken to have none.
            task.cancel()
        samples += [Sample(seconds, LAST_ANSWER_SECONDS, NO_ANSWER)] * len(late)
    return samples


def _arrivals(rate: float, seconds: float, rng: Random) -> Iterator[float]:
    start = rng.expovariate(rate)
    while start < seconds:
        yield start
        start += rng.expovariate(rate)


@asynccontextmanager
async def watching(service: ServiceProcess, *, period: float = 0.25) -> AsyncIterator[Watched]:
    """Ask the service all the time whether it is alive and ready, and look at its memory."""
    watched = Watched()
    began = time.perf_counter()

    async def look() -> None:
        async with ConnectionPool(HOST, service.port) as pool:
            for number in cycle(range(4)):
                await _poll(pool, "/live", watched.live, began)
                if number == 0:
                    await _poll(pool, "/ready", watched.ready, began)
                    vitals = service.vitals()
                    watched.memory.append((time.perf_counter() - began, vitals.memory_mib))
                    watched.threads = max(watched.threads, vitals.threads)
                    watched.sockets = max(watched.sockets, vitals.sockets)
                await asyncio.sleep(period)

    task = asyncio.create_task(look())
    try:
        yield watched
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _poll(pool: ConnectionPool, path: str, samples: list[Sample], began: float) -> None:
    start = time.perf_counter()
    answer = await ask(pool, request_bytes(path))
    now = time.perf_counter()
    samples.append(Sample(start - began, now - start, answer.status if answer else NO_ANSWER))


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The least value that so many percent of all do not exceed; None for no values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def milliseconds(samples: Sequence[Sample]) -> dict[str, float | None]:
    """Percentiles of the latency."""
    seconds = [sample.seconds for sample in samples]
    found = {f"p{percent}_ms": percentile(seconds, percent) for percent in (50, 95, 99)}
    return {name: None if value is None else 1000 * value for name, value in found.items()}


def statuses(samples: Sequence[Sample]) -> dict[str, int]:
    """How many answers of each status there were; `none` stands for a failed connection."""
    counts = Counter(sample.status for sample in samples)
    return {str(status) if status else "none": counts[status] for status in sorted(counts)}


def counted(service: ServiceProcess) -> Counter[str]:
    """Requests to /v1/label by status, as the service counts them itself."""
    metrics = ask_once(service.port, path="/metrics").content.decode()
    return Counter({status: int(float(number)) for status, number in COUNTED.findall(metrics)})


def series(
    samples: Sequence[Sample], watched: Watched, seconds: float, bucket: float
) -> list[dict[str, Any]]:
    """What happened in each few seconds, by the times at which requests were meant to be sent."""
    rows: list[dict[str, Any]] = []
    for number in range(int(-(-seconds // bucket))):
        inside = [each for each in samples if number * bucket <= each.start < (number + 1) * bucket]
        accepted = [each for each in inside if each.status == 200]
        memory = [mib for when, mib in watched.memory if number * bucket <= when < (number + 1) * bucket]
        rows.append(
            {
                "second": number * bucket,
                "accepted_per_second": len(accepted) / bucket,
                "shed_per_second": sum(each.status == 429 for each in inside) / bucket,
                "p99_ms": milliseconds(accepted)["p99_ms"],
                "memory_mib": max(memory, default=None),
            }
        )
    return rows
