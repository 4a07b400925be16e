"""The answers of a service with two shipped models are those of the library, on each device that there is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import lexitree
from lexitree.corpora.named import load_corpus
from lexitree.parsers.text_parser import TextParser
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.server.document_values import document_values, parse_values
from lexitree.text import detokenize
from tests.server.raw_http import ConnectionPool, request_bytes
from tests.server.service_process import HOST, ServiceProcess

pytestmark = pytest.mark.slow
MODELS = ("sentiment", "questions")
INCLUDE = ("probabilities", "phrases", "heads", "offsets", "trees", "head_weights")
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")),
]


class Sides(NamedTuple):
    """The same models in a service and in this process."""

    service: ServiceProcess
    pipes: Mapping[str, TextPipeline]


@pytest.fixture(scope="module", params=DEVICES)
def sides(request: pytest.FixtureRequest) -> Iterator[Sides]:
    device: str = request.param
    with ServiceProcess(models=",".join(MODELS), device=device) as service:
        yield Sides(service, {name: lexitree.load(name, device=device) for name in MODELS})


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Texts of one sentence or several, and some that are hardly texts."""
    corpora = [load_corpus(name).dev for name in ("mini-reviews", "mini-questions")]
    sentences = [detokenize(tree.words) for trees in corpora for tree in trees][::2]
    joined = [" ".join(sentences[start : start + 3]) for start in range(0, len(sentences), 7)]
    return [*sentences, *joined, "", "  \n", "🎬 a\u0301 (!) https://a.example", "not " * 60]


def ask(service: ServiceProcess, bodies: Sequence[dict[str, Any]], path: str = "/v1/label") -> list[Any]:
    """The answers to requests that are all sent at once."""

    async def send() -> list[Any]:
        async with ConnectionPool(HOST, service.port) as pool:
            answers = await asyncio.gather(*(pool.ask(request_bytes(path, body)) for body in bodies))
        assert [answer.status for answer in answers] == [200] * len(bodies)
        return [answer.json() for answer in answers]

    return asyncio.run(send())


def parts(values: Any) -> tuple[list[Any], list[float]]:
    """All that is exact, and all numbers that depend on what else was labelled at the same time."""
    exact, numbers, waiting = list[Any](), list[float](), [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            exact += value
            waiting += value.values()
        elif isinstance(value, list):
            exact.append(len(value))
            waiting += value
        elif isinstance(value, float):
            numbers.append(value)
        else:
            exact.append(value)
    return exact, numbers


@pytest.mark.parametrize("model", MODELS)
def test_the_same_batch_is_the_same_bit_for_bit(sides: Sides, texts: list[str], model: str) -> None:
    some = texts[:16]
    [found] = ask(sides.service, [{"texts": some, "model": model, "include": INCLUDE}])
    expected = [document_values(each, INCLUDE) for each in sides.pipes[model].stream(some)]
    assert found == {"model": model, "documents": expected}


def test_many_requests_to_both_models_at_once(sides: Sides, texts: list[str]) -> None:
    bodies = [{"text": text, "model": model, "include": INCLUDE} for text in texts for model in MODELS]
    answers = ask(sides.service, bodies)
    for model in MODELS:
        found = [answer["document"] for answer in answers if answer["model"] == model]
        expected = [document_values(each, INCLUDE) for each in sides.pipes[model].stream(texts)]
        (ours, our_numbers), (theirs, their_numbers) = parts(found), parts(expected)
        # Labels, head words, trees and offsets; and all probabilities and weights.
        assert ours == theirs
        np.testing.assert_allclose(our_numbers, their_numbers, rtol=0, atol=1e-5)


def test_parses(sides: Sides, texts: list[str]) -> None:
    [found] = ask(sides.service, [{"texts": texts}], "/v1/parse")
    parser = TextParser(sides.pipes[MODELS[0]].parser)
    assert found["documents"] == [parse_values(each) for each in parser.stream(texts)]
