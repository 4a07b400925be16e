"""Whether a service is as it was before its clients misbehaved."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass

import numpy as np

from tests.server.raw_http import Answer, ConnectionPool, request_bytes
from tests.server.service_process import HOST, ServiceProcess

TEXT = "Not a bad film, but the plot is dull."
SOON = 60.0
"""Seconds within which a service has let go of everything after a fault."""
MEMORY_SLACK_MIB = 96.0
"""What allocators may keep; 10,000 leaked requests would be more."""


async def ask(service: ServiceProcess, request: bytes) -> Answer:
    async with ConnectionPool(HOST, service.port) as pool:
        return await pool.ask(request)


@dataclass(frozen=True, slots=True)
class Health:
    """A service that answers, and what it held at rest."""

    service: ServiceProcess
    answer: Answer
    memory_mib: float
    threads: int
    sockets: int

    @classmethod
    async def of(cls, service: ServiceProcess) -> Health:
        """How a service is at rest, after some work."""
        request = request_bytes("/v1/label", {"text": TEXT, "include": ["phrases"]})
        kinds = [
            request_bytes(path, {"text": TEXT * 100}) for path in ("/v1/label", "/v1/parse", "/v1/explain")
        ]
        async with ConnectionPool(HOST, service.port) as pool:
            await asyncio.gather(*(pool.ask(each) for each in [request, request, *kinds] * 5))
        answer = await ask(service, request)
        assert answer.status == 200, answer
        await asyncio.sleep(0.5)
        vitals = service.vitals()
        return cls(service, answer, vitals.memory_mib, vitals.threads, vitals.sockets)

    async def check(self) -> dict[str, float]:
        """Fails unless the service is, or soon will be, as it was; by how much it differs."""
        deadline = time.monotonic() + SOON
        assert self.service.status("/live") == 200
        # Requests whose clients have gone are dropped one by one.
        while (vitals := self.service.vitals()).sockets > self.sockets or self.service.status(
            "/ready"
        ) != 200:
            assert time.monotonic() < deadline, (
                f"not ready, or {vitals.sockets} sockets, {self.sockets} before"
            )
            await asyncio.sleep(0.1)
        request = request_bytes("/v1/label", {"text": TEXT, "include": ["phrases"]})
        answer = await ask(self.service, request)
        assert answer.status == 200, answer
        assert _is_same(answer, self.answer), answer.body
        assert not (lines := self.service.unhandled()), lines
        assert vitals.threads <= self.threads, f"{vitals.threads} threads, {self.threads} before"
        grown = vitals.memory_mib - self.memory_mib
        assert grown < MEMORY_SLACK_MIB, f"{grown:.0f} MiB more memory"
        return {"more_mib": round(grown, 1), "more_threads": vitals.threads - self.threads}


def _parts(answer: Answer) -> tuple[object, list[float]]:
    """An answer without its numbers, and these: the last digits depend on what else was labelled at the time."""
    numbers: list[float] = []
    return json.loads(answer.body, parse_float=lambda digits: numbers.append(float(digits))), numbers


def _is_same(answer: Answer, expected: Answer) -> bool:
    (found, found_numbers), (other, numbers) = _parts(answer), _parts(expected)
    return found == other and bool(np.allclose(found_numbers, numbers, atol=1e-5))
