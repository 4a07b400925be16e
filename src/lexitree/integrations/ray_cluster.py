"""The connection to a Ray cluster: one at an address, or one that is started on this machine and ended afterwards."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from lexitree.errors import LexitreeError

_STORE_BYTES = 1 << 27
"""The memory for objects of a Ray that is started here: what is sent is small."""
_KNOCK_SECONDS = 10


@contextmanager
def connected(ray: Any, address: str | None, num_cpus: int | None) -> Generator[None]:
    """Be connected to a cluster.

    Args:
        ray: The package.
        address: The cluster; `auto` finds that of this machine. None: the one that this program is connected to, else
            Ray is started here.
        num_cpus: The number of cores of a Ray that is started here; None: all.

    Raises:
        LexitreeError: There is no cluster at the address, or Ray does not start.
    """
    if address is None and ray.is_initialized():
        yield
        return
    settings: dict[str, Any] = {"address": address, "logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        settings |= {"address": "local", "num_cpus": num_cpus, "object_store_memory": _STORE_BYTES}
        settings["include_dashboard"] = False
    try:
        _knock(address or "")
        ray.init(**settings)
    except (OSError, RuntimeError, ValueError) as error:
        raise LexitreeError(
            f"Ray cannot be {'started' if address is None else f'reached at {address}'} ({error})",
            remedy="Start a cluster with 'ray start --head', or omit --address.",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise an error if nothing listens at `host:port`: Ray would wait for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()
