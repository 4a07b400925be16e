"""The service as a target: damaged requests, given to the application directly."""

from __future__ import annotations

import asyncio
import atexit
from functools import cache
from pathlib import Path
from random import Random

from lexitree.server.app import create_app
from lexitree.server.service_settings import ServiceSettings

from tests.fuzz.driver import target
from tests.fuzz.mutations import Case
from tests.fuzz.service_requests import Request, check_answer, mutate_request, request_of, seed_requests
from tests.pipeline.stubs import tiny_pipeline
from tests.server.asgi import Application, call

ABORTED = 0.03
"""The share of requests whose clients go away."""


@cache
def running_app() -> tuple[asyncio.Runner, Application]:
    """The application with a model that has learned nothing, and the loop in which it was started."""
    runner = asyncio.Runner()
    app = create_app(ServiceSettings(wait_ms=0), {"sentiment": tiny_pipeline()})
    lifespan = app.router.lifespan_context(app)
    runner.run(lifespan.__aenter__())

    def stop() -> None:
        runner.run(lifespan.__aexit__(None, None, None))
        runner.close()

    atexit.register(stop)
    return runner, app


async def send(app: Application, request: Request, rng: Random) -> int | None:
    """Send a request in parts, perhaps not all of it, and check the answer; its status, None if there is none."""
    body, places = (
        request.body,
        sorted(rng.randrange(len(request.body) + 1) for _ in range(rng.choice((0, 0, 1, 3)))),
    )
    parts = [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]
    disconnects = rng.random() < ABORTED
    if disconnects:
        parts = parts[: rng.randrange(len(parts) + 1)]
    headers = [*request.headers]
    if rng.random() < 0.8:
        headers.append((b"content-length", b"%d" % len(body)))
    if not any(name == b"host" for name, _ in headers) and rng.random() < 0.95:
        headers.append((b"host", b"127.0.0.1"))
    answer = await call(app, request.method, request.target, headers, parts, disconnects=disconnects)
    if answer is None:
        return None
    if not disconnects:
        check_answer(request, answer.status, answer.headers, answer.body)
    return answer.status


@target("service", seed_requests, 40, mutate=mutate_request)
def check_service(case: Case, folder: Path) -> None:
    runner, app = running_app()
    request = request_of(case)
    runner.run(send(app, request, Random(request.raw())))
