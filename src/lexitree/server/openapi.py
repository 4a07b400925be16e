"""The OpenAPI document of the service; what requests may hold follows from the classes that check them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from lexitree.limits import Limits
from lexitree.server.problems import title_of
from lexitree.server.request_bodies import (
    ExplainRequest,
    LabelRequest,
    LineRequest,
    ParseRequest,
    StreamQuery,
)
from lexitree.server.schemas import Schema, settings_schema
from lexitree.server.service_settings import ServiceSettings
from lexitree.version import __version__

_TEXT = "Not a bad film. But who would see it twice?"
_SENTENCE = {"text": "Not a bad film.", "label": "positive", "probability": 0.81, "score": 0.32}
_DOCUMENT = {"label": "positive", "probability": 0.81, "score": 0.32, "sentences": [_SENTENCE]}
_TOKENS = [
    {"start": 0, "end": 3, "text": "Not"},
    {"start": 4, "end": 5, "text": "a"},
    {"start": 6, "end": 9, "text": "bad"},
    {"start": 10, "end": 14, "text": "film"},
    {"start": 14, "end": 15, "text": "."},
]
_PARSE = {
    "text": "Not a bad film.",
    "start": 0,
    "end": 15,
    "tokens": _TOKENS,
    "parse": "(NP (RB Not) (DT a) (JJ bad) (NN film) (. .))",
}
_LINES = '"Not a bad film."\n{"text": "Dull.", "id": 7}\n'

_COMMON = (400, 401, 408, 413, 415, 421, 422, 429, 500, 503, 504)
_STREAM = (400, 401, 414, 415, 421, 422, 429, 431, 500, 503)
"""What any request with texts may be answered with."""


def openapi_document(settings: ServiceSettings, models: Iterable[str]) -> Schema:
    """Describe the interface, with the limits and models of this service."""
    names = list(models)
    paths = {
        "/v1/label": _post(
            "Label texts", LabelRequest, {"text": _TEXT, "include": ["phrases"]}, _label_answers()
        ),
        "/v1/label/stream": _stream(names),
        "/v1/parse": _post("Parse texts", ParseRequest, {"texts": [_TEXT]}, _parse_answers()),
        "/v1/explain": _post("Explain the label of a text", ExplainRequest, {"text": _TEXT}, _explanations()),
        "/v1/models": _get(
            "The models and the limits", {"application/json": {"schema": _ref("Models")}}, 401
        ),
        "/live": _get("Whether the process lives", _json({"type": "object"}, {"status": "live"})),
        "/ready": _get("Whether to send requests", _json({"type": "object"}, {"status": "ready"}), 503),
        "/metrics": _get("Figures for Prometheus", {"text/plain": {"schema": {"type": "string"}}}, 401),
        "/openapi.json": _get("This document", _json({"type": "object"})),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lexitree",
            "version": __version__,
            "summary": "Labels for texts, sentences and phrases",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}] if settings.token else [],
        "paths": paths,
        "components": {
            "schemas": _schemas(settings, names),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: Schema, example: Any = None) -> Schema:
    return {"application/json": {"schema": schema, **({} if example is None else {"example": example})}}


def _problem(status: int) -> Schema:
    headers = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    return {
        "description": title_of(status),
        **({"headers": headers} if status in (429, 503) else {}),
        "content": {"application/problem+json": {"schema": _ref("Problem")}},
    }


def _responses(content: Schema, statuses: Iterable[int]) -> Schema:
    return {
        "200": {"description": title_of(HTTPStatus.OK), "content": content},
        **{str(status): _problem(status) for status in statuses},
    }


def _get(summary: str, content: Schema, *statuses: int) -> Schema:
    """An operation without a body; one that is never answered with status 401 needs no token."""
    open_to_all: Schema = {} if 401 in statuses else {"security": []}
    return {"get": {"summary": summary, **open_to_all, "responses": _responses(content, (*statuses, 421))}}


def _post(summary: str, body: type[Any], example: Mapping[str, Any], answers: Schema) -> Schema:
    content = {"application/json": {"schema": _ref(body.__name__), "example": example}}
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": content},
            "responses": _responses(answers, _COMMON),
        }
    }


def _stream(models: list[str]) -> Schema:
    """Lines are no JSON document, so they are strings here; `LineRequest` and `Document` describe a line."""
    query = settings_schema(StreamQuery)["properties"]
    # An address cannot hold null: the parameter is left out.
    query["model"] = {
        "type": "string",
        "enum": models,
        "description": query["model"]["description"],
    }
    lines = {"schema": {"type": "string"}, "example": _LINES}
    answers = {
        "schema": {"type": "string", "description": "A `Document` or a problem under `error` per line."}
    }
    return {
        "post": {
            "summary": "Label a text per line, as the lines arrive",
            "parameters": [
                {"name": name, "in": "query", "schema": schema, "explode": False, "style": "form"}
                for name, schema in query.items()
            ],
            "requestBody": {"required": True, "content": {"application/x-ndjson": lines}},
            "responses": _responses({"application/x-ndjson": answers}, _STREAM),
        }
    }


def _label_answers() -> Schema:
    return _json(_ref("LabelAnswer"), {"model": "sentiment", "document": _DOCUMENT})


def _parse_answers() -> Schema:
    return _json(_ref("ParseAnswer"), {"model": "sentiment", "documents": [{"sentences": [_PARSE]}]})


def _explanations() -> Schema:
    return {
        **_json({"type": "object", "description": "What the page shows, for programs."}),
        "text/html": {"schema": {"type": "string"}},
        "image/svg+xml": {"schema": {"type": "string"}},
    }


def _schemas(settings: ServiceSettings, models: list[str]) -> Schema:
    bodies = (LabelRequest, ParseRequest, ExplainRequest, LineRequest)
    requests = {body.__name__: _request_schema(settings_schema(body), settings, models) for body in bodies}
    return {**requests, **_answer_schemas()}


def _request_schema(schema: Schema, settings: ServiceSettings, models: list[str]) -> Schema:
    """The schema of a request with the limits and models of this service."""
    properties = schema["properties"]
    if "model" in properties:
        properties["model"]["anyOf"] = [{"type": "string", "enum": models}, {"type": "null"}]
    if settings.limits.characters is not None and settings.limits.beyond == "refuse":
        properties["text"]["maxLength"] = settings.limits.characters
    if "texts" in properties:
        properties["texts"]["maxItems"] = settings.max_texts
        one, many = {"type": "string"}, {"type": "array"}
        schema["oneOf"] = [
            {"required": ["text"], "properties": {"text": one, "texts": {"type": "null"}}},
            {"required": ["texts"], "properties": {"texts": many, "text": {"type": "null"}}},
        ]
    return schema


def _object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Schema:
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required)}


def _answer_schemas() -> Schema:
    string, integer, number = ({"type": kind} for kind in ("string", "integer", "number"))
    share = {"type": "number", "minimum": 0, "maximum": 1}
    shares = {"type": "object", "additionalProperties": share}
    place = {"start": integer, "end": integer}
    notes = {"notes": _list(string)}
    head = {"head": string, "head_weight": number, "head_weights": _list(number)}
    score = {"score": _optional({"type": "number", "minimum": -1, "maximum": 1})}
    labelled = {"text": string, "label": string, "probability": share, **score}
    tokens = {"tokens": _list(_ref("Token"))}
    phrases = {"phrases": _list(_ref("Phrase")), "parse": string, "tree": string}
    return {
        "Token": _object({**place, "text": string}),
        "Phrase": _object(
            {**labelled, "children": _list(integer)},
            {**place, "probabilities": shares, **head, "head_index": integer},
        ),
        "Sentence": _object(labelled, {**place, **tokens, "probabilities": shares, **head, **phrases}),
        "Document": _object(
            {
                "label": _optional(string),
                "probability": _optional(share),
                **score,
                "sentences": _list(_ref("Sentence")),
            },
            {"probabilities": shares, **notes},
        ),
        "LabelAnswer": _answer("Document"),
        "ParsedSentence": _object({"text": string, **place, **tokens, "parse": string}),
        "ParsedText": _object({"sentences": _list(_ref("ParsedSentence"))}, notes),
        "ParseAnswer": _answer("ParsedText"),
        "Models": _object({"version": string, "models": _list(_ref("Model")), "limits": _limits()}),
        "Model": _object(
            {"name": string, "description": string, "default": {"type": "boolean"}, "labels": _list(string)}
        ),
        "Problem": _object(
            {"type": string, "title": string, "status": integer, "detail": string, "request_id": string},
            {"remedy": string, "text": {**integer, "description": "The number of the text, from 0."}},
        ),
    }


def _limits() -> Schema:
    schema = settings_schema(Limits)
    more = {
        "texts": {"type": "integer"},
        "body_bytes": {"type": "integer"},
        "request_seconds": {"type": "number"},
    }
    return _object({**schema["properties"], **more})


def _answer(kind: str) -> Schema:
    """One document for one text, and a list for several."""
    return _object({"model": {"type": "string"}}, {"document": _ref(kind), "documents": _list(_ref(kind))})


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _optional(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}
