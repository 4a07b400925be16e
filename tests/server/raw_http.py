"""A lean HTTP client for load, faults and fuzzing: it sends bytes as they are, valid or not, and reads the answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HEAD_END = b"\r\n\r\n"
MAX_IDLE_SECONDS = 2.0
"""Connections that have been idle for longer are not used again: the server may be closing them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: headers have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def request_bytes(
    path: str, value: Any = None, *, method: str | None = None, headers: Mapping[str, str] | None = None
) -> bytes:
    """A request with a value as JSON, ready to be sent; without a value, GET."""
    body = b"" if value is None else json.dumps(value, ensure_ascii=False).encode()
    given = {"Host": "127.0.0.1", **(headers or {})}
    if value is not None:
        given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **given}
    lines = [f"{method or ('GET' if value is None else 'POST')} {path} HTTP/1.1"]
    lines += [f"{name}: {content}" for name, content in given.items()]
    return "\r\n".join(lines).encode() + HEAD_END + body


class Connection(asyncio.Protocol):
    """A connection with at most one request under way."""

    def __init__(self) -> None:
        self.is_open = True
        self.idle_since = 0.0
        self._received = bytearray()
        self._waiting: asyncio.Future[Answer] | None = None
        self._is_head = False
        self._transport: asyncio.Transport

    @classmethod
    async def open(cls, host: str, port: int) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(cls, host, port)
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def ask(self, request: bytes) -> asyncio.Future[Answer]:
        """Send a request. Without an answer, the result is a ConnectionError."""
        self._is_head = request.startswith(b"HEAD ")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._finish(at_end=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._finish(at_end=True)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError(f"closed without an answer: {exc!r}"))

    def close(self) -> None:
        self.is_open = False
        self._transport.abort()

    def _finish(self, *, at_end: bool) -> None:
        if self._waiting is None or self._waiting.done():
            return
        parsed = parse_answer(bytes(self._received), is_head=self._is_head, at_end=at_end)
        if parsed is None:
            return
        answer, size = parsed
        del self._received[:size]
        if answer.headers.get("connection", "").lower() == "close":
            self.close()
        self._waiting.set_result(answer)


def parse_answer(data: bytes, *, is_head: bool = False, at_end: bool = False) -> tuple[Answer, int] | None:
    """The first answer of what was received, and its size; None while it is not complete."""
    start = 0
    while True:
        end = data.find(HEAD_END, start)
        if end < 0:
            return None
        lines = data[start:end].decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ", 2)[1])
        start = end + len(HEAD_END)
        if status >= 200:
            break
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if is_head or status in (204, 304):
        return Answer(status, headers, b""), start
    if headers.get("transfer-encoding") == "chunked":
        found = _dechunk(data, start)
        return found and (Answer(status, headers, found[0]), found[1])
    size = headers.get("content-length")
    if size is None:
        return (Answer(status, headers, data[start:]), len(data)) if at_end else None
    stop = start + int(size)
    return (Answer(status, headers, data[start:stop]), stop) if len(data) >= stop else None


def _dechunk(data: bytes, start: int) -> tuple[bytes, int] | None:
    parts: list[bytes] = []
    while (end := data.find(b"\r\n", start)) >= 0:
        size = int(data[start:end], 16)
        start = end + 2 + size + 2
        if len(data) < start:
            return None
        if not size:
            return b"".join(parts), start
        parts.append(data[end + 2 : end + 2 + size])
    return None


class ConnectionPool:
    """As many connections as there are requests under way; they are kept open and used again."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.num_opened = 0
        self._idle: list[Connection] = []

    async def ask(self, request: bytes) -> Answer:
        """Send a request and wait for its answer.

        Raises:
            OSError: There is no connection, or it was closed before the answer was complete.
        """
        connection = await self._take()
        try:
            answer = await connection.ask(request)
        except BaseException:
            connection.close()
            raise
        if connection.is_open:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        return answer

    async def _take(self) -> Connection:
        oldest = time.monotonic() - MAX_IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since > oldest:
                return connection
            connection.close()
        self.num_opened += 1
        return await Connection.open(self.host, self.port)

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def __aenter__(self) -> ConnectionPool:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()
        # Transports close in the next turn of the loop.
        await asyncio.sleep(0)
