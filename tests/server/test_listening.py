"""Ports that are free, in use and shared."""

from __future__ import annotations

import socket

import pytest

from lexitree.errors import ConfigError
from lexitree.server import listening
from lexitree.server.listening import join_port, open_port, shown_address


def test_a_port_in_use_is_an_error_with_a_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        for is_shared in (False, True):
            with pytest.raises(ConfigError, match=rf"http://127.0.0.1:{number}: .*in use") as raised:
                open_port("127.0.0.1", number, is_shared=is_shared)
            assert "--port" in raised.value.remedy


def test_another_service_does_not_get_a_share() -> None:
    with (
        open_port("127.0.0.1", 0, is_shared=True) as first,
        join_port(first.family, first.getsockname()) as worker,
        join_port(first.family, first.getsockname()) as second,
    ):
        worker.listen()
        second.listen()
        with pytest.raises(ConfigError, match="in use"):
            open_port("127.0.0.1", first.getsockname()[1], is_shared=True)


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_hosts_that_are_not_of_this_machine(host: str) -> None:
    with pytest.raises(ConfigError, match="cannot listen on") as raised:
        open_port(host, 0)
    assert "--host" in raised.value.remedy


def test_connections_are_refused_until_it_listens() -> None:
    with open_port("localhost", 0) as port:
        assert port.getsockname()[0] == "127.0.0.1"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(port.getsockname())


def test_systems_that_cannot_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "CAN_SHARE", False)
    with pytest.raises(ConfigError, match="Linux only"):
        open_port("127.0.0.1", 0, is_shared=True)


def test_addresses_for_browsers() -> None:
    shown = [shown_address(host, 80) for host in ("127.0.0.1", "0.0.0.0", "::", "::1", "example.org")]
    assert shown == [
        "http://127.0.0.1:80",
        "http://localhost:80",
        "http://localhost:80",
        "http://[::1]:80",
        "http://example.org:80",
    ]
