"""Run the service: in this process, or in several that share a port. Its log is JSON Lines on standard error."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import math
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from prometheus_client import multiprocess

from lexitree.errors import LexitreeError
from lexitree.server.guarded_protocol import guard
from lexitree.server.listening import BACKLOG, join_port, open_port, raise_file_limit
from lexitree.server.service_metrics import MULTIPROCESS_VARIABLE
from lexitree.server.service_settings import ServiceSettings
from lexitree.server.supervisor import Supervisor

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from lexitree.server.labelling_service import LabellingService

_POLL_SECONDS = 0.02
_PARTING_SECONDS = 0.3
"""How long open connections may bring requests that are refused, before they are closed."""
logger = logging.getLogger(__name__)

TellReady = Callable[[], object]


def serve(settings: ServiceSettings, tell_ready: Callable[[int], object]) -> None:
    """Serve until a signal asks to stop; return when every accepted request has been answered.

    Args:
        settings: The settings.
        tell_ready: Called with the port when requests are answered.

    Raises:
        ConfigError: The port cannot be opened.
        LexitreeError: A model cannot be loaded, or the workers cannot start.
        Terminated: A second signal has come.
    """
    configure_logs()
    with open_port(settings.host, settings.port, is_shared=settings.workers > 1) as port:
        tell = partial(tell_ready, port.getsockname()[1])
        if settings.workers == 1:
            run_server(settings, port, tell)
        else:
            _run_workers(settings, port, tell)


def run_server(
    settings: ServiceSettings, port: socket.socket, tell_ready: TellReady, *, is_worker: bool = False
) -> None:
    """Serve in this process."""
    # Not above: it imports torch, which a process that only watches others does not need.
    from lexitree.server.app import create_app

    raise_file_limit()
    make_server(create_app(settings), settings, tell_ready, is_worker=is_worker).run([port])


def make_server(
    app: Starlette, settings: ServiceSettings, tell_ready: TellReady, *, is_worker: bool = False
) -> uvicorn.Server:
    """The server of an application, to be run with the sockets that it will listen on."""
    app.router.lifespan_context = _until_warm(app.router.lifespan_context)
    config = uvicorn.Config(
        app,
        loop="asyncio",  # wherever uvloop happens to be installed, a write to a closed connection would raise
        http=guard(settings),
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=math.ceil(settings.keep_alive_seconds),
    )
    return _Server(config, settings.drain_seconds, tell_ready, is_worker=is_worker)


class _Server(uvicorn.Server):
    """uvicorn's server, which on a signal first answers what it has accepted while it refuses anything new.

    Args:
        config: uvicorn's settings.
        drain_seconds: How long answering may take.
        tell_ready: Called when requests are answered.
        is_worker: Whether a supervisor decides when it ends.
    """

    def __init__(
        self, config: uvicorn.Config, drain_seconds: float, tell_ready: TellReady, *, is_worker: bool
    ) -> None:
        super().__init__(config)
        self._drain_seconds = drain_seconds
        self._tell_ready = tell_ready
        self._is_worker = is_worker

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._tell_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        until = time.monotonic() + self._drain_seconds
        service: LabellingService = self.config.app.state.service  # type: ignore[union-attr]
        service.start_draining()
        # Clients and proxies that keep connections learn it with an answer, not by a request that gets none.
        self.server_state.default_headers.append((b"connection", b"close"))
        if self.server_state.connections:
            await asyncio.sleep(min(_PARTING_SECONDS, self._drain_seconds))
        if accepted := set(self.server_state.tasks):
            _, late = await asyncio.wait(accepted, timeout=self._drain_seconds)
            if late:
                logger.warning("%d requests took longer than drain_seconds and are cut off", len(late))
        # What is left may still be on its way to clients that read slowly.
        self.config.timeout_graceful_shutdown = max(1, math.ceil(until - time.monotonic()))
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's own handler raises the signal again when all is done, and the exit status would not be 0.
        if self._is_worker:
            # It comes from the supervisor, and perhaps once more to all processes of a group; Ctrl-C only so.
            self.should_exit = self.should_exit or sig != signal.SIGINT
        elif self.should_exit:
            os._exit(128 + sig)
        else:
            self.should_exit = True


def _until_warm(live: Any) -> Any:
    """Let the port stay closed until the models have labelled something: no client gets to see a slow start."""

    @asynccontextmanager
    async def live_when_warm(app: Starlette) -> AsyncGenerator[Any]:
        service: LabellingService = app.state.service
        async with live(app) as state:
            while (reason := service.why_not_ready()) == "starting":
                await asyncio.sleep(_POLL_SECONDS)
            if reason:
                raise LexitreeError(f"the models cannot be used ({reason}); see the log")
            yield state

    return live_when_warm


def _run_workers(settings: ServiceSettings, port: socket.socket, tell_ready: TellReady) -> None:
    """Serve in several processes; this one only watches them."""
    num_cores = len(os.sched_getaffinity(0))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, num_cores // settings.workers)))
    with tempfile.TemporaryDirectory(prefix="lexitree-metrics-") as folder:
        os.environ[MULTIPROCESS_VARIABLE] = folder
        Supervisor(
            run_worker,
            (settings, port.family, port.getsockname()),
            num_workers=settings.workers,
            stop_seconds=settings.drain_seconds,
            on_ready=tell_ready,
            on_end=partial(multiprocess.mark_process_dead, path=folder),
        ).run()


def run_worker(
    settings: ServiceSettings, family: int, address: tuple[Any, ...], *, tell_ready: TellReady
) -> None:
    """The body of a worker process, which listens on the shared port when its models are loaded."""
    configure_logs()
    with join_port(family, address) as port:
        run_server(settings, port, tell_ready, is_worker=True)
    # Looking for garbage among all that torch has made would take seconds of a stop that takes none.
    gc.freeze()


_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
"""What every record has; anything else was added by whoever wrote it."""
_LOGGERS = ("lexitree.server", "uvicorn", "uvicorn.error")


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON, in ASCII, so that nothing in it can look like another line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record with its time, level and message first."""
        values: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            # What other libraries add for themselves, such as a clock of Ray, begins with an underscore.
            **{
                name: value
                for name, value in vars(record).items()
                if name not in _STANDARD and not name.startswith("_")
            },
        }
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return json.dumps(values, default=str)


def configure_logs(level: int = logging.INFO) -> None:
    """Write the log of the service, and that of uvicorn, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level)
        logger.propagate = name == "uvicorn.error"
