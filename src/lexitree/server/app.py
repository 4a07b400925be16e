"""The application: routes, gates and the life of the service behind them."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lexitree.errors import LexitreeError
from lexitree.pipeline.loading import load
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.server import endpoints
from lexitree.server.gates import REQUEST_ID, Guard, RequestLog
from lexitree.server.http_answers import problem_answer, record_of
from lexitree.server.labelling_service import LabellingService
from lexitree.server.problems import ProblemError, internal_error, problem_of, title_of
from lexitree.server.service_settings import ServiceSettings
from lexitree.server.web_files import PAGE, read_web_files, send_web_file

log = logging.getLogger("lexitree.server")


def create_app(settings: ServiceSettings, models: Mapping[str, TextPipeline] | None = None) -> Starlette:
    """Make the application that answers requests.

    Its `state.service` is the `LabellingService`, which can be told to drain.

    Args:
        settings: The settings.
        models: The pipelines by name, the default first; by default those of the settings are loaded.

    Raises:
        LexitreeError: A model cannot be loaded.
    """
    service = LabellingService(settings, open_models(settings) if models is None else models)
    routes = _routes()
    gates = [
        Middleware(RequestLog, service=service, routes=frozenset(route.path for route in routes)),
        *_cors(settings),
        Middleware(Guard, service=service),
    ]
    app = Starlette(
        routes=routes,
        middleware=gates,
        exception_handlers={HTTPException: _answer_http_error, LexitreeError: _answer_error},
        lifespan=_live,
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


def open_models(settings: ServiceSettings) -> dict[str, TextPipeline]:
    """Load the models of the settings.

    Raises:
        LexitreeError: One of them cannot be loaded, or does not read text.
    """
    return {
        name: load(
            source, reads="text", device=settings.device, limits=settings.limits, labels=settings.labels
        )
        for name, source in settings.sources.items()
    }


def _routes() -> list[Route]:
    web_files = read_web_files()

    async def page(request: Request) -> Response:
        return send_web_file(request, web_files, PAGE)

    async def asset(request: Request) -> Response:
        return send_web_file(request, web_files, request.path_params["name"])

    return [
        Route("/v1/label", endpoints.label, methods=["POST"]),
        Route("/v1/label/stream", endpoints.label_stream, methods=["POST"]),
        Route("/v1/parse", endpoints.parse, methods=["POST"]),
        Route("/v1/explain", endpoints.explain, methods=["POST"]),
        Route("/v1/models", endpoints.models),
        Route("/openapi.json", endpoints.openapi),
        Route("/live", endpoints.live),
        Route("/ready", endpoints.ready),
        Route("/metrics", endpoints.metrics),
        Route("/", page),
        Route("/assets/{name}", asset),
    ]


def _cors(settings: ServiceSettings) -> list[Middleware]:
    if not settings.cors:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=settings.cors,
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", REQUEST_ID],
            expose_headers=[REQUEST_ID, "retry-after"],
        )
    ]


@asynccontextmanager
async def _live(app: Starlette) -> AsyncGenerator[None]:
    service: LabellingService = app.state.service
    service.start()
    yield
    await service.stop()


async def _answer_error(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    if problem is None:
        log.error(
            "a request has failed", exc_info=error, extra={"request_id": record_of(request.scope).request_id}
        )
        problem = internal_error()
    if problem.shed:
        service: LabellingService = request.app.state.service
        service.metrics.shed(problem.shed)
    return problem_answer(request.scope, problem)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """An error of Starlette: no such path, or not this method."""
    assert isinstance(error, HTTPException)
    problem = ProblemError(
        error.status_code,
        title_of(error.status_code).lower(),
        remedy="GET /openapi.json describes the interface.",
        headers=error.headers or {},
    )
    return problem_answer(request.scope, problem)
