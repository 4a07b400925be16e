"""Clients that stall, send without end, or are too many; each on a real socket."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection

import pytest

from lexitree.server.guarded_protocol import MAX_HEADER_BYTES, MAX_PIPELINED, MAX_TRAILERS
from tests.command import wait_until
from tests.server.running import RunningServer, ask, connect, read_all, running_server

HEADER_SECONDS = 0.15
REQUEST = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"


def read_live(connection: socket.socket) -> None:
    """Read one good answer, which may come in pieces."""
    answer = b""
    while not answer.endswith(b'{"status": "live"}'):
        piece = connection.recv(1 << 16)
        assert piece
        answer += piece
    assert answer.startswith(b"HTTP/1.1 200 OK")


@pytest.fixture(scope="module")
def service() -> Iterator[RunningServer]:
    with running_server(header_seconds=HEADER_SECONDS, stall_seconds=0.3, max_connections=20) as running:
        yield running


@pytest.mark.parametrize("sent", [b"", b"GET /live HTTP/1.1\r\nHost: loc", b"\r\n"])
def test_headers_that_do_not_come_close_the_connection(service: RunningServer, sent: bytes) -> None:
    began = time.monotonic()
    with connect(service.port, sent) as slow:
        assert ask(service.port).status == 200
        assert read_all(slow)[:32] == (b"HTTP/1.1 408 Request Timeout\r\nco" if sent else b"")
    assert HEADER_SECONDS <= time.monotonic() - began < 10


@pytest.mark.slow
def test_a_byte_now_and_then_does_not_help(service: RunningServer) -> None:
    with connect(service.port, b"GET /live HTTP/1.1\r\nX: ") as slow:
        began = time.monotonic()
        try:
            while time.monotonic() - began < 10:
                slow.sendall(b"x")
                time.sleep(0.05)
        except OSError:
            pass
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("sent", [pytest.param(b"GET", marks=pytest.mark.slow), b"\r\n"])
def test_the_second_request_of_a_connection_must_come_in_time_too(
    service: RunningServer, sent: bytes
) -> None:
    with connect(service.port, REQUEST) as kept:
        read_live(kept)
        time.sleep(HEADER_SECONDS * 1.5)  # an unused connection stays open longer
        kept.sendall(sent)
        assert b"408" in read_all(kept)


def test_two_requests_sent_at_once_are_both_answered(service: RunningServer) -> None:
    with connect(
        service.port, REQUEST + REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    ) as both:
        assert read_all(both).count(b"HTTP/1.1 200 OK") == 2


def test_too_many_requests_sent_at_once_end_the_connection_after_the_others(service: RunningServer) -> None:
    with connect(service.port, REQUEST * 40) as many:
        answers = read_all(many)
    # The first is being answered while the others wait.
    assert answers.count(b"HTTP/1.1 200 OK") == answers.count(b"HTTP/1.1") == MAX_PIPELINED + 1


def send_until_refused(port: int, first: bytes, more: bytes) -> bool:
    """Send without end and without reading; whether the other side closes the connection."""
    with connect(port, first) as endless:
        endless.settimeout(0.2)
        began = time.monotonic()
        while time.monotonic() - began < 20:
            try:
                endless.sendall(more)
            except TimeoutError:
                time.sleep(0.02)
            except OSError:
                return True
    return False


@pytest.mark.slow
def test_headers_without_end_are_refused(service: RunningServer) -> None:
    assert send_until_refused(service.port, b"GET /live HTTP/1.1\r\n", b"X: " + b"x" * 1000 + b"\r\n")
    with connect(service.port, b"GET /live HTTP/1.1\r\nX: ") as long:
        time.sleep(0.02)  # what comes with the first byte is not counted
        long.sendall(b"x" * (MAX_HEADER_BYTES + 1))
        assert b"431" in read_all(long)


CHUNKED = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED += b"Transfer-Encoding: chunked\r\n\r\n"
MOST_SENT = 16 << 20
"""More than the buffers of two sockets and what is read at once."""


@pytest.mark.parametrize(
    ("first", "more"),
    [
        (b"2\r\n{}\r\n0\r\n", b"X: " + b"x" * 1000 + b"\r\n"),
        (b"0\r\n", b"a:\r\n" * 250),
        (b"0\r\nX: ", b"x" * 1000),
        (b"1;", b"x" * 1000),
    ],
    ids=["trailers", "short trailers", "one trailer", "an extension of a chunk"],
)
@pytest.mark.parametrize("head", [CHUNKED, CHUNKED.replace(b"POST /v1/label", b"GET /live")])
def test_what_follows_a_chunked_body_is_bounded(
    service: RunningServer, head: bytes, first: bytes, more: bytes
) -> None:
    """Trailers would be kept until memory ends, and an answer that has begun is not followed by another."""
    num_sent, answer = 0, b""
    with connect(service.port, head + first) as endless:
        endless.settimeout(5)
        try:
            while num_sent < MOST_SENT:
                endless.sendall(more)
                num_sent += len(more)
        except OSError:
            pass
        with suppress(OSError):
            answer = read_all(endless)
    assert num_sent < MOST_SENT
    # What the client has sent too much may take the answer with it.
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert ask(service.port).status == 200


def test_too_many_trailers_are_told(service: RunningServer) -> None:
    with connect(service.port, CHUNKED + b"2\r\n{}\r\n0\r\n" + b"a: b\r\n" * (MAX_TRAILERS + 2)) as many:
        assert read_all(many).startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    with connect(service.port, CHUNKED + b"0\r\n") as long:
        time.sleep(0.05)  # what comes with the last chunk is not counted
        long.sendall(b"X: " + b"x" * (MAX_HEADER_BYTES + 1))
        assert read_all(long).startswith(b"HTTP/1.1 431 ")


def test_a_request_that_was_answered_gets_no_second_answer(service: RunningServer) -> None:
    """The rest of its body does not come; a client would take another answer for that to its next request."""
    with connect(service.port, CHUNKED.replace(b"POST /v1/label", b"GET /live")) as half:
        read_live(half)
        half.sendall(b"1")
        assert read_all(half) == b""


def test_trailers_are_no_headers(service: RunningServer) -> None:
    """They come when the request has long been read."""
    body = b'{"text": "the film is good ."}'
    for trailers in (b"Content-Type: text/plain\r\n", b"a: b\r\n" * MAX_TRAILERS):
        sent = b"%x\r\n%b\r\n0\r\n" % (len(body), body) + trailers + b"\r\n"
        with connect(service.port, CHUNKED.replace(b"Host", b"Connection: close\r\nHost") + sent) as good:
            assert read_all(good).startswith(b"HTTP/1.1 200 OK")


def test_requests_without_end_are_refused(service: RunningServer) -> None:
    """Each is complete, and the client does not wait for answers."""
    assert send_until_refused(service.port, b"", REQUEST)
    assert ask(service.port).status == 200


@pytest.mark.slow
def test_a_body_that_is_refused_early_is_thrown_away_so_that_the_answer_is_read() -> None:
    """A connection that is closed while the client still sends would lose the answer."""
    with running_server() as running:
        connection = HTTPConnection("127.0.0.1", running.port, timeout=30)
        for _ in range(2):
            connection.request("POST", "/v1/label", b"x" * 20_000_000, {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert (response.status, bool(response.read())) == (413, True)
        connection.close()


def test_a_body_that_was_refused_must_come_in_time(service: RunningServer) -> None:
    head = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n"
    with connect(service.port, head) as slow:
        assert slow.recv(1 << 16).startswith(b"HTTP/1.1 415")
        slow.sendall(b"x" * 100)
        began = time.monotonic()
        read_all(slow)
        assert time.monotonic() - began < 10


@pytest.mark.slow
def test_a_client_that_does_not_read_is_dropped(service: RunningServer) -> None:
    body = json.dumps({"texts": ["the film is good ."] * 900, "include": ["phrases"]}).encode()
    head = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(30)
        deaf.connect(("127.0.0.1", service.port))
        deaf.sendall(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_until(lambda: len(service.server.server_state.connections) == 1)
        wait_until(lambda: not service.server.server_state.connections)
        answer = read_all(deaf)
    size = re.search(rb"content-length: (\d+)", answer)
    assert size is not None
    assert len(answer) < int(size[1])


@pytest.mark.slow
def test_too_many_connections_are_refused_and_the_others_are_served(service: RunningServer) -> None:
    with connect(service.port, REQUEST) as first:
        read_live(first)
        others = [connect(service.port) for _ in range(25)]
        answers = [read_all(other) for other in others]
        assert 5 <= sum(b"503 Service Unavailable\r\nretry-after: 1" in answer for answer in answers) <= 7
        first.sendall(REQUEST)
        read_live(first)
        for other in others:
            other.close()
