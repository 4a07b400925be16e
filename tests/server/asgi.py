"""Requests to the application without a network, message by message, and parsers that wait or fail on purpose."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from threading import Event
from typing import Any

from starlette.applications import Starlette

from lexitree.limits import Check
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.server.app import create_app
from lexitree.server.labelling_service import LabellingService
from lexitree.server.service_settings import ServiceSettings
from lexitree.trees.tree import Tree
from tests.pipeline.stubs import Batches, right_branching, tiny_pipeline

HOST = "testserver"


class GatedParser(Batches):
    """Parses when the gate is open, and notes the sentences of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Event()
        self.gate.set()
        self.calls: list[list[str]] = []
        self.has_begun = Event()

    def parse_sentences(self, sentences: Sequence[Sequence[str]], check: Check) -> list[Tree]:
        if not sentences:
            return []
        self.calls.append([" ".join(words) for words in sentences])
        self.has_begun.set()
        while not self.gate.wait(0.005):
            check()
        return [right_branching(words) for words in sentences]


class FailingParser(Batches):
    """Fails on sentences with the word `poison`."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        super().__init__()
        self.error = error

    def parse_sentences(self, sentences: Sequence[Sequence[str]], check: Check) -> list[Tree]:
        if any("poison" in words for words in sentences):
            raise self.error()
        return super().parse_sentences(sentences, check)


def make_settings(**values: Any) -> ServiceSettings:
    return ServiceSettings(**{"hosts": (HOST,), "models": ("tiny",), "wait_ms": 0.0, **values})


def make_app(pipe: TextPipeline | None = None, **values: Any) -> Starlette:
    return create_app(make_settings(**values), {"tiny": pipe or tiny_pipeline(parser=Batches())})


@asynccontextmanager
async def running(app: Starlette) -> AsyncGenerator[LabellingService]:
    """The service of an application, ready for requests."""
    async with app.router.lifespan_context(app):
        service: LabellingService = app.state.service
        while not service.batcher.is_warm:
            await asyncio.sleep(0.001)
        yield service


class Exchange:
    """One request: its body is sent piece by piece, and what is answered can be looked at meanwhile."""

    def __init__(self, app: Starlette, path: str = "/v1/label", method: str = "POST", **headers: str) -> None:
        self._app = app
        path, _, query = path.partition("?")
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        all_headers = {"host": HOST, "content-type": "application/json", **given}
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in all_headers.items()],
        }
        self._incoming = asyncio.Queue[dict[str, Any]]()
        self.sent: list[dict[str, Any]] = []
        self.num_received = 0
        self.can_send = asyncio.Event()
        self.can_send.set()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self._app(self._scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        message = await self._incoming.get()
        self.num_received += 1
        return message

    async def _send(self, message: Any) -> None:
        await self.can_send.wait()
        self.sent.append(message)

    def send(self, body: bytes, *, more: bool = False) -> Exchange:
        self._incoming.put_nowait({"type": "http.request", "body": body, "more_body": more})
        return self

    def send_json(self, values: object) -> Exchange:
        return self.send(json.dumps(values).encode())

    def disconnect(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def done(self) -> Exchange:
        async with asyncio.timeout(10):
            await self.task
        return self

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent[1:])

    @property
    def values(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that happens soon."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)
