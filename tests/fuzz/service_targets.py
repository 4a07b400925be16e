"""The service as a target: damaged requests, given to the application directly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from lexitree.limits import Check
from lexitree.models.label_model import AskedNodes
from lexitree.pending import Pending, done
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.labelled_batch import LabelledBatch
from lexitree.server.app import create_app
from lexitree.server.service_settings import ServiceSettings
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.flat_trees import FlatTrees
from tests.fuzz.driver import target
from tests.fuzz.mutations import Case
from tests.fuzz.service_requests import Request, check_answer, mutate_request, request_of, seed_requests
from tests.pipeline.stubs import NAMES, RightBranching
from tests.server.asgi import running
from tests.server.raw_asgi import Application, call
from tests.tiny import tiny_model

ABORTED = 0.03
"""The share of requests whose clients go away."""
SETTINGS = (
    ServiceSettings(wait_ms=0),
    ServiceSettings(wait_ms=0, token="a", cors=("http://a",), max_body=300, max_texts=2),
    ServiceSettings(wait_ms=0, queue_nodes=60, batch_nodes=30, hosts=("*",), cors=("*",), log_texts=True),
)
"""By default; with a token and tight limits; and with a queue that is full at once."""


def guessing_pipeline() -> TextPipeline:
    return TextPipeline(Guesser(tiny_model(label_names=NAMES)), RightBranching())


class Guesser(Predictor):
    """Labels trees without looking at them, in no time: what is tested is all around the model."""

    def start_flat(
        self, parses: FlatParses, trees: FlatTrees, words: Sequence[str], *, nodes: AskedNodes, check: Check
    ) -> Pending[LabelledBatch]:
        check()
        labels = self.model.config.label_set
        num_rows = trees.num_trees if nodes == "root" else len(trees.starts)
        rows = np.full((num_rows, len(labels)), 1 / len(labels), dtype=np.float32)
        heads = trees.starts - np.repeat(trees.first_word[:-1], trees.sizes)
        weights = np.full(len(heads), 0.5, dtype=np.float32)
        return done(LabelledBatch(labels, parses, trees, rows, heads, weights, lambda _: FirstWord()))


class FirstWord:
    """Weighs the words of any phrase without looking at them."""

    def word_weights(self, node: int) -> tuple[float, ...]:
        return (1.0,)


@cache
def running_apps() -> tuple[asyncio.Runner, tuple[Application, ...]]:
    """Applications with a stub for the model, and the loop in which they run to the end of the process."""
    runner = asyncio.Runner()
    apps = [create_app(settings, {"sentiment": guessing_pipeline()}) for settings in SETTINGS]

    async def start() -> None:
        for app in apps:
            await running(app).__aenter__()

    runner.run(start())
    return runner, tuple(apps)


async def send(app: Application, request: Request, rng: Random) -> int | None:
    """Send a request in parts, perhaps not all of it, and check the answer; its status, None if there is none."""
    body, places = (
        request.body,
        sorted(rng.randrange(len(request.body) + 1) for _ in range(rng.choice((0, 0, 1, 3)))),
    )
    parts = [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]
    disconnects = rng.random() < ABORTED
    if disconnects:
        parts = parts[: rng.randrange(len(parts) + 1)]
    headers = [*request.headers]
    if rng.random() < 0.8:
        headers.append((b"content-length", b"%d" % len(body)))
    for name, value, share in ((b"host", b"127.0.0.1", 0.95), (b"authorization", b"Bearer a", 0.8)):
        if not any(name == each for each, _ in headers) and rng.random() < share:
            headers.append((name, value))
    answer = await call(app, request.method, request.target, headers, parts, disconnects=disconnects)
    if answer is None:
        return None
    if not disconnects:
        check_answer(request, answer.status, answer.headers, answer.body)
    return answer.status


@target("service", seed_requests, 40, mutate=mutate_request)
def check_service(case: Case, folder: Path) -> None:
    runner, apps = running_apps()
    request = request_of(case)
    rng = Random(request.raw())
    runner.run(send(rng.choice(apps), request, rng))
