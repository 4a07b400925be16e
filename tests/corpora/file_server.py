"""A small web server on this machine that misbehaves as asked, for the tests of downloads."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Behaviour:
    """What the server offers and how; `requests` lists the range header of each request it got."""

    content: bytes
    honours_ranges: bool = True
    cut_after: int | None = None
    """Close the connection after this many bytes of an answer."""
    status: int = 200
    announces_length: bool = True
    starts_wrong: bool = False
    """Answer a range with one that starts elsewhere."""
    requests: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def serve(behaviour: Behaviour) -> Iterator[Behaviour]:
    """Run the server for a while; `behaviour.url` is the address of the file."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            behaviour.requests.append(wanted)
            if behaviour.status != 200:
                self.send_error(behaviour.status)
                return
            start = self._start(wanted)
            if start >= len(behaviour.content) > 0:
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                size = len(behaviour.content)
                first = 0 if behaviour.starts_wrong else start
                self.send_header("Content-Range", f"bytes {first}-{size - 1}/{size}")
            body = behaviour.content[start:]
            if behaviour.announces_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if behaviour.cut_after is None else body[: behaviour.cut_after])

        def _start(self, wanted: str) -> int:
            match = re.fullmatch(r"bytes=(\d+)-", wanted)
            return int(match[1]) if match and behaviour.honours_ranges else 0

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    behaviour.url = f"http://127.0.0.1:{server.server_address[1]}/file.bin"
    try:
        yield behaviour
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
