"""Responses of the service, and what is known about the request that they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from lexitree.files import to_json
from lexitree.server.problems import ProblemError

PROBLEM_TYPE = "application/problem+json"
_RECORD = "lexitree.record"


@dataclass(slots=True)
class RequestRecord:
    """What the log tells about a request."""

    request_id: str
    num_texts: int = 0
    num_nodes: int = 0
    texts: tuple[str, ...] = ()
    """Only if texts are logged."""


def set_record(scope: Scope, record: RequestRecord) -> None:
    """Attach the record of a request to it."""
    scope[_RECORD] = record


def record_of(scope: Scope) -> RequestRecord:
    """The record of a request."""
    return scope[_RECORD]


def json_answer(values: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer of plain values."""
    return written_answer(to_json(values), status, headers)


def written_answer(json: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that is JSON already."""
    return Response(json.encode(), status, headers, "application/json")


def problem_answer(scope: Scope, problem: ProblemError) -> Response:
    """The answer to a request that cannot have what it asks for."""
    values = to_json(problem.as_dict(record_of(scope).request_id))
    return Response(values.encode(), problem.status, problem.headers, PROBLEM_TYPE)


def media_type(request: Request) -> str:
    """What the body of a request is said to be, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
