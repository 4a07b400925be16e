"""The end of a service under load, and of one of its workers: no request that it has accepted is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter

from tests.server.raw_http import Answer, Connection, ConnectionPool, request_bytes
from tests.server.service_health import TEXT
from tests.server.service_process import HOST, ServiceProcess

CLIENTS = 64
RESTART_SECONDS = 60.0
READY = '"message": "ready"'
"""What a worker logs when it has labelled something."""


async def terminate_under_load() -> Counter[str]:
    """SIGTERM while requests wait: each of them is answered in full, and the process ends with status 0."""
    with ServiceProcess() as service:
        request = request_bytes("/v1/label", {"texts": [TEXT] * 8})
        connections = [await Connection.open(HOST, service.port) for _ in range(CLIENTS)]
        answers = [connection.ask(request) for connection in connections]
        await asyncio.sleep(0.3)
        waiting = sum(not answer.done() for answer in answers)
        assert waiting, "all were answered before the signal"
        service.process.terminate()
        found: list[Answer] = await asyncio.wait_for(asyncio.gather(*answers), 60)
        assert Counter(answer.status for answer in found) == {200: CLIENTS}
        assert all(len(answer.json()["documents"]) == 8 for answer in found)
        status = await asyncio.to_thread(service.process.wait, 60)
        assert status == 0, status
        assert not (lines := service.unhandled()), lines
    return Counter({"200": CLIENTS, "of them after the signal": waiting})


async def kill_a_worker() -> Counter[str]:
    """A killed worker is replaced; only what it was working on is lost, and the other one answers meanwhile."""
    request = request_bytes("/v1/label", {"text": TEXT})
    with ServiceProcess(workers=2) as service:
        before = service.workers()
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        counts, deadline = Counter[str](), time.monotonic() + RESTART_SECONDS
        while service.said().count(READY) < 3:
            assert time.monotonic() < deadline, "the worker was not replaced"
            counts[await _status(service, request)] += 1
        assert len(set(service.workers()) - set(before)) == 1
        # Whatever waited at the worker's socket when it was killed is lost with it.
        assert counts["200"] > 0, counts
        assert counts.keys() <= {"200", "none", "503"}, counts
        after = Counter([await _status(service, request) for _ in range(50)])
        assert after == {"200": 50}, after
        assert not (lines := service.unhandled()), lines
    return counts


async def _status(service: ServiceProcess, request: bytes) -> str:
    async with ConnectionPool(HOST, service.port) as pool:
        try:
            return str((await asyncio.wait_for(pool.ask(request), 10)).status)
        except (OSError, TimeoutError):
            return "none"
