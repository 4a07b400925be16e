"""A client for a running `lexitree serve`: its requests and their answers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPException
from typing import Literal, TypeVar, cast, overload
from urllib.parse import urlencode

from lexitree.errors import OnTextError, ServiceError
from lexitree.server.retrying_client import RETRIED, Answer, RetryingClient, service_error

BATCH_TEXTS = 64
"""How many texts of a stream are sent together ..."""
BATCH_CHARACTERS = 16_384
"""... unless they are long. This many fit into the buffers of a connection, so sending never waits for reading."""

Texts = list[str] | tuple[str, ...]
Item = TypeVar("Item")
Result = TypeVar("Result")


class Client(RetryingClient):
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
                result = answer if "error" not in answer else service_error(answer["error"], number)
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
                if "error" in answer and (refusal := service_error(answer["error"])).status in RETRIED:
                    raise refusal
            if len(answers) != len(texts):
                raise ServiceError(f"{len(answers)} of {len(texts)} texts were answered")
            return answers

        return self._request("POST", path, body, "application/x-ndjson", read=read)


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
