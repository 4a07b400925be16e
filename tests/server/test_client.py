"""The client's requests and their answers, against a service that answers what a test has told it to."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lexitree.errors import ServiceError
from lexitree.server.client import BATCH_CHARACTERS, BATCH_TEXTS, Client
from tests.server.told_service import Answer, Service, fail_first, problem


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
