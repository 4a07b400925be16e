"""`lexitree serve` with the shipped model, and what its processes hold while it runs."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.command import processes_below
from tests.server.running import RunningCommand, ask

HOST = "127.0.0.1"
UNHANDLED = re.compile(
    r"Traceback|Exception in ASGI|exception was never retrieved|never awaited|Fatal Python"
)
"""What a log holds after something went wrong that nobody had thought of."""


@dataclass(frozen=True, slots=True)
class Vitals:
    """What processes hold."""

    memory_mib: float
    threads: int
    sockets: int


class ServiceProcess(RunningCommand):
    """A service that is ready in a `with` statement, and stopped at its end.

    Args:
        settings: Settings of the service, which are given as environment variables.
    """

    def __init__(self, **settings: object) -> None:
        given = {"device": "cpu", **settings}
        super().__init__(
            **{f"LEXITREE_SERVE_{name.upper()}": str(value).lower() for name, value in given.items()}
        )
        self._log_read = 0

    def __enter__(self) -> ServiceProcess:
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            self.kill()
            self.log.unlink()

    def kill(self) -> None:
        """End it with all of its processes, whatever they are doing."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def status(self, path: str) -> int:
        """The status of the answer to GET, over a connection of its own."""
        return ask(self.port, path=path).status

    def vitals(self) -> Vitals:
        """What all of its processes hold now."""
        found = [vitals_of(number) for number in (self.process.pid, *processes_below(self.process.pid))]
        return Vitals(
            memory_mib=sum(each.memory_mib for each in found),
            threads=sum(each.threads for each in found),
            sockets=sum(each.sockets for each in found),
        )

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
        return Vitals(0.0, 0, 0)
    return Vitals(
        memory_mib=int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20,
        threads=int(fields[17]),
        sockets=sum(link.startswith("socket:") for link in links),
    )


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
