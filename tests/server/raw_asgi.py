"""Calls an ASGI application directly, without sockets, and sees whether it keeps to the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import unquote

from tests.server.raw_http import Answer

Message = MutableMapping[str, Any]
Application = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]


async def call(
    app: Application,
    method: str,
    target: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    chunks: Iterable[bytes],
    *,
    disconnects: bool = False,
) -> Answer | None:
    """The answer of an application; None if it sent none because the client had gone.

    Args:
        app: The application; what it raises is raised.
        method: The method of the request.
        target: Its path, with what follows a question mark.
        headers: Its headers.
        chunks: The parts of its body.
        disconnects: Whether the client goes away after the last part that it sends, before the body is complete.
    """
    path, _, query = target.partition(b"?")
    parts = [*chunks] or [b""]
    waiting: list[Message] = [
        {"type": "http.request", "body": part, "more_body": disconnects or number + 1 < len(parts)}
        for number, part in enumerate(parts)
    ]
    if disconnects:
        waiting.append({"type": "http.disconnect"})
    sent: list[Message] = []
    done = asyncio.Event()

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0) if len(waiting) > 1 or not disconnects else waiting[0]
        # A client that waits for its answer sends nothing more.
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            done.set()

    scope: Message = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [*headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    await app(scope, receive, send)
    return _answer(sent, disconnects)


def _answer(sent: list[Message], disconnects: bool) -> Answer | None:
    kinds = [message["type"] for message in sent]
    is_complete = bool(sent) and kinds[-1] == "http.response.body" and not sent[-1].get("more_body", False)
    if disconnects and not is_complete:
        return None
    assert kinds == ["http.response.start", *["http.response.body"] * (len(kinds) - 1)], kinds
    assert is_complete, "the answer has no end"
    start, *bodies = sent
    names = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    assert not any(set(text) & set("\r\n\0") for pair in names.items() for text in pair), names
    body = b"".join(message.get("body", b"") for message in bodies)
    size = names.get("content-length")
    # The answer to HEAD has the length of the body that it leaves out.
    assert size is None or not body or int(size) == len(body)
    return Answer(start["status"], names, body)
