"""Clients that misbehave, a service that ends, and a worker that is killed: a real process with the shipped model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.server.service_ends import kill_a_worker, terminate_under_load
from tests.server.service_faults import FAULTS, SETTINGS
from tests.server.service_health import Health
from tests.server.service_process import ServiceProcess

pytestmark = pytest.mark.slow
SCALE = 0.1
"""The share of requests that the tests send; tests/server/record_service_faults.py sends them all."""


@pytest.fixture(scope="module")
def health() -> Iterator[Health]:
    with ServiceProcess(**SETTINGS) as service:
        yield asyncio.run(Health.of(service))


@pytest.mark.parametrize("name", FAULTS)
def test_the_service_is_as_it_was(name: str, health: Health) -> None:
    async def run() -> None:
        await FAULTS[name](health.service, SCALE)
        await health.check()

    asyncio.run(run())


def test_no_accepted_request_is_lost_after_sigterm() -> None:
    asyncio.run(terminate_under_load())


def test_a_killed_worker_is_replaced() -> None:
    asyncio.run(kill_a_worker())
