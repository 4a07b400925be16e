"""The service as a target: damaged requests, given to the application directly."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from lexitree.limits import Check, no_check
from lexitree.models.label_model import AskedNodes
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.results.labelled_tree import LabelledTree
from lexitree.server.app import create_app
from lexitree.server.service_settings import ServiceSettings
from lexitree.trees.tree import Tree
from tests.fuzz.driver import target
from tests.fuzz.mutations import Case
from tests.fuzz.service_requests import Request, check_answer, mutate_request, request_of, seed_requests
from tests.pipeline.stubs import NAMES, RightBranching
from tests.server.asgi import running
from tests.server.raw_asgi import Application, call
from tests.tiny import tiny_model
from tests.views.labelled import labelled

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

    def predict_binary(
        self, trees: Iterable[Tree], check: Check = no_check, *, nodes: AskedNodes = "all"
    ) -> Iterator[LabelledTree]:
        labels = self.model.config.label_set
        for tree in trees:
            check()
            rows = np.full((tree.num_nodes, len(labels)), 1 / len(labels))
            heads, weights = tree.starts.tolist(), [0.5] * tree.num_nodes
            yield labelled(tree, labels, rows, heads, weights, lambda _: [1.0])


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
