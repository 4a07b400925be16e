"""A small HTTP server that answers what a test has told it to."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

Answer = tuple[int, dict[str, str], bytes]


class Service:
    """Remembers the requests and the connections they came on; `answer` says what they get."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections: set[Any] = set()
        self.answer: Callable[[str, bytes], Answer] = lambda path, body: (200, {}, b"{}")
        self.lock = Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with service.lock:
                    service.requests.append((self.command, self.path, dict(self.headers), body))
                    service.connections.add(self.client_address)
                    status, headers, content = service.answer(self.path, body)
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET  # noqa: N815  # the base class finds it by this name

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


def problem(status: int, detail: str = "the queue is full", **more: object) -> bytes:
    return json.dumps(
        {"title": "no", "status": status, "detail": detail, "request_id": "r1", **more}
    ).encode()


def fail_first(failures: list[Answer], then: Answer) -> Callable[[str, bytes], Answer]:
    left = list(failures)
    return lambda path, body: left.pop(0) if left else then
