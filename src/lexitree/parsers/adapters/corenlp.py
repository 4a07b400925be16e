"""Adapter for a Stanford CoreNLP server."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import cast
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit, urlunsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from lexitree.errors import BracketError, ConfigError, ParserError
from lexitree.parsers.adapters.adapter import (
    BatchAdapter,
    BatchFailed,
    OnRefused,
    Sentence,
    Spelling,
    plain_spelling,
)
from lexitree.parsers.adapters.bracket_files import Answer
from lexitree.trees.tree import Tree

BATCH_SIZE = 50
TIMEOUT_SECONDS = 60.0
MAX_REQUEST_CHARACTERS = 50_000
"""Half of a server's default limit (`-maxCharLength`)."""

MAX_ANSWER_BYTES = 1 << 28
OWN_TIME_SECONDS = 5.0
"""We wait this much longer than the server's own time limit, so that the server reports it itself."""

_SHOWN_CHARACTERS = 200

_REQUEST_AT_FAULT = frozenset({400, 413, 500})
"""Status codes for a text that is too long or took too long. Others concern every text."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class CoreNLPParser(BatchAdapter):
    """Stanford CoreNLP over HTTP. The server splits words at spaces and sentences at line ends only."""

    def __init__(
        self,
        url: str = "http://localhost:9000",
        *,
        annotators: str = "tokenize,ssplit,pos,parse",
        timeout: float = TIMEOUT_SECONDS,
        batch_size: int = BATCH_SIZE,
        spelling: Spelling = plain_spelling,
        on_refused: OnRefused = "raise",
    ) -> None:
        """Set up the connection; nothing is sent yet.

        Args:
            url: Address of the server.
            annotators: CoreNLP's annotators.
            timeout: Seconds per batch.
            batch_size: Sentences per request.
            spelling: How words are written for the server.
            on_refused: On a sentence without a tree: raise an error, or use a flat tree.

        Raises:
            ConfigError: The address or the timeout is invalid.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{url!r} is not a server address such as http://localhost:9000")
        if timeout <= 0:
            raise ConfigError("timeout must be greater than 0")
        super().__init__(
            f"the CoreNLP server at {url}", batch_size=batch_size, spelling=spelling, on_refused=on_refused
        )
        self.timeout = timeout
        properties = {
            "annotators": annotators,
            "tokenize.whitespace": "true",
            "ssplit.eolonly": "true",
            "outputFormat": "json",
            "timeout": str(int(timeout * 1000)),
        }
        query = urlencode({"properties": json.dumps(properties)})
        self._address = urlunsplit((parts.scheme, parts.netloc, parts.path or "/", query, ""))
        self._opener = _make_opener(parts.hostname)

    def has_room(self, batch: list[Sentence], sentence: Sentence) -> bool:
        num_characters = sum(len(word) + 1 for one in (*batch, sentence) for word in one.spelled)
        return super().has_room(batch, sentence) and num_characters <= MAX_REQUEST_CHARACTERS

    def parse_batch(self, batch: list[Sentence]) -> list[Tree | None]:
        text = "\n".join(" ".join(sentence.spelled) for sentence in batch)
        parses = self._read_parses(self._post(text.encode()))
        return [self._read_tree(parse) for parse in parses]

    def _post(self, text: bytes) -> bytes:
        request = Request(
            self._address, data=text, headers={"Content-Type": "text/plain; charset=utf-8"}, method="POST"
        )
        try:
            with self._opener.open(request, timeout=self.timeout + OWN_TIME_SECONDS) as response:
                answer = cast(bytes, response.read(MAX_ANSWER_BYTES + 1))
        except HTTPError as error:
            raise self._http_failure(error) from error
        except TimeoutError as error:
            raise self._silence() from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, TimeoutError):
                raise self._silence() from error
            raise ParserError(
                f"{self.name} cannot be reached ({reason})",
                remedy="Start it in CoreNLP's folder: java -mx4g -cp '*' "
                "edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port 9000",
            ) from error
        if len(answer) > MAX_ANSWER_BYTES:
            raise ParserError(f"{self.name} returned more than {MAX_ANSWER_BYTES:,} bytes")
        return answer

    def _silence(self) -> ParserError:
        return ParserError(
            f"{self.name} did not answer within {self.timeout:g} seconds",
            remedy="Allow more time with timeout=SECONDS, or use smaller batches with batch_size=NUMBER.",
        )

    def _http_failure(self, error: HTTPError) -> Exception:
        with error:
            try:
                said = error.read(4 * _SHOWN_CHARACTERS).decode("utf-8", "replace").strip()
            except (OSError, HTTPException):
                said = ""
        problem = f"returned {error.code} {error.reason}" + (f": {said[:_SHOWN_CHARACTERS]}" if said else "")
        if error.code in _REQUEST_AT_FAULT:
            return BatchFailed(f"it {problem}")
        return ParserError(f"{self.name} {problem}", remedy="Is this the address of a CoreNLP server?")

    def _read_parses(self, answer: bytes) -> list[str]:
        try:
            # Some versions leave control characters in strings as they are.
            content: object = json.loads(answer.decode(), strict=False)
            sentences = cast(list[dict[str, object]], cast(dict[str, object], content)["sentences"])
            return [_parse_of(sentence) for sentence in sentences]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            shown = answer[:_SHOWN_CHARACTERS].decode("utf-8", "replace")
            raise ParserError(
                f"{self.name} returned no parse: {shown!r}",
                remedy="Is this the address of a CoreNLP server with a parser?",
            ) from error

    def _read_tree(self, parse: str) -> Tree | None:
        answer = Answer(parse.strip(), 1)
        if not answer.has_tree:
            return None
        try:
            return answer.read_tree("<parse>")
        except BracketError as error:
            raise ParserError(f"{self.name} returned an invalid tree:\n{error}") from error


def _parse_of(sentence: dict[str, object]) -> str:
    """Versions differ where there is no tree: no field, an empty one, or a message."""
    parse = sentence.get("parse", "")
    if not isinstance(parse, str):
        raise TypeError("a parse must be text")
    return parse


def _make_opener(host: str) -> OpenerDirector:
    """Bypass proxies for servers on this machine."""
    return build_opener(ProxyHandler({})) if host in _LOOPBACK else build_opener()
