"""Requests to a service, damaged in all their parts, and what every answer has to be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fuzz.mutations import LONG_TEXTS, NUMBERS, TEXTS, Case, encoded, mutate_bytes, mutate_case, pieces

STATUSES = frozenset({200, 400, 401, 404, 405, 413, 415, 421, 422, 429, 503, 504})
"""What a service may answer, whatever it is asked."""
REQUEST_ID = re.compile(r"[!-~]{1,128}")
HEADER_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
METHODS = pieces("GET HEAD POST PUT DELETE OPTIONS PATCH TRACE get A")
PATHS = pieces(
    "/ /v1 /v1/ /v1/label /v1/label/ /v1/label/stream /v1/parse /v1/explain /v1/models /openapi.json /live /ready"
    " /metrics /assets/ /assets/page.js /assets/../app.py /assets/%2e%2e/%2e%2e/pyproject.toml /assets/%00 //v1/label"
    " /v1/%6cabel /v1/label%2fstream /v1/label;a=b /\u00e9 /%ff /%c3%28 /a%0d%0aX:y"
)
QUERIES = pieces(
    "model=a model=%ff include=phrases,heads include=x include=&include= a[]=1 %00 = & ? # one_sentence=1"
)
HEADERS = (
    *(("content-type", value) for value in pieces("text/plain application/x-ndjson application/xml a / ; é")),
    ("content-type", "application/json; charset=utf-16"),
    ("content-type", "application/json; charset=\x00"),
    *(("content-encoding", value) for value in pieces("gzip br identity a")),
    *(("accept", value) for value in pieces("*/* text/html application/xml image/svg+xml a;q=é")),
    *(("x-request-id", value) for value in (*pieces("a b-1 é <script> {} ; \x7f"), "a" * 5000, "", " ")),
    *(
        ("authorization", value)
        for value in ("Bearer a", "Bearer", "Basic YTpi", "Bearer é", "Bearer " + "a" * 5000)
    ),
    *(("host", value) for value in pieces("a localhost 127.0.0.1:1 [::1] evil.example é")),
    *(("origin", value) for value in pieces("null http://a https://evil.example")),
    *(("access-control-request-method", value) for value in pieces("POST A")),
    *(("connection", value) for value in pieces("close keep-alive")),
    ("expect", "100-continue"),
    ("range", "bytes=0-1"),
    ("if-none-match", "*"),
    ("cookie", "a=" + "b" * 3000),
)
"""Headers that the framing of a request does not depend on."""
BODIES: dict[str, list[Any]] = {
    "/v1/label": [
        {"text": "Not a bad film."},
        {"texts": ["A good film.", "", "The plot is dull; the cast is not."]},
        {"text": "Good 🎬!", "include": ["probabilities", "phrases", "heads", "offsets"]},
        {"texts": ["a\u0301 b", "bad"], "include": ["trees", "head_weights"], "one_sentence": True},
        {"text": "A film. A plot.", "model": "sentiment", "one_sentence": False},
    ],
    "/v1/parse": [{"text": "The film is good."}, {"texts": ["A plot.", "Not bad, not good."]}],
    "/v1/explain": [
        {"text": "Not a bad film, but dull."},
        {"text": "Good.", "format": "html"},
        {"text": "Bad (so he said).", "format": "svg", "one_sentence": True},
    ],
}
LINES: list[list[Any]] = [
    ["A good film.", {"text": "Bad.", "id": 7}],
    [{"text": "A film. A plot.", "id": {"a": [None]}}, "", "Dull.", {"text": "x"}],
]


@dataclass(frozen=True, slots=True)
class Request:
    """A request that a server would pass on: what cannot be framed is left out of it."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def path(self) -> bytes:
        return self.target.partition(b"?")[0]

    def raw(self) -> bytes:
        """The bytes of the request."""
        lines = [b"%s %s HTTP/1.1" % (self.method.encode(), self.target)]
        lines += [name + b": " + value for name, value in self.headers]
        if not any(name == b"host" for name, _ in self.headers):
            lines.append(b"host: 127.0.0.1")
        lines.append(b"content-length: %d" % len(self.body))
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.body


def seed_requests() -> list[Case]:
    """Valid requests: their lines and headers in one part, their bodies in another."""
    found = [
        _case("POST", path, json.dumps(body).encode()) for path, bodies in BODIES.items() for body in bodies
    ]
    for lines in LINES:
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        found.append(
            _case("POST", "/v1/label/stream?include=phrases", body, "application/x-ndjson", "body.jsonl")
        )
    preflight = _case("OPTIONS", "/v1/label", b"", "")
    asked = [["origin", "http://a"], ["access-control-request-method", "POST"]]
    preflight["=head"] = json.dumps({**json.loads(preflight["=head"]), "headers": asked}).encode()
    found.append(preflight)
    for path in pieces("/v1/models /openapi.json /live /ready /metrics /"):
        found.append(_case("GET", path, b"", ""))
    return found


def _case(
    method: str, target: str, body: bytes, content_type: str = "application/json", name: str = "body.json"
) -> Case:
    head = {
        "method": method,
        "target": target,
        "headers": [["content-type", content_type]] if content_type else [],
    }
    return {"=head": json.dumps(head).encode(), name: body}


def mutate_request(case: Case, rng: Random, other: Case) -> Case:
    """Damage the body, the head, or both; now and then nothing, so that valid requests come in between."""
    changed = dict(case)
    if rng.random() < 0.7:
        for _ in range(rng.choice((1, 1, 2))):
            changed = mutate_case(changed, rng, other)
    if rng.random() < 0.35:
        head = json.loads(changed["=head"])
        for _ in range(rng.choice((1, 1, 2, 3))):
            _mutate_head(head, rng)
        changed["=head"] = json.dumps(head).encode()
    return changed


def _mutate_head(head: dict[str, Any], rng: Random) -> None:
    how = rng.randrange(6)
    if how == 0:
        head["method"] = rng.choice(METHODS)
    elif how == 1:
        head["target"] = rng.choice(PATHS)
    elif how == 2:
        head["target"] += ("&" if "?" in head["target"] else "?") + rng.choice(QUERIES)
    elif how == 3:
        drawn = rng.choice(TEXTS if rng.random() < 0.97 else LONG_TEXTS)
        damaged = mutate_bytes(encoded(head["target"]), rng, encoded(drawn))
        head["target"] = damaged.decode("latin-1")
    elif how == 4 and head["headers"]:
        name, value = rng.choice(head["headers"])
        head["headers"].remove([name, value])
        if rng.random() < 0.5:
            head["headers"].append([name, value + rng.choice((*TEXTS, *NUMBERS))])
    else:
        head["headers"].append(list(rng.choice(HEADERS)))


def request_of(case: Case) -> Request:
    """The request of a case, with what no server would pass on left out or escaped."""
    head = json.loads(case["=head"])
    target = re.sub(rb"[\0-\x20\x7f]", b"", encoded(head["target"]))
    headers = [
        (name, value)
        for key, content in head["headers"]
        if HEADER_NAME.fullmatch(name := key.encode("latin-1", "replace").lower())
        and not re.search(rb"[\0-\x08\x0a-\x1f\x7f]", value := encoded(content).strip())
    ]
    body = next(content for name, content in case.items() if name != "=head")
    return Request(head["method"], target if target.startswith(b"/") else b"/" + target, headers, body)


def check_answer(request: Request, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Fails unless an answer is what the interface of the service promises.

    Args:
        request: What was asked.
        status: The status of the answer.
        headers: Its headers, by names in lower case.
        body: Its body.
    """
    assert status in STATUSES, f"status {status}: {body[:300]!r}"
    name = headers.get("x-request-id", "")
    assert REQUEST_ID.fullmatch(name), f"request id {name!r}"
    if request.method == "HEAD":
        return
    if status == 400 and request.method == "OPTIONS":
        return  # what a browser asks before a page may; it reads the headers of the answer alone
    if status >= 400:
        assert headers["content-type"] == "application/problem+json", headers["content-type"]
        problem = strict_json(body)
        assert problem["status"] == status
        assert problem["request_id"] == name
        assert problem["type"]
        assert problem["title"]
        assert isinstance(problem["detail"], str)
        assert problem.keys() <= {"type", "title", "status", "detail", "remedy", "request_id", "text"}
        assert "Traceback" not in problem["detail"]
        assert status not in (429, 503) or int(headers["retry-after"]) >= 0
    elif headers.get("content-type", "").startswith("application/json"):
        check_value(request, strict_json(body))
    elif headers.get("content-type", "").startswith("application/x-ndjson"):
        lines = body.decode().split("\n")[:-1]
        assert len(lines) == sum(bool(line.strip()) for line in request.body.split(b"\n"))
        assert all(isinstance(strict_json(line), dict) for line in lines)
    else:
        body.decode()


def check_value(request: Request, value: Any) -> None:
    """Fails unless there is a document for each text that was asked about."""
    if request.method != "POST" or request.path not in (b"/v1/label", b"/v1/parse"):
        return
    asked = json.loads(request.body)
    if "texts" in asked:
        assert len(value["documents"]) == len(asked["texts"])
    else:
        assert isinstance(value["document"], dict)


def strict_json(data: bytes | str) -> Any:
    """A value of JSON that every reader takes: UTF-8, no NaN."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(data.decode() if isinstance(data, bytes) else data, parse_constant=refuse)
