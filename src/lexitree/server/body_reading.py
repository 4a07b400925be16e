"""Reads the bodies of requests, within limits of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import TypeVar

from starlette.requests import Request
from starlette.types import Receive

from lexitree.server.http_answers import media_type
from lexitree.server.labelling_service import LabellingService
from lexitree.server.problems import ProblemError, client_gone
from lexitree.server.request_bodies import read_body
from lexitree.settings import Settings

QUICK_BYTES = 1 << 16
"""Longer bodies are read as JSON in another thread."""
_CLOSE = {"connection": "close"}
"""What is left of the body is not waited for."""

Body = TypeVar("Body", bound=Settings)


def check_media_type(request: Request, *accepted: str) -> None:
    """Refuse bodies of another kind, also because pages from elsewhere may send those without asking.

    Raises:
        ProblemError: The body is something else, or is compressed.
    """
    found = media_type(request)
    if found not in accepted or request.headers.get("content-encoding", "identity") != "identity":
        raise ProblemError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"the body is {found[:60] or 'of no type'!r}, or compressed",
            remedy=f"Send it as it is, with the header Content-Type: {accepted[0]}.",
        )


async def read_request(request: Request, kind: type[Body], service: LabellingService) -> Body:
    """Read and check a body of JSON.

    Raises:
        ProblemError: It is too large, too slow, of another type, not JSON or not Unicode.
        ConfigError: A field is unknown, missing or invalid.
    """
    check_media_type(request, "application/json")
    max_bytes = service.settings.max_body
    length = request.headers.get("content-length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > max_bytes:
        raise _too_large(max_bytes)
    data = await _read_all(request, max_bytes, service.settings.body_seconds)
    if len(data) <= QUICK_BYTES:
        return read_body(kind, data)
    return await service.in_pool(read_body, kind, data)


async def _read_all(request: Request, max_bytes: int, seconds: float) -> bytes:
    pieces: list[bytes] = []
    num_bytes = 0
    try:
        async with asyncio.timeout(seconds):
            async for piece in body_pieces(request.receive):
                pieces.append(piece)
                num_bytes += len(piece)
                if num_bytes > max_bytes:
                    raise _too_large(max_bytes)
    except TimeoutError:
        raise too_slow_body(seconds) from None
    return b"".join(pieces)


async def body_pieces(receive: Receive) -> AsyncIterator[bytes]:
    """The pieces of a body as they come.

    Raises:
        ProblemError: The client has closed the connection.
    """
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise client_gone()
        if piece := message.get("body", b""):
            yield piece
        if not message.get("more_body", False):
            return


async def wait_for_disconnect(receive: Receive) -> None:
    """End when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def too_slow_body(seconds: float) -> ProblemError:
    """The body, or the next piece of a stream, did not come in time."""
    return ProblemError(
        HTTPStatus.REQUEST_TIMEOUT,
        f"the body did not arrive within {seconds:g} seconds",
        headers=_CLOSE,
        shed="slow body",
    )


def _too_large(max_bytes: int) -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the body has more than {max_bytes:,} bytes",
        remedy="Send fewer texts per request, or a stream to /v1/label/stream.",
    )
