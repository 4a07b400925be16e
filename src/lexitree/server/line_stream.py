"""The stream of the service: a text per line in, an answer per line out, in the same order and at constant memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from http import HTTPStatus
from typing import Any, cast

from starlette.types import Receive, Scope, Send

from lexitree.errors import ConfigError, LexitreeError
from lexitree.files import to_json
from lexitree.results.document import Document
from lexitree.server.body_reading import QUICK_BYTES, body_pieces, too_slow_body, wait_for_disconnect
from lexitree.server.document_values import document_values
from lexitree.server.http_answers import RequestRecord
from lexitree.server.job_queue import Job, Lane
from lexitree.server.labelling_service import LabellingService
from lexitree.server.problems import ProblemError, client_gone, internal_error, problem_of, queue_full
from lexitree.server.request_bodies import LineRequest, StreamQuery, read_json

LINES_TYPE = "application/x-ndjson"
_POLL_SECONDS = 0.05
_SHARE_OF_QUEUE = 0.5
"""How far streams fill the queue."""
_BYTES_PER_NODE = 100
"""A line counts for its nodes and its bytes, which may be those of an id that comes back with the answer."""


class LineStream:
    """Answers the lines of a request while they arrive; an ASGI application for this one request.

    A line is read only when there is room for it: a stream holds twice a batch at most, and fills the queue of the
    service to one half at most, so that others still get in. A client must read answers while it sends lines.

    Args:
        service: The service.
        query: How the lines are labelled.
        record: What the log tells about the request.

    Raises:
        ConfigError: There is no such model.
    """

    def __init__(self, service: LabellingService, query: StreamQuery, record: RequestRecord) -> None:
        self._service = service
        self._settings = service.settings
        self._lane = Lane(service.find_model(query.model), "label")
        self._include = frozenset(query.include)
        self._one_sentence = query.one_sentence
        self._record = record
        self._answers = asyncio.Queue[tuple[asyncio.Task[str], int] | None]()
        self._weight = 0
        self._has_room = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        headers = [(b"content-type", LINES_TYPE.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async with asyncio.TaskGroup() as tasks:
                reader = tasks.create_task(self._read(receive, tasks))
                await self._write(send)
                reader.cancel()
        except* ProblemError:
            self._service.metrics.shed(client_gone().shed)

    async def _write(self, send: Send) -> None:
        while (item := await self._answers.get()) is not None:
            answer, weight = item
            line = await answer
            await send({"type": "http.response.body", "body": f"{line}\n".encode(), "more_body": True})
            self._weight -= weight
            self._has_room.set()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _read(self, receive: Receive, tasks: asyncio.TaskGroup) -> None:
        """Start to answer each line; raises a ProblemError when the client is gone."""
        try:
            async for line in self._lines(receive):
                await self._start(line, tasks)
        except TimeoutError:
            problem = too_slow_body(self._settings.body_seconds)
            self._answers.put_nowait((tasks.create_task(self._refuse(problem, {})), 0))
        self._answers.put_nowait(None)
        await wait_for_disconnect(receive)
        raise client_gone()

    async def _lines(self, receive: Receive) -> AsyncGenerator[bytes | None]:
        """The lines that are not blank; None for one that is too long."""
        held, is_too_long = bytearray(), False
        pieces = body_pieces(receive)
        while True:
            async with asyncio.timeout(self._settings.body_seconds):
                piece = await anext(pieces, None)
            *ended, rest = (b"\n" if piece is None else piece).split(b"\n")
            for end in ended:
                held += end
                if is_too_long or len(held) > self._settings.max_body:
                    yield None
                elif held.strip():
                    yield bytes(held)
                held, is_too_long = bytearray(), False
            if piece is None:
                return
            held += rest
            if len(held) > self._settings.max_body:
                held, is_too_long = bytearray(), True

    async def _start(self, line: bytes | None, tasks: asyncio.TaskGroup) -> None:
        """Wait for room, and let the line be answered."""
        while self._weight >= 2 * self._settings.batch_nodes:
            self._has_room.clear()
            await self._has_room.wait()
        identity: dict[str, Any] = {}
        num_nodes = 1
        try:
            values = await self._read_line(line)
            identity = {"id": values["id"]} if "id" in values else {}
            text = LineRequest.from_dict(values).text
            (admitted,) = await self._service.admit(
                self._lane.model, [text], one_sentence=self._one_sentence, is_numbered=False
            )
            num_nodes = admitted.num_nodes
            await self._wait_for_queue(num_nodes)
            self._service.check_open()
            job = self._service.submit(self._lane, [admitted], self._renderer(identity))
            answer = self._answer(job, identity)
        except LexitreeError as error:
            answer = self._refuse(error, identity)
        self._record.num_texts += 1
        self._record.num_nodes += num_nodes
        weight = num_nodes + len(line or b"") // _BYTES_PER_NODE
        self._weight += weight
        self._answers.put_nowait((tasks.create_task(answer), weight))

    async def _read_line(self, line: bytes | None) -> dict[str, Any]:
        """The values of a line, not yet checked."""
        if line is None:
            raise ProblemError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the line has more than {self._settings.max_body:,} bytes",
            )
        is_quick = len(line) <= QUICK_BYTES
        values = read_json(line, "line") if is_quick else await self._service.in_pool(read_json, line, "line")
        if isinstance(values, str):
            return {"text": values}
        if not isinstance(values, dict):
            raise ConfigError("a line must be a JSON string or object", remedy='Send {"text": "..."}.')
        return cast(dict[str, Any], values)

    async def _wait_for_queue(self, num_nodes: int) -> None:
        """Wait until the queue of the service is not too full.

        Raises:
            ProblemError: It stays too full.
        """
        queue = self._service.queue
        until = time.monotonic() + self._settings.request_seconds
        while queue.share_full + num_nodes / queue.max_nodes > _SHARE_OF_QUEUE and queue.num_nodes:
            if time.monotonic() > until:
                raise queue_full(queue.retry_seconds())
            await asyncio.sleep(_POLL_SECONDS)

    def _renderer(self, identity: dict[str, Any]) -> Callable[[Document], str]:
        return lambda document: to_json({**document_values(document, self._include), **identity})

    async def _answer(self, job: Job, identity: dict[str, Any]) -> str:
        try:
            (answer,) = await self._service.wait(job)
        except LexitreeError as error:
            return await self._refuse(error, identity)
        return await self._refuse(answer, identity) if isinstance(answer, LexitreeError) else answer

    async def _refuse(self, error: LexitreeError, identity: dict[str, Any]) -> str:
        """The line that says what is wrong."""
        problem = problem_of(error) or internal_error()
        if problem.shed:
            self._service.metrics.shed(problem.shed)
        return to_json({"error": problem.as_dict(self._record.request_id), **identity})
