"""uvicorn's HTTP protocol with bounds on how long a client may take, how much it may send and how many there may be.

uvicorn itself waits for ever for the rest of a request's headers, takes any number of them and of requests, and waits
for ever for a client that does not read its answer. It also keeps all trailers, the headers that may follow a body in
chunks. The bodies of requests are the application's concern.
"""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lexitree.server.service_settings import ServiceSettings

MAX_HEADER_BYTES = 64 << 10
"""Of the headers of a request, and of the trailers and borders of chunks in its body."""
MAX_TRAILERS = 64
MAX_PIPELINED = 16
"""Requests that a client may send before it has the answer to the first. uvicorn would read and queue any number."""


class GuardedProtocol(HttpToolsProtocol):
    """One connection of a client.

    Args:
        settings: How long the client may take, and how many connections there may be.
        options: What uvicorn gives to a protocol.
    """

    def __init__(self, settings: ServiceSettings, **options: Any) -> None:
        super().__init__(**options)
        self._settings = settings
        self._headers_due: asyncio.TimerHandle | None = None
        self._reading_due: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._num_trailers = 0
        self._is_in_body = False
        self._is_ending = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._settings.max_connections:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, b"retry-after: 1\r\n")
        else:
            self._expect_headers()

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        if not self._is_answering:
            # Not only when a message begins: empty lines before it, or the rest of a body that was refused, would
            # keep the connection open without a limit.
            self._expect_headers()
        self._header_bytes += len(data)
        super().data_received(data)
        if self._header_bytes > MAX_HEADER_BYTES and not self._is_ending:
            self._refuse_headers()

    def on_message_begin(self) -> None:
        self._header_bytes = 1  # or a little more: what else came with its first byte
        self._expect_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._headers_due = _cancel(self._headers_due)
        self._header_bytes = 0
        self._num_trailers = 0
        self._is_in_body = True
        if len(self.pipeline) >= MAX_PIPELINED:
            # The parser stops; the connection ends after the answers to the requests before this one.
            self._is_ending = True
            raise ValueError("too many requests at a time")
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        if not self._is_ending:
            super().send_400_response(msg)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_ending and not self._is_answering and not self.pipeline:
            self.transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_body:
            super().on_header(name, value)
            return
        # A trailer. The application has the headers already, and it does not ask for more of them.
        self._num_trailers += 1
        if self._num_trailers > MAX_TRAILERS:
            self._refuse_headers()
            raise ValueError("too many trailers")

    def on_body(self, body: bytes) -> None:
        self._header_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._header_bytes = 0
        self._is_in_body = False
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        # The client does not read what it has asked for, and nothing more can be written until it does.
        self._reading_due = self.loop.call_later(self._settings.stall_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._reading_due = _cancel(self._reading_due)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_due = _cancel(self._headers_due)
        self._reading_due = _cancel(self._reading_due)
        super().connection_lost(exc)

    @property
    def _is_answering(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _expect_headers(self) -> None:
        if self._headers_due is None:
            self._headers_due = self.loop.call_later(self._settings.header_seconds, self._give_up_headers)

    def _give_up_headers(self) -> None:
        self._headers_due = None
        if self._is_answering:
            self._expect_headers()  # The next request is late; the answer to this one must not suffer.
        elif self._header_bytes and not self._is_in_body:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()  # No request has begun that could be answered.

    def _refuse_headers(self) -> None:
        """Refuse more headers or trailers, also of a request that is being worked on."""
        self._is_ending = True
        cycle: Any = self.cycle
        if self._is_in_body and (cycle.response_started or self.pipeline):
            self.transport.close()  # Another answer would be taken for that to a request before this one.
            return
        if self._is_in_body:
            # Nobody will read the answer that the application may give.
            cycle.response_complete = cycle.disconnected = True
            cycle.message_event.set()
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _refuse(self, status: HTTPStatus, headers: bytes = b"") -> None:
        """Answer a client whose request is not known, and close the connection."""
        self._headers_due = _cancel(self._headers_due)
        if self.transport.is_closing():
            return
        if not self._is_answering:
            line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
            self.transport.write(line + headers + b"connection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()


def guard(settings: ServiceSettings) -> Any:
    """What makes the protocol of each connection, for uvicorn's `http`."""
    return partial(GuardedProtocol, settings)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
