"""The endpoints of the service, one function each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lexitree.errors import TextError
from lexitree.files import to_json
from lexitree.pipeline.predictor import describe_model
from lexitree.results.document import Document
from lexitree.server.body_reading import check_media_type, read_request, wait_for_disconnect
from lexitree.server.document_values import document_values, parse_values
from lexitree.server.http_answers import json_answer, record_of, written_answer
from lexitree.server.job_queue import Lane
from lexitree.server.labelling_service import LabellingService
from lexitree.server.line_stream import LINES_TYPE, LineStream
from lexitree.server.openapi import openapi_document
from lexitree.server.problems import ProblemError, unavailable
from lexitree.server.request_bodies import (
    ExplainRequest,
    LabelRequest,
    ParseRequest,
    StreamQuery,
    TextRequest,
)
from lexitree.version import __version__

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_EXPLANATION_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline';"
    " style-src 'unsafe-inline'; img-src data: blob:"
)
"""A page or picture made of a stranger's text can show itself, and nothing else."""
MAX_QUERY_BYTES = 4_096
MAX_PARAMETERS = 32
"""There are three of them, of which one may be repeated."""


def service_of(request: Request) -> LabellingService:
    """The service of the application."""
    return request.app.state.service


async def label(request: Request) -> Response:
    """POST /v1/label."""
    service = service_of(request)
    service.check_open()
    body = await read_request(request, LabelRequest, service)
    include = frozenset(body.include)
    return await _answer_texts(
        request, body, "label", lambda document: to_json(document_values(document, include))
    )


async def label_stream(request: Request) -> LineStream:
    """POST /v1/label/stream."""
    service = service_of(request)
    service.check_open()
    check_media_type(request, LINES_TYPE, "application/jsonl", "application/ndjson", "application/json")
    return LineStream(service, read_query(request), record_of(request.scope))


def read_query(request: Request) -> StreamQuery:
    """The settings of a stream from its address.

    Raises:
        ProblemError: The query is too long, or has too many parameters.
        ConfigError: A parameter is unknown or invalid.
    """
    _check_query(request.scope["query_string"])
    values: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        values.setdefault(name, []).append(value)
    # A parameter that is there twice is a list, like one with commas.
    given = StreamQuery.parse_assignments(f"{name}={','.join(each)}" for name, each in values.items())
    if isinstance(include := given.get("include"), str):
        given["include"] = [each.strip() for each in include.split(",") if each.strip()]
    return StreamQuery.from_dict(given)


def _check_query(query: bytes) -> None:
    """Refuse a query that would take long to read, before it is read."""
    remedy = "Send model, include and one_sentence; names in include may have commas between them."
    if len(query) > MAX_QUERY_BYTES:
        raise ProblemError(
            HTTPStatus.REQUEST_URI_TOO_LONG,
            f"the query has {len(query):,} bytes, and the limit is {MAX_QUERY_BYTES:,}",
            remedy=remedy,
        )
    num_parameters = query.count(b"&") + 1
    if num_parameters > MAX_PARAMETERS:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            f"the query has {num_parameters:,} parameters, and the limit is {MAX_PARAMETERS:,}",
            remedy=remedy,
        )


async def parse(request: Request) -> Response:
    """POST /v1/parse."""
    service = service_of(request)
    service.check_open()
    body = await read_request(request, ParseRequest, service)
    return await _answer_texts(request, body, "parse", lambda parsed: to_json(parse_values(parsed)))


async def _answer_texts(
    request: Request, body: TextRequest, work: Any, render: Callable[[Any], str]
) -> Response:
    """The answers of one text or several; they are JSON already when they leave the thread of the models."""
    lane = Lane(service_of(request).find_model(body.model), work)
    is_single = body.text is not None
    answers: list[str] = await _run(
        request, lane, body.all_texts, render, one_sentence=body.one_sentence, is_numbered=not is_single
    )
    listed = answers[0] if is_single else f"[{', '.join(answers)}]"
    key = "document" if is_single else "documents"
    return written_answer(f'{{"model": {to_json(lane.model)}, "{key}": {listed}}}')


async def _run(
    request: Request,
    lane: Lane,
    texts: Sequence[str],
    render: Callable[[Any], Any],
    *,
    one_sentence: bool,
    is_numbered: bool,
) -> list[Any]:
    service, record = service_of(request), record_of(request.scope)
    record.num_texts = len(texts)
    if service.settings.log_texts:
        record.texts = tuple(texts)
    admitted = await service.admit(lane.model, texts, one_sentence=one_sentence, is_numbered=is_numbered)
    record.num_nodes = sum(text.num_nodes for text in admitted)
    if not admitted:
        return []
    job = service.submit(lane, admitted, render)
    answers = await service.wait(job, partial(wait_for_disconnect, request.receive))
    for answer in answers:
        if isinstance(answer, TextError):
            raise answer
    return answers


async def explain(request: Request) -> Response:
    """POST /v1/explain."""
    service = service_of(request)
    service.check_open()
    body = await read_request(request, ExplainRequest, service)
    lane = Lane(service.find_model(body.model), "label")
    documents: list[Document] = await _run(
        request, lane, (body.text,), _unchanged, one_sentence=body.one_sentence, is_numbered=False
    )
    write, kind = _EXPLANATIONS[body.format]
    written = await service.in_pool(write, documents[0], lane.model)
    return Response(written.encode(), 200, {"content-security-policy": _EXPLANATION_POLICY}, kind)


def _unchanged(document: Document) -> Document:
    return document


_EXPLANATIONS: dict[str, tuple[Callable[[Document, str], str], str]] = {
    "json": (
        lambda document, model: to_json(document.explanation(model=model)),
        "application/json",
    ),
    "html": (lambda document, _: document.html(), "text/html"),
    "svg": (lambda document, _: document.svg(), "image/svg+xml"),
}


async def models(request: Request) -> Response:
    """GET /v1/models."""
    service = service_of(request)
    settings = service.settings
    default = service.find_model(None)
    return json_answer(
        {
            "version": __version__,
            "models": [
                {
                    "name": name,
                    "description": describe_model(pipe.predictor.model),
                    "default": name == default,
                    "labels": list(pipe.predictor.model.config.label_set.names),
                }
                for name, pipe in service.models.items()
            ],
            "limits": {
                **settings.limits.as_dict(),
                "texts": settings.max_texts,
                "body_bytes": settings.max_body,
                "request_seconds": settings.request_seconds,
            },
        }
    )


async def openapi(request: Request) -> Response:
    """GET /openapi.json."""
    service = service_of(request)
    return json_answer(openapi_document(service.settings, service.models))


async def live(request: Request) -> Response:
    """GET /live: whether the process lives, whatever it is doing."""
    return json_answer({"status": "live"})


async def ready(request: Request) -> Response:
    """GET /ready: whether requests should be sent here."""
    service = service_of(request)
    if reason := service.why_not_ready():
        raise unavailable(f"not ready: {reason}", "", seconds=service.queue.retry_seconds())
    return json_answer({"status": "ready"})


async def metrics(request: Request) -> Response:
    """GET /metrics."""
    service = service_of(request)
    page = await service.in_pool(service.metrics.page)
    return Response(page, headers={"content-type": _METRICS_TYPE})
