"""Connections that are kept, and requests that are sent again when the service cannot take them."""

from __future__ import annotations

import socket

import pytest

from lexitree.errors import ConfigError, LexitreeError, ServiceError
from lexitree.server.client import Client
from tests.server.told_service import Answer, Service, fail_first, problem


def test_a_full_service_is_asked_again_when_it_says(service: Service, pauses: list[float]) -> None:
    full: Answer = (429, {"Retry-After": "2"}, problem(429))
    down: Answer = (503, {}, b"gone")
    service.answer = fail_first([full, down, down], (200, {}, b'{"document": {}}'))
    with Client(service.url) as client:
        assert client.label("a") == {}
    assert len(service.requests) == 4
    assert 2 <= pauses[0] <= 3
    assert 0.1 <= pauses[1] <= 0.2
    assert 0.2 <= pauses[2] <= 0.4


def test_a_service_that_stays_full_is_an_error(service: Service) -> None:
    service.answer = lambda path, body: (429, {}, problem(429, remedy="Send less."))
    with Client(service.url, retries=2) as client, pytest.raises(ServiceError) as raised:
        client.label("a")
    assert (raised.value.message, raised.value.remedy) == ("the queue is full", "Send less.")
    assert (raised.value.status, raised.value.request_id) == (429, "r1")
    assert len(service.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 413, 422, 500, 504])
def test_what_would_fail_again_is_not_sent_again(service: Service, status: int) -> None:
    service.answer = lambda path, body: (status, {}, problem(status, "no"))
    with Client(service.url) as client, pytest.raises(ServiceError, match="no") as raised:
        client.label("a")
    assert raised.value.status == status
    assert len(service.requests) == 1


def test_a_connection_that_was_closed_meanwhile_is_replaced(service: Service, pauses: list[float]) -> None:
    service.answer = fail_first([(200, {}, b'{"document": 1}'), (0, {}, b"")], (200, {}, b'{"document": 2}'))
    with Client(service.url) as client:
        assert [client.label("a"), client.label("a")] == [1, 2]
    assert pauses == []
    assert len(service.connections) == 2


def test_a_worker_that_dies_during_a_request_is_no_error(service: Service, pauses: list[float]) -> None:
    service.answer = fail_first([(0, {}, b"")], (200, {}, b'{"document": 2}'))
    with Client(service.url) as client:
        assert client.label("a") == 2
    assert len(pauses) == 1


@pytest.mark.usefixtures("pauses")
def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # but does not listen
        client = Client(f"http://127.0.0.1:{taken.getsockname()[1]}", retries=1)
        assert not client.ready()
        with pytest.raises(ServiceError, match=r"cannot be reached .*refused") as raised:
            client.label("a")
    assert "lexitree serve" in raised.value.remedy
    assert isinstance(raised.value, LexitreeError)


def test_a_silent_service_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.1)
        with pytest.raises(ServiceError, match=r"did not answer within 0\.1 seconds"):
            client.label("a")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", ""])
def test_bad_addresses(url: str) -> None:
    with pytest.raises(ConfigError, match="not the address of a service"):
        Client(url)
