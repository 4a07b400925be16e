"""Services that really listen: of a tiny model in a thread of this process, or of `lexitree serve` in its own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.server.app import create_app
from lexitree.server.listening import open_port
from lexitree.server.service_settings import ServiceSettings
from lexitree.server.serving import make_server
from lexitree.trees.tree import Tree
from tests.command import COMMAND, environment, wait_until
from tests.pipeline.stubs import right_branching, tiny_pipeline


class Gate:
    """A parser that waits, while its gate is closed, once the models are warm."""

    def __init__(self) -> None:
        self.is_open = Event()
        self.is_open.set()
        self.is_waiting = Event()

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        for words in sentences:
            if not self.is_open.is_set():
                self.is_waiting.set()
                assert self.is_open.wait(30)
            yield right_branching(words)


class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


def ask(port: int, method: str = "GET", path: str = "/live", body: Any = None, **headers: str) -> Response:
    """Send one request on a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        kind = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), {**kind, **headers})
        response = connection.getresponse()
        return Response(response.status, dict(response.headers.items()), response.read())
    finally:
        connection.close()


def connect(port: int, sent: bytes = b"") -> socket.socket:
    """A connection on which only these bytes were sent."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(sent)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side closes the connection."""
    pieces: list[bytes] = []
    try:
        while piece := connection.recv(1 << 16):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


class RunningServer(NamedTuple):
    server: Any
    thread: Thread
    port: int


@contextmanager
def running_server(pipe: TextPipeline | None = None, **settings: Any) -> Generator[RunningServer]:
    """A service of a tiny model, in a thread."""
    chosen = ServiceSettings(**settings)
    is_ready = Event()
    app = create_app(chosen, {"tiny": pipe or tiny_pipeline()})
    server = make_server(app, chosen, is_ready.set)
    with open_port("127.0.0.1", 0) as port:
        # So small that an answer can fill it.
        port.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 14)
        number = port.getsockname()[1]
        thread = Thread(target=server.run, args=([port],), daemon=True)
        thread.start()
        assert is_ready.wait(30)
        yield RunningServer(server, thread, number)
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


class RunningCommand:
    """`lexitree serve` with options, in a process of its own, on any free port."""

    def __init__(self, *options: object, **variables: str) -> None:
        self.log = Path(tempfile.mkstemp(suffix=".log")[1])
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                [*COMMAND, "serve", "--port", "0", *map(str, options)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env={**environment(), **variables},
                start_new_session=True,
            )
        self.port = 0

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def logged(self, path: str) -> Counter[int]:
        """The statuses of the requests that its log tells of."""
        lines = [json.loads(line) for line in self.said().splitlines() if line.startswith("{")]
        return Counter(line["status"] for line in lines if line.get("path") == path)

    def wait_until_ready(self) -> None:
        def ready() -> re.Match[str] | None:
            assert self.process.poll() is None, self.said()
            return re.search(r"Ready: http://\S+:(\d+)", self.said())

        wait_until(ready)
        found = ready()
        assert found is not None
        self.port = int(found[1])

    def workers(self) -> list[int]:
        """The process ids of the workers."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in listed}
        return [pid for pid, command in commands.items() if b"spawn_main" in command]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop, and give its exit status."""
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def running_command(*options: object, **variables: str) -> Generator[RunningCommand]:
    command = RunningCommand(*options, **variables)
    try:
        command.wait_until_ready()
        yield command
    finally:
        if command.process.poll() is None:
            os.killpg(command.process.pid, signal.SIGKILL)
            command.process.wait()
        sys.stderr.write(command.said()[-3000:])
        command.log.unlink()
