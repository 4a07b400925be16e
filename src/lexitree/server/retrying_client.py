"""Sends requests to a service and, if it cannot take them, sends them again; needs only the standard library."""

from __future__ import annotations

import json
import random
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import count
from typing import Any, NamedTuple, Self, TypeVar, cast
from urllib.parse import urlsplit

from lexitree.errors import ConfigError, ServiceError

DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT_SECONDS = 60.0
RETRIES = 5

RETRIED = frozenset({0, 429, 503})
"""The service is not there, full or going down: the same request can succeed later, perhaps at another worker."""
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 30.0

Answer = dict[str, Any]
"""What the service answers, as it is described by its `/openapi.json`."""

Result = TypeVar("Result")


class _Response(NamedTuple):
    status: int
    retry_after: str
    content: bytes


class RetryingClient:
    """Keeps connections to a service open and reuses them; see `Client`."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{url!r:.200} is not the address of a service such as {DEFAULT_URL}")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.retries = retries
        self._connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: deque[HTTPConnection] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    def _request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        *,
        read: Callable[[bytes], Result],
    ) -> Result:
        """Send a request and read its answer; send it again if the service cannot take it now."""
        for attempt in count():
            retry_after = ""
            try:
                response = self._exchange(method, path, body, content_type)
                retry_after = response.retry_after
                if response.status >= 400:
                    raise _refusal(response, self.url)
                return read(response.content)
            except (OSError, HTTPException) as error:
                failure = self._unreachable(error)
            except ServiceError as error:
                failure = error
            if attempt >= self.retries or failure.status not in RETRIED:
                raise failure
            time.sleep(_pause(attempt, retry_after))
        raise AssertionError("the last attempt returns or raises")

    def _unreachable(self, error: OSError | HTTPException) -> ServiceError:
        if isinstance(error, TimeoutError):
            return ServiceError(
                f"{self.url} did not answer within {self.timeout:g} seconds",
                remedy="Wait longer with Client(timeout=SECONDS), or send fewer texts together.",
                status=504,
            )
        return ServiceError(
            f"{self.url} cannot be reached ({error or type(error).__name__})",
            remedy="Is this the address of a running service? Start one with: lexitree serve",
        )

    def _exchange(
        self, method: str, path: str, body: bytes | None, content_type: str = "application/json"
    ) -> _Response:
        """One request and its answer, on a connection that is open already or on a new one."""
        headers = self._headers | ({} if body is None else {"Content-Type": content_type})
        while self._idle:
            try:
                return self._exchange_on(self._idle.pop(), method, path, body, headers)
            except (ConnectionError, HTTPException):
                continue  # The service closes idle connections, and says so only when one is used again.
            except IndexError:
                break  # Another thread took the last one.
        connection = self._connect(self._host, self._port, timeout=self.timeout)
        return self._exchange_on(connection, method, path, body, headers)

    def _exchange_on(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> _Response:
        try:
            # It may have answered before it has read everything, as it does if that is too much.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, self._prefix + path, body, headers)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return _Response(response.status, response.getheader("Retry-After", ""), content)


def _pause(attempt: int, retry_after: str) -> float:
    """Seconds until the next attempt, partly by chance, so that many clients do not all come back at once."""
    try:
        asked = float(retry_after)
    except ValueError:  # There is none, or it is a date.
        return random.uniform(0.5, 1.0) * min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS)
    return random.uniform(1.0, 1.5) * min(max(asked, 0.0), _LONGEST_PAUSE_SECONDS)


def _refusal(response: _Response, url: str) -> ServiceError:
    """The error of an answer: what the service says, or, if it is another program's, its status."""
    try:
        problem: object = json.loads(response.content)
    except (ValueError, RecursionError):
        problem = None
    if isinstance(problem, dict) and "detail" in problem:
        return service_error(cast(Answer, problem))
    return ServiceError(f"{url} answered with status {response.status}", status=response.status)


def service_error(problem: Answer, number: int | None = None) -> ServiceError:
    """The error that the service describes; of a stream, with the number of the text."""
    where = "" if number is None else f"text {number}: "
    return ServiceError(
        f"{where}{problem.get('detail') or problem.get('title') or 'the service gives no reason'}",
        remedy=str(problem.get("remedy") or ""),
        status=int(problem.get("status") or 0),
        request_id=str(problem.get("request_id") or ""),
    )
