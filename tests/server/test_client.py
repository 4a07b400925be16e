"""The client against a small HTTP server that answers what a test has told it to."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

import pytest

from lexitree.errors import ConfigError, LexitreeError, ServiceError
from lexitree.server import client as client_module
from lexitree.server.client import BATCH_CHARACTERS, BATCH_TEXTS, Client

Answer = tuple[int, dict[str, str], bytes]


class Service:
    """Remembers the requests and the connections they came on; `answer` says what they get."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections: set[Any] = set()
        self.answer: Callable[[str, bytes], Answer] = lambda path, body: (200, {}, b"{}")
        self.lock = Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with service.lock:
                    service.requests.append((self.command, self.path, dict(self.headers), body))
                    service.connections.add(self.client_address)
                    status, headers, content = service.answer(self.path, body)
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET  # noqa: N815  # the base class finds it by this name

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, none of which is waited for."""
    seconds: list[float] = []
    monkeypatch.setattr(client_module.time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.server.shutdown()
    service.server.server_close()


def problem(status: int, detail: str = "the queue is full", **more: object) -> bytes:
    return json.dumps(
        {"title": "no", "status": status, "detail": detail, "request_id": "r1", **more}
    ).encode()


def fail_first(failures: list[Answer], then: Answer) -> Callable[[str, bytes], Answer]:
    left = list(failures)
    return lambda path, body: left.pop(0) if left else then


def label_lines(path: str, body: bytes) -> Answer:
    lines = [json.dumps({"label": json.loads(line).upper()}) for line in body.splitlines()]
    return 200, {}, "\n".join(lines).encode()


def test_one_text_and_several(service: Service) -> None:
    service.answer = lambda path, body: (
        200,
        {},
        json.dumps(
            {"document": {"label": "1"}} if "text" in json.loads(body) else {"documents": [1, 2]}
        ).encode(),
    )
    with Client(f"{service.url}/") as client:
        assert client.label("Good.", model="m", include=["heads"], one_sentence=True) == {"label": "1"}
        assert client.label(["Good.", "Bad."]) == [1, 2]
    (method, path, headers, body), (_, _, _, second) = service.requests
    assert (method, path, headers["Content-Type"]) == ("POST", "/v1/label", "application/json")
    assert json.loads(body) == {"text": "Good.", "model": "m", "include": ["heads"], "one_sentence": True}
    assert json.loads(second) == {"texts": ["Good.", "Bad."]}
    assert "Authorization" not in headers


def test_the_other_requests(service: Service) -> None:
    answers = {
        "/v1/models": b'{"models": [{"name": "sentiment"}]}',
        "/v1/parse": b'{"document": {"sentences": []}, "documents": [{}]}',
        "/v1/explain": b'{"version": 1}',
        "/ready": b"{}",
    }
    service.answer = lambda path, body: (200, {}, answers[path.removeprefix("/nlp")])
    with Client(f"{service.url}/nlp", token="secret") as client:
        assert client.models() == [{"name": "sentiment"}]
        assert client.parse("a") == {"sentences": []}
        assert client.parse(["a"]) == [{}]
        assert client.explain("a") == {"version": 1}
        assert client.explain("a", format="html") == '{"version": 1}'
        assert client.ready()
    assert {headers["Authorization"] for _, _, headers, _ in service.requests} == {"Bearer secret"}
    assert all(path.startswith("/nlp/") for _, path, _, _ in service.requests)
    assert len(service.connections) == 1


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


@pytest.mark.parametrize("content", [b"<html>", b"[1]", b"\xff", b"[" * 100_000])
def test_another_kind_of_server(service: Service, content: bytes) -> None:
    service.answer = lambda path, body: (200, {}, content)
    with (
        Client(service.url) as client,
        pytest.raises(ServiceError, match="not what a lexitree service sends"),
    ):
        client.label("a")
    service.answer = lambda path, body: (404, {}, content)
    with Client(service.url) as client, pytest.raises(ServiceError, match="status 404"):
        client.label("a")


def test_a_stream_keeps_the_order_and_reads_only_a_little_ahead(service: Service) -> None:
    service.answer = label_lines
    num_taken = 0

    def texts() -> Iterator[str]:
        nonlocal num_taken
        for number in range(1000):
            num_taken += 1
            yield f"text {number}"

    with Client(service.url) as client:
        answers = client.stream(texts(), model="m", include=["heads", "trees"])
        assert next(answers) == {"label": "TEXT 0"}
        assert num_taken <= 5 * BATCH_TEXTS
        assert [each["label"] for each in answers] == [f"TEXT {number}" for number in range(1, 1000)]  # type: ignore[index]
    assert service.requests[0][1] == "/v1/label/stream?model=m&include=heads%2Ctrees"
    assert len(service.connections) <= 3


def test_long_texts_of_a_stream_are_sent_alone(service: Service) -> None:
    service.answer = label_lines
    with Client(service.url) as client:
        assert len(list(client.stream(["a", "b" * BATCH_CHARACTERS, "c", "d"], parallel=1))) == 4
    assert [len(body.splitlines()) for _, _, _, body in service.requests] == [1, 1, 2]


def test_refused_texts_of_a_stream(service: Service) -> None:
    def refuse_b(path: str, body: bytes) -> Answer:
        lines = [
            f'{{"error": {problem(422, "too long").decode()}}}' if text == b'"b"' else '{"label": "1"}'
            for text in body.splitlines()
        ]
        return 200, {}, "\n".join(lines).encode()

    service.answer = refuse_b
    with Client(service.url) as client:
        assert len(list(client.stream("abc", on_error="skip"))) == 2
        given = list(client.stream("abc", on_error="return"))
        assert [isinstance(each, ServiceError) for each in given] == [False, True, False]
        with pytest.raises(ServiceError, match="text 1: too long"):
            list(client.stream("abc"))


def test_a_stream_is_sent_again_when_lines_are_shed(service: Service, pauses: list[float]) -> None:
    shed = b'{"label": "1"}\n{"error": ' + problem(429) + b"}\n"
    service.answer = fail_first([(200, {}, shed)], (200, {}, b'{"label": "1"}\n' * 2))
    with Client(service.url) as client:
        assert list(client.stream("ab")) == [{"label": "1"}] * 2
    assert len(pauses) == 1
