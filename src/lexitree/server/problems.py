"""Errors of requests, each with its HTTP status, as RFC 9457 describes them (`application/problem+json`)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from lexitree.errors import ConfigError, LexitreeError, LimitError, TextError, find_memory_error

CLIENT_GONE = 499
"""The client closed the connection: nobody reads this status, but logs and metrics show it."""
_NO_HEADERS: Mapping[str, str] = {}


class ProblemError(LexitreeError):
    """An answer other than the one that was asked for.

    Args:
        status: The HTTP status.
        detail: What is wrong.
        remedy: What to do about it.
        text: The number of the text that is wrong, from 0.
        headers: Headers of the answer.
        shed: Why the service did not do the work, for its metrics; empty if the request is to blame.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        remedy: str = "",
        text: int | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        shed: str = "",
    ) -> None:
        super().__init__(detail, remedy=remedy)
        self.status = status
        self.text = text
        self.headers = dict(headers)
        self.shed = shed

    def as_dict(self, request_id: str) -> dict[str, Any]:
        """The problem as plain values for JSON."""
        return {
            "type": "about:blank",
            "title": title_of(self.status),
            "status": self.status,
            "detail": self.message,
            **({"remedy": self.remedy} if self.remedy else {}),
            **({} if self.text is None else {"text": self.text}),
            "request_id": request_id,
        }


def title_of(status: int) -> str:
    """What a status means, in the words of its standard."""
    return "Client Closed Request" if status == CLIENT_GONE else HTTPStatus(status).phrase


def queue_full(seconds: int) -> ProblemError:
    """The queue has no room for a request now."""
    return ProblemError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "the service has more work than it can take",
        remedy=f"Try again in {seconds} seconds.",
        headers={"retry-after": str(seconds)},
        shed="queue full",
    )


def unavailable(detail: str, reason: str, seconds: int = 1) -> ProblemError:
    """The service takes no work: not yet, or not any more."""
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        detail,
        remedy="Try again, or ask another instance.",
        headers={"retry-after": str(seconds)},
        shed=reason,
    )


def too_slow(seconds: float) -> ProblemError:
    """The answer was not ready in time."""
    return ProblemError(
        HTTPStatus.GATEWAY_TIMEOUT,
        f"the answer took longer than {seconds:g} seconds",
        remedy="Send fewer or shorter texts, or try again later.",
        shed="too slow",
    )


def client_gone() -> ProblemError:
    """Nobody waits for the answer any more."""
    return ProblemError(CLIENT_GONE, "the client closed the connection", shed="client gone")


def problem_of(error: Exception) -> ProblemError | None:
    """The problem that an error is for whoever sent the request; None for an error in the service itself."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, LimitError):
        # The error's own remedy is for those who can raise the limit.
        return ProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            error.message,
            remedy="Divide the text; GET /v1/models tells the limits.",
            text=error.number,
        )
    if isinstance(error, TextError):
        return ProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY, error.message, remedy=error.remedy, text=error.number
        )
    if isinstance(error, ConfigError):
        return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, error.message, remedy=error.remedy)
    if find_memory_error(error) is not None:
        return unavailable("the service has not enough memory for this request", "no memory", seconds=5)
    return None


def internal_error() -> ProblemError:
    """An error in the service, whose log tells more."""
    return ProblemError(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "an error in the service",
        remedy="Its log has the details, under this request_id.",
    )
