"""Check that a running service answers everything it should, and refuses what it should.

    python deploy/smoke_service.py http://localhost:8000 [--token TOKEN]

It needs only Python, so that it can be run against an image or a machine that has nothing else. It prints a line per
check, and exits with 1 if any of them fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

TEXT = "The acting is great, but the story goes nowhere. Still, I laughed a lot."
SECONDS = 60.0


@dataclass(frozen=True)
class Response:
    """An answer of the service."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Service:
    """The service under test."""

    url: str
    token: str | None = None

    def ask(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", token: bool = True
    ) -> Response:
        """Send one request; a body that is not bytes is sent as JSON."""
        parts = urlsplit(self.url)
        connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = connect(parts.hostname or "", parts.port, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token and token else {}
        if body is not None:
            headers["Content-Type"] = kind
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, parts.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            lower = {name.lower(): value for name, value in response.headers.items()}
            return Response(response.status, lower, response.read())
        finally:
            connection.close()

    def get(self, path: str) -> Response:
        """A page that must be there."""
        response = self.ask("GET", path)
        assert response.status == 200, (path, response.status, response.content[:200])
        return response

    def post(self, path: str, body: Any, kind: str = "application/json") -> Response:
        """A request that must succeed."""
        response = self.ask("POST", path, body, kind)
        assert response.status == 200, (path, response.status, response.content[:200])
        return response


def check_probes(service: Service) -> None:
    for path in ("/live", "/ready"):
        assert service.get(path).json()["status"] in ("live", "ready")


def check_page(service: Service) -> None:
    page = service.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy, policy
    assert "unsafe" not in policy, policy
    assert b"<!doctype html" in page.content[:200].lower()


def check_label(service: Service) -> None:
    one = service.post("/v1/label", {"text": TEXT}).json()
    assert len(one["document"]["sentences"]) == 2
    assert 0 < one["document"]["probability"] <= 1
    many = service.post("/v1/label", {"texts": [TEXT, "Dull."], "include": ["phrases", "offsets"]}).json()
    assert many["documents"][0]["label"] == one["document"]["label"]
    assert many["documents"][0]["sentences"][0]["phrases"]


def check_stream(service: Service) -> None:
    lines = b'"Good."\n{"text": "Bad.", "id": 7}\nnot JSON\n{"text": "Dull.", "id": "last"}\n'
    response = service.post("/v1/label/stream", lines, "application/x-ndjson")
    answers = [json.loads(line) for line in response.content.splitlines()]
    assert [answer.get("id") for answer in answers] == [None, 7, None, "last"], answers
    assert ["error" in answer for answer in answers] == [False, False, True, False], answers


def check_parse(service: Service) -> None:
    document = service.post("/v1/parse", {"text": TEXT}).json()["document"]
    assert document["sentences"][0]["parse"].startswith("(")


def check_explain(service: Service) -> None:
    data = service.post("/v1/explain", {"text": TEXT}).json()
    assert data["text"] == TEXT
    assert data["sentences"][0]["nodes"][0]["parent"] == -1
    page = service.post("/v1/explain", {"text": TEXT, "format": "html"})
    assert page.headers["content-type"].startswith("text/html")
    picture = service.post("/v1/explain", {"text": TEXT, "format": "svg"})
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert b"<svg" in picture.content[:500]


def check_models(service: Service) -> None:
    models = service.get("/v1/models").json()["models"]
    assert sum(model["default"] for model in models) == 1
    for model in models:
        document = service.post("/v1/label", {"text": "Why not?", "model": model["name"]}).json()["document"]
        assert document["label"] in model["labels"], (document, model)


def check_description(service: Service) -> None:
    paths = service.get("/openapi.json").json()["paths"]
    assert {"/v1/label", "/v1/label/stream", "/v1/parse", "/v1/explain"} <= set(paths)


def check_metrics(service: Service) -> None:
    page = service.get("/metrics").content.decode()
    for name in ("lexitree_requests_total", "lexitree_request_seconds", "lexitree_queue_nodes"):
        assert name in page, name


def check_errors(service: Service) -> None:
    expected = {
        400: service.ask("POST", "/v1/label", b"{"),
        404: service.ask("GET", "/nowhere"),
        405: service.ask("GET", "/v1/label"),
        413: service.ask("POST", "/v1/label", {"text": "x" * (3 << 20)}),
        415: service.ask("POST", "/v1/label", b"Good.", kind="text/plain"),
        422: service.ask("POST", "/v1/label", {"text": "Good.", "model": "no such model"}),
    }
    if service.token:
        expected[401] = service.ask("POST", "/v1/label", {"text": "Good."}, token=False)
    for status, response in expected.items():
        assert response.status == status, (status, response.status, response.content[:200])
        assert response.headers["content-type"].startswith("application/problem+json")
        problem = response.json()
        assert problem["status"] == status
        assert problem["detail"]
        assert problem["request_id"] == response.headers["x-request-id"]


CHECKS: tuple[Callable[[Service], None], ...] = (
    check_probes,
    check_page,
    check_label,
    check_stream,
    check_parse,
    check_explain,
    check_models,
    check_description,
    check_metrics,
    check_errors,
)


def run_checks(service: Service) -> list[str]:
    """Run every check and say how it went; the names of those that failed."""
    failed: list[str] = []
    for check in CHECKS:
        name = check.__name__.removeprefix("check_")
        try:
            check(service)
        except Exception:
            failed.append(name)
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
        else:
            print(f"ok      {name}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--token", help="the service's bearer token")
    arguments = parser.parse_args()
    return 1 if run_checks(Service(arguments.url, arguments.token)) else 0


if __name__ == "__main__":
    sys.exit(main())
