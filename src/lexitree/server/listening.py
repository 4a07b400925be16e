"""Open the port of the service, for one process or for several that share it."""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import suppress
from typing import Any

from lexitree.errors import ConfigError

BACKLOG = 2048
"""Connections that wait to be accepted; the system may allow fewer."""
CAN_SHARE = sys.platform == "linux"
"""Whether the system spreads the connections to a port over several processes. Others know SO_REUSEPORT, but give
all connections to the same one; and of processes that wait at one socket, the first to wake up takes them all."""

_REMEDIES = {
    errno.EADDRINUSE: "Stop the other program, or choose another port with --port; 0 takes any that is free.",
    errno.EACCES: "Ports below 1024 are for the system's services: choose another with --port.",
    errno.EADDRNOTAVAIL: "--host is 127.0.0.1 for this machine only, or 0.0.0.0 for all of its addresses.",
}


def open_port(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """Take a port; connections are refused until the socket listens.

    Args:
        host: The address or name.
        port: The port; 0 for any that is free.
        is_shared: Whether other processes of this service will take it too.

    Raises:
        ConfigError: The port is in use, or the host has no such address.
    """
    if is_shared and not CAN_SHARE:
        raise ConfigError(
            "several workers can share a port on Linux only",
            remedy="Use one worker, or several services at ports of their own behind a proxy.",
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # A name such as localhost can have addresses of both families; 127.0.0.1 is the one that everybody tries.
        family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
        if is_shared:
            # What is shared is open to all programs of the same user, also to another service like this one.
            with socket.socket(family, kind, protocol) as probe:
                _bind(probe, address)
                address = probe.getsockname()
        taken = socket.socket(family, kind, protocol)
        _bind(taken, address, is_shared=is_shared)
    except OSError as error:
        problem = error.strerror or str(error)
        raise ConfigError(
            f"cannot listen on {shown_address(host, port)}: {problem.lower()}",
            remedy=_REMEDIES.get(error.errno or 0, _REMEDIES[errno.EADDRNOTAVAIL]),
        ) from error
    return taken


def join_port(family: int, address: tuple[Any, ...]) -> socket.socket:
    """Take a shared port once more, in the process that will listen on it."""
    joined = socket.socket(family, socket.SOCK_STREAM)
    _bind(joined, address, is_shared=True)
    return joined


def raise_file_limit() -> None:
    """Allow as many connections as the system lets this user have; the default is often 1,024."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _bind(taken: socket.socket, address: tuple[Any, ...], *, is_shared: bool = False) -> None:
    if sys.platform != "win32":  # where it means that others may take the port as well
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if taken.family == socket.AF_INET6:
        with suppress(OSError):
            taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    taken.bind(address)


def shown_address(host: str, port: int) -> str:
    """The address of the service for a browser on this machine."""
    name = {"0.0.0.0": "localhost", "::": "localhost", "": "localhost"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"
