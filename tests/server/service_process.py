"""`lexitree serve` as a user starts it: a process of its own, with what it holds while it runs."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.command import processes_below

HOST = "127.0.0.1"
START_SECONDS = 120.0
STOP_SECONDS = 60.0
COMMAND = (sys.executable, "-m", "lexitree", "serve")
UNHANDLED = re.compile(
    r"Traceback|Exception in ASGI|exception was never retrieved|never awaited|Fatal Python"
)
"""What a log holds after something went wrong that nobody had thought of."""


@dataclass(frozen=True, slots=True)
class Vitals:
    """What a service and its workers hold."""

    memory_mib: float
    threads: int
    sockets: int
    processor_seconds: float


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        return listening.getsockname()[1]


class ServiceProcess:
    """Starts `lexitree serve`, waits until it is ready, and stops it; for use in a `with` statement.

    Args:
        log: Where its standard output and error go.
        settings: Settings of the service, which are given as environment variables.
    """

    def __init__(self, log: Path, **settings: object) -> None:
        self.log = log
        self._log_read = 0
        self.port = free_port()
        given = {"host": HOST, "port": self.port, "device": "cpu", **settings}
        variables = {f"LEXITREE_SERVE_{name.upper()}": str(value).lower() for name, value in given.items()}
        self._environment = {**os.environ, **variables}
        self._process: subprocess.Popen[bytes]

    def __enter__(self) -> ServiceProcess:
        with self.log.open("wb") as stream:
            self._process = subprocess.Popen(
                COMMAND, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL, env=self._environment
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self.get("/ready")[0] != 200:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the service did not start: {self.log_text()[-2000:]}")
            time.sleep(0.05)

    def get(self, path: str, timeout: float = 10.0) -> tuple[int, bytes]:
        """The status, 0 without an answer, and the body of an answer, over a connection of its own."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            return 0, b""
        finally:
            connection.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def workers(self) -> list[int]:
        """The processes that it has started."""
        return processes_below(self.pid)

    def vitals(self) -> Vitals:
        """What all of its processes hold now."""
        found = [vitals_of(number) for number in (self.pid, *self.workers)]
        return Vitals(
            memory_mib=sum(each.memory_mib for each in found),
            threads=sum(each.threads for each in found),
            sockets=sum(each.sockets for each in found),
            processor_seconds=sum(each.processor_seconds for each in found),
        )

    def terminate(self) -> None:
        """Send SIGTERM, which lets it finish what it has accepted."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout: float = STOP_SECONDS) -> int:
        return self._process.wait(timeout)

    def stop(self) -> int:
        """The exit status after SIGTERM."""
        self.terminate()
        return self.wait()

    def kill(self) -> None:
        for number in (self.pid, *self.workers):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self._process.wait()

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def unhandled(self) -> list[str]:
        """New lines of the log, since the last call, about exceptions that nobody handled."""
        with self.log.open(encoding="utf-8", errors="replace") as stream:
            stream.seek(self._log_read)
            lines = [line for line in iter(stream.readline, "") if UNHANDLED.search(line)]
            self._log_read = stream.tell()
        return lines


def vitals_of(number: int) -> Vitals:
    """What a process holds; nothing if it has ended."""
    folder = Path("/proc", str(number))
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        links = [_link(path) for path in (folder / "fd").iterdir()]
    except OSError:
        return Vitals(0.0, 0, 0, 0.0)
    return Vitals(
        memory_mib=int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20,
        threads=int(fields[17]),
        sockets=sum(link.startswith("socket:") for link in links),
        processor_seconds=(int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
    )


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
