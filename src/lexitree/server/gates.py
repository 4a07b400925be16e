"""What every request passes on its way in and out: host, token, request id, security headers, log and metrics."""

from __future__ import annotations

import hmac
import logging
import random
import re
import time
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lexitree.server.http_answers import RequestRecord, problem_answer, set_record
from lexitree.server.labelling_service import LabellingService
from lexitree.server.problems import CLIENT_GONE, ProblemError, internal_error

log = logging.getLogger("lexitree.server")

REQUEST_ID = "x-request-id"
_GOOD_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONGEST_PATH = 200
_new_ids = random.Random()
"""Asking the system for each id would let the thread of the models go first, for milliseconds."""

_SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
"""Headers of every answer that does not set its own."""


class RequestLog:
    """Gives each request its id, its security headers, a line of the log and its place in the metrics.

    It is the outermost gate, so an error that nobody expected ends here: it is logged, and answered with status 500.

    Args:
        app: What handles the request.
        service: The service, for its metrics and settings.
        routes: The paths of the application, as they are shown in the metrics.
    """

    def __init__(self, app: ASGIApp, service: LabellingService, routes: frozenset[str]) -> None:
        self._app = app
        self._service = service
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        record = RequestRecord(_request_id(Headers(scope=scope).get(REQUEST_ID, "")))
        set_record(scope, record)
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = record.request_id
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            log.exception("a request has failed", extra={"request_id": record.request_id})
            if not status:
                await problem_answer(scope, internal_error())(scope, receive, send_with_headers)
        finally:
            self._note(scope, record, status, time.perf_counter() - began)

    def _note(self, scope: Scope, record: RequestRecord, status: int, seconds: float) -> None:
        path: str = scope["path"]
        status = status or CLIENT_GONE
        self._service.metrics.request_done(self._route(path), status, seconds)
        if log.isEnabledFor(logging.INFO):
            values = {
                "request_id": record.request_id,
                "method": scope["method"],
                "path": path[:_LONGEST_PATH],
                "status": status,
                "ms": round(seconds * 1000, 2),
                "texts": record.num_texts,
                "nodes": record.num_nodes,
                **({"text": record.texts} if record.texts else {}),
            }
            log.info("request", extra=values)

    def _route(self, path: str) -> str:
        """The route of a path; the metrics must not grow with whatever is asked for."""
        if path in self._routes:
            return path
        return "/assets" if path.startswith("/assets/") else "other"


class Guard:
    """Refuses requests for other hosts, and requests without the token.

    Probes, the page and the description of the interface need no token.
    """

    def __init__(self, app: ASGIApp, service: LabellingService) -> None:
        self._app = app
        self._hosts = service.settings.allowed_hosts
        token = service.settings.token
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._find_problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
        else:
            await problem_answer(scope, problem)(scope, receive, send)

    def _find_problem(self, scope: Scope) -> ProblemError | None:
        headers = Headers(scope=scope)
        if self._hosts is not None and _host_name(headers.get("host", "")) not in self._hosts:
            return ProblemError(
                HTTPStatus.MISDIRECTED_REQUEST,
                "the service is not called by this host name",
                remedy="Whoever runs the service can allow it with the setting hosts.",
            )
        if self._token is not None and _needs_token(scope["path"]):
            scheme, _, given = headers.get("authorization", "").partition(" ")
            # Compared in constant time, so that the time tells nothing about the token.
            is_right = hmac.compare_digest(given.strip().encode(), self._token)
            if scheme.lower() != "bearer" or not is_right:
                return ProblemError(
                    HTTPStatus.UNAUTHORIZED,
                    "the request has no valid bearer token",
                    remedy="Send the header Authorization: Bearer TOKEN.",
                    headers={"www-authenticate": "Bearer"},
                )
        return None


def _needs_token(path: str) -> bool:
    return path.startswith("/v1/") or path == "/metrics"


def _host_name(host: str) -> str:
    """The name in a Host header, without its port: `[::1]:8000` is `::1`."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if ":" in name else name


def _request_id(given: str) -> str:
    """The id that came with the request, if it is harmless, or a new one."""
    return given if _GOOD_ID.fullmatch(given) else f"{_new_ids.getrandbits(64):016x}"
