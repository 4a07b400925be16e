"""The service gives the library's answers on each device, with two models at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch

import lexitree
from lexitree.corpora.named import load_corpus
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.document import Document

pytest.importorskip("starlette", reason="the service needs the extra serve")

from lexitree.server.app import create_app
from tests.server.asgi import Exchange, make_settings, running

DEVICES = (
    pytest.param("cpu", marks=pytest.mark.slow),
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    ),
)
MODELS = ("sentiment", "questions")
EVERYTHING = ["probabilities", "phrases", "heads", "offsets", "trees"]


@pytest.fixture(scope="module", params=DEVICES)
def pipes(request: pytest.FixtureRequest) -> dict[str, TextPipeline]:
    """The shipped models with the shipped parser."""
    return {name: lexitree.load(name, device=request.param) for name in MODELS}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [" ".join(tree.words) for tree in load_corpus("mini-reviews").splits["test"][:32]]


async def ask(pipes: Mapping[str, TextPipeline], bodies: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The answers to requests that are sent all at once."""
    app = create_app(make_settings(models=MODELS), pipes)
    async with running(app):
        sent = [Exchange(app).send_json({"include": EVERYTHING, **body}) for body in bodies]
        done = [await each.done() for each in sent]
    assert {each.status for each in done} == {200}
    return [each.values for each in done]


@pytest.mark.parametrize("model", MODELS)
def test_the_same_batch_gives_the_same_bits(
    pipes: dict[str, TextPipeline], texts: list[str], model: str
) -> None:
    (answer,) = asyncio.run(ask(pipes, [{"texts": texts, "model": model}]))
    expected = [without_text(document) for document in pipes[model].stream(texts)]
    compare(answer["documents"], expected, within=0.0)


def test_two_models_at_once_answer_as_the_library(pipes: dict[str, TextPipeline], texts: list[str]) -> None:
    bodies = [{"text": text, "model": model} for text in texts for model in MODELS]
    for body, answer in zip(bodies, asyncio.run(ask(pipes, bodies)), strict=True):
        assert answer["model"] == body["model"]
        compare(answer["document"], without_text(pipes[body["model"]](body["text"])))


def without_text(document: Document) -> dict[str, Any]:
    """The values of a document; the text itself is not sent back."""
    return {name: value for name, value in document.as_dict().items() if name != "text"}


def compare(given: Any, expected: Any, within: float = 1e-5) -> None:
    """The library's values are all there, and the same; numbers may differ by the order of additions."""
    waiting = [(given, expected)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(other, dict):
            assert one.keys() >= other.keys()
            waiting += [(one[name], other[name]) for name in other]
        elif isinstance(other, list):
            assert len(one) == len(other)
            waiting += zip(one, other, strict=True)
        elif isinstance(other, float):
            assert one == pytest.approx(other, abs=within, rel=0)
        else:
            assert one == other
