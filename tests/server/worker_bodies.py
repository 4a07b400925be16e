"""What the workers of the supervisor's tests do, in processes of their own."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lexitree.errors import ConfigError


def wait_for_signal(folder: Path, seconds: float, *, tell_ready: Callable[[], object]) -> None:
    """Write a file named after the process; after a SIGTERM work for some seconds, and then note the end in it."""
    mine = folder / str(os.getpid())
    asked: list[Any] = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(None))
    mine.write_text("started")
    tell_ready()
    while not asked:
        time.sleep(0.01)
    time.sleep(seconds)
    mine.write_text("ended")


def crash_at_start(folder: Path, *, tell_ready: Callable[[], object]) -> None:
    (folder / str(os.getpid())).touch()
    sys.exit(7)


def crash_when_ready(folder: Path, *, tell_ready: Callable[[], object]) -> None:
    """The first four die as soon as they are ready."""
    (folder / str(os.getpid())).touch()
    tell_ready()
    if len(list(folder.iterdir())) <= 4:
        sys.exit(7)
    signal.pause()


def refuse_to_start(folder: Path, *, tell_ready: Callable[[], object]) -> None:
    raise ConfigError("no such model", remedy="Choose another.")
