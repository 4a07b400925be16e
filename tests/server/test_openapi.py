"""The OpenAPI document: valid, true to the classes that check requests, and to what the service answers."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from lexitree.server.openapi import openapi_document
from lexitree.server.request_bodies import ExplainRequest, LabelRequest, ParseRequest
from lexitree.server.schemas import Schema
from tests.server.asgi import Exchange, make_app, make_settings, running

DOCUMENT = openapi_document(make_settings(token="secret", max_texts=7), ["tiny"])
SCHEMAS = DOCUMENT["components"]["schemas"]
INCLUDED = [["probabilities", "phrases", "heads", "offsets", "trees", "head_weights"], []]


def inner_schemas(schema: Any) -> list[Any]:
    """A schema and all in it."""
    found, waiting = [], [schema]
    while waiting:
        each = waiting.pop()
        found.append(each)
        waiting += list(each.values()) if isinstance(each, dict) else each if isinstance(each, list) else []
    return found


def unknown_keys(schema: Schema, value: Any) -> list[str]:
    """What a value has, or lacks, against its schema."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    if isinstance(value, list):
        return [key for item in value for key in unknown_keys(schema["items"], item)]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    wrong = [key for key in schema["required"] if key not in value]
    for key, item in value.items():
        wrong += unknown_keys(schema["properties"][key], item) if key in schema["properties"] else [key]
    return wrong


def test_every_reference_is_there() -> None:
    references = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(DOCUMENT))
    assert set(references) <= set(SCHEMAS)
    assert len(set(references)) > 10


def test_it_is_what_the_routes_are() -> None:
    app = make_app()
    paths = {route.path: route.methods - {"HEAD"} for route in app.routes}
    assert {path: {method.upper() for method in methods} for path, methods in DOCUMENT["paths"].items()} == {
        path: methods for path, methods in paths.items() if path not in ("/", "/assets/{name}")
    }


def test_it_follows_the_settings() -> None:
    label = SCHEMAS["LabelRequest"]["properties"]
    assert list(label) == list(LabelRequest.declared())
    assert label["texts"]["maxItems"] == 7
    assert label["model"]["anyOf"][0]["enum"] == ["tiny"]
    assert label["include"]["items"]["enum"] == INCLUDED[0]
    assert SCHEMAS["ExplainRequest"]["required"] == ["text"]
    assert DOCUMENT["security"] == [{"token": []}]
    is_open = {path for path, each in DOCUMENT["paths"].items() if each.get("get", {}).get("security") == []}
    assert is_open == {"/live", "/ready", "/openapi.json"}


def test_its_examples_are_good_requests() -> None:
    bodies = {"/v1/label": LabelRequest, "/v1/parse": ParseRequest, "/v1/explain": ExplainRequest}
    for path, kind in bodies.items():
        content = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        assert kind.from_dict(content["example"])
        answers = DOCUMENT["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]
        assert unknown_keys(answers["schema"], answers.get("example", {})) == []


def test_answers_are_as_described() -> None:
    async def run() -> None:
        app = make_app()
        async with running(app):
            for include in INCLUDED:
                body = {"texts": ["The film is good . It is .", ""], "include": include}
                found = (await Exchange(app).send_json(body).done()).values
                assert unknown_keys(SCHEMAS["LabelAnswer"], found) == []
            found = (await Exchange(app, "/v1/parse").send_json({"text": "good"}).done()).values
            assert unknown_keys(SCHEMAS["ParseAnswer"], found) == []
            found = (await Exchange(app).send_json({}).done()).values
            assert unknown_keys(SCHEMAS["Problem"], found) == []
            models = Exchange(app, "/v1/models", method="GET").send(b"")
            assert unknown_keys(SCHEMAS["Models"], (await models.done()).values) == []
            described = Exchange(app, "/openapi.json", method="GET").send(b"")
            assert (await described.done()).values["openapi"] == "3.1.0"

    asyncio.run(run())


@pytest.mark.slow
def test_it_is_valid() -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="needs the extra integrations")
    jsonschema = pytest.importorskip("jsonschema", reason="comes with schemathesis")
    schemathesis.openapi.from_dict(DOCUMENT).validate()
    for schema in SCHEMAS.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(SCHEMAS["LabelRequest"])
    for body in ({"text": "a"}, {"texts": ["a"]}, {"text": "a", "texts": None}):
        assert validator.is_valid(body)
        assert LabelRequest.from_dict(body)
    for body in ({}, {"text": "a", "texts": []}, {"text": None}, {"text": "a", "x": 1}):
        assert not validator.is_valid(body)
