"""The checks of answers: what breaks a promise of the interface is noticed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fuzz.service_requests import Request, check_answer, request_of, seed_requests

ONE = Request("POST", b"/v1/label", [], b'{"text": "a"}')
TWO = Request("POST", b"/v1/label", [], b'{"texts": ["a", "b"]}')
LINES = Request("POST", b"/v1/label/stream", [], b'"a"\n\n"b"')
PROBLEM = {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "a", "request_id": "1"}
KINDS = {"json": "application/json", "problem": "application/problem+json", "lines": "application/x-ndjson"}


def check(request: Request, status: int, kind: str, body: Any, **headers: str) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    check_answer(request, status, {"x-request-id": "1", "content-type": KINDS[kind], **headers}, data)


def test_answers_as_they_should_be() -> None:
    check(ONE, 200, "json", {"document": {}})
    check(TWO, 200, "json", {"documents": [{}, {}]})
    check(LINES, 200, "lines", b"{}\n{}\n")
    check(ONE, 404, "problem", PROBLEM)
    check(ONE, 429, "problem", {**PROBLEM, "status": 429}, **{"retry-after": "1"})


@pytest.mark.parametrize(
    ("request_", "status", "kind", "body"),
    [
        (ONE, 500, "problem", {**PROBLEM, "status": 500}),
        (ONE, 200, "json", b'{"document": {"probability": NaN}}'),
        (ONE, 200, "json", b'{"document": "\xff"}'),
        (TWO, 200, "json", {"documents": [{}]}),
        (LINES, 200, "lines", b"{}\n"),
        (ONE, 404, "json", PROBLEM),
        (ONE, 404, "problem", {**PROBLEM, "status": 400}),
        (ONE, 404, "problem", {**PROBLEM, "request_id": "2"}),
        (ONE, 404, "problem", {**PROBLEM, "detail": "Traceback"}),
        (ONE, 429, "problem", {**PROBLEM, "status": 429}),
    ],
)
def test_broken_promises_are_noticed(request_: Request, status: int, kind: str, body: Any) -> None:
    with pytest.raises((AssertionError, KeyError, ValueError)):
        check(request_, status, kind, body)


def test_requests_have_no_bytes_that_no_server_passes_on() -> None:
    head = {"method": "POST", "target": "/a b\r\n", "headers": [["a b", "c"], ["x", "a\r\nb"], ["y", " c "]]}
    request = request_of({"=head": json.dumps(head).encode(), "body.json": b"1"})
    assert (request.target, request.headers) == (b"/ab", [(b"y", b"c")])
    assert request.raw().endswith(b"content-length: 1\r\n\r\n1")
    assert all(request_of(case).raw().count(b"\r\n\r\n") == 1 for case in seed_requests())
