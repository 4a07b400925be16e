"""A client for a running `lexitree serve`; it needs nothing but Python's standard library."""

from __future__ import annotations

import json
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import count
from typing import Any, Literal, NamedTuple, Self, TypeVar, cast, overload
from urllib.parse import urlencode, urlsplit

from lexitree.errors import ConfigError, OnTextError, ServiceError

DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT_SECONDS = 60.0
RETRIES = 5
BATCH_TEXTS = 64
"""How many texts of a stream are sent together ..."""
BATCH_CHARACTERS = 16_384
"""... unless they are long. This many fit into the buffers of a connection, so sending never waits for reading."""

_RETRIED = frozenset({0, 429, 503})
"""The service is not there, full or going down: the same request can succeed later, perhaps at another worker."""
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 30.0

Answer = dict[str, Any]
"""What the service answers, as it is described by its `/openapi.json`."""


Texts = list[str] | tuple[str, ...]
Item = TypeVar("Item")
Result = TypeVar("Result")


class _Response(NamedTuple):
    status: int
    retry_after: str
    content: bytes


class Client:
    """Labels texts with a running `lexitree serve`.

        with lexitree.Client("http://localhost:8000") as client:
            print(client.label("Not a bad film.")["label"])
            for document in client.stream(open("reviews.txt")):
                print(document["label"], document["probability"])

    Connections are kept open and reused. A client can be used by several threads. When the service is full, restarts
    or loses a worker, requests are sent again: labelling a text twice does no harm.

    Args:
        url: The address of the service.
        token: The bearer token, if the service wants one.
        timeout: Seconds to wait for an answer.
        retries: How often a request is sent again that the service could not take. It says how long to wait, or the
            pauses grow from a tenth of a second.

    Raises:
        ConfigError: The address is not one of HTTP.
    """

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

    @overload
    def label(
        self,
        text: str,
        *,
        model: str | None = None,
        include: Iterable[str] = (),
        one_sentence: bool = False,
    ) -> Answer: ...

    @overload
    def label(
        self,
        text: Texts,
        *,
        model: str | None = None,
        include: Iterable[str] = (),
        one_sentence: bool = False,
    ) -> list[Answer]: ...

    def label(
        self,
        text: str | Texts,
        *,
        model: str | None = None,
        include: Iterable[str] = (),
        one_sentence: bool = False,
    ) -> Answer | list[Answer]:
        """Label one text, or several together.

        Args:
            text: A text, or a list of texts; for many, use `stream`.
            model: The model, by its name in `models()`; by default the first.
            include: What to add to labels and probabilities: "probabilities", "phrases", "heads", "offsets", "trees"
                and "head_weights".
            one_sentence: Take each text as a single sentence.

        Returns:
            The document, or the list of documents: `label`, `probability`, `sentences` and what is included.

        Raises:
            ServiceError: The service refuses the request, or cannot be reached.
        """
        options = {"include": list(include)} if include else {}
        answer = self._post("/v1/label", text, model=model, one_sentence=one_sentence or None, **options)
        return answer["document"] if isinstance(text, str) else answer["documents"]

    def stream(
        self,
        texts: Iterable[str],
        *,
        model: str | None = None,
        include: Iterable[str] = (),
        on_error: OnTextError = "raise",
        parallel: int = 2,
    ) -> Iterator[Answer | ServiceError]:
        """Label any number of texts, in their order; only a few batches are in memory at a time.

        Args:
            texts: The texts.
            model: The model; by default the first.
            include: As for `label`.
            on_error: On a text that the service refuses: raise the error, skip the text, or give the error in its
                place.
            parallel: Requests under way at a time. Each has a connection of its own, so that several workers of the
                service can share them.

        Yields:
            The document of each text; with `on_error="return"`, the error of a refused one.

        Raises:
            ServiceError: The service refuses a text, or cannot be reached.
        """
        chosen = {"model": model, "include": ",".join(include)}
        query = urlencode({name: value for name, value in chosen.items() if value})
        path = f"/v1/label/stream?{query}" if query else "/v1/label/stream"
        number = 0
        for answers in _in_order(lambda batch: self._label_lines(path, batch), _batches(texts), parallel):
            for answer in answers:
                result = answer if "error" not in answer else _error_of(answer["error"], number)
                if not isinstance(result, ServiceError) or on_error == "return":
                    yield result
                elif on_error == "raise":
                    raise result
                number += 1

    @overload
    def parse(self, text: str) -> Answer: ...

    @overload
    def parse(self, text: Texts) -> list[Answer]: ...

    def parse(self, text: str | Texts) -> Answer | list[Answer]:
        """Parse one text, or several: brackets, and tokens with their offsets."""
        answer = self._post("/v1/parse", text)
        return answer["document"] if isinstance(text, str) else answer["documents"]

    @overload
    def explain(
        self,
        text: str,
        *,
        format: Literal["json"] = "json",
        model: str | None = None,
        one_sentence: bool = False,
    ) -> Answer: ...

    @overload
    def explain(
        self,
        text: str,
        *,
        format: Literal["html", "svg"],
        model: str | None = None,
        one_sentence: bool = False,
    ) -> str: ...

    def explain(
        self,
        text: str,
        *,
        format: Literal["json", "html", "svg"] = "json",  # noqa: A002  # the service's own name
        model: str | None = None,
        one_sentence: bool = False,
    ) -> Answer | str:
        """Explain how the model arrived at a label: as data, as a page (html) or as a picture (svg)."""
        body = _body(text, model=model, format=format, one_sentence=one_sentence or None)
        if format == "json":
            return self._request("POST", "/v1/explain", body, read=_read_object)
        return self._request("POST", "/v1/explain", body, read=_read_text)

    def models(self) -> list[Answer]:
        """The models of the service, the default one first."""
        return self._request("GET", "/v1/models", read=_read_object)["models"]

    def ready(self) -> bool:
        """Whether the service takes requests at this moment; false also where no service answers."""
        try:
            return self._exchange("GET", "/ready", None).status == 200
        except (OSError, HTTPException):
            return False

    def _post(self, path: str, text: str | Texts, **options: object) -> Answer:
        return self._request("POST", path, _body(text, **options), read=_read_object)

    def _label_lines(self, path: str, texts: Sequence[str]) -> list[Answer]:
        """Label a batch of texts; one answer per text, each a document or an error."""
        body = "".join(f"{json.dumps(text)}\n" for text in texts).encode()

        def read(content: bytes) -> list[Answer]:
            answers = [_read_object(line) for line in content.splitlines()]
            for answer in answers:
                # The service can fill up while it answers: then it refuses single lines.
                if "error" in answer and (refusal := _error_of(answer["error"])).status in _RETRIED:
                    raise refusal
            if len(answers) != len(texts):
                raise ServiceError(f"{len(answers)} of {len(texts)} texts were answered")
            return answers

        return self._request("POST", path, body, "application/x-ndjson", read=read)

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
            if attempt >= self.retries or failure.status not in _RETRIED:
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


def _read_object(content: bytes) -> Answer:
    """An answer, or a line of one."""
    try:
        answer: object = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ServiceError(
            f"the answer is not what a lexitree service sends: {content[:80]!r}",
            remedy="Is this the address of a lexitree service?",
            status=502,
        )
    return cast(Answer, answer)


def _read_text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _body(text: str | Texts, **options: object) -> bytes:
    texts = {"text": text} if isinstance(text, str) else {"texts": list(text)}
    return json.dumps(texts | {name: value for name, value in options.items() if value is not None}).encode()


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in groups that are small in number and in characters; a long text is alone."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == BATCH_TEXTS or size + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _in_order(function: Callable[[Item], Result], items: Iterable[Item], parallel: int) -> Iterator[Result]:
    """The function's results in the order of the items, of which a few are under way at a time."""
    under_way: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(parallel, thread_name_prefix="lexitree-client") as pool:
        try:
            for item in items:
                under_way.append(pool.submit(function, item))
                if len(under_way) > parallel:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()


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
        return _error_of(cast(Answer, problem))
    return ServiceError(f"{url} answered with status {response.status}", status=response.status)


def _error_of(problem: Answer, number: int | None = None) -> ServiceError:
    where = "" if number is None else f"text {number}: "
    return ServiceError(
        f"{where}{problem.get('detail') or problem.get('title') or 'the service gives no reason'}",
        remedy=str(problem.get("remedy") or ""),
        status=int(problem.get("status") or 0),
        request_id=str(problem.get("request_id") or ""),
    )
