"""Sentences in, trees out, made by a CoreNLP server somewhere on the network."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import cast
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit, urlunsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from lexitree.errors import BracketError, ConfigError, ParserError
from lexitree.parsers.adapters.adapter import BatchAdapter, BatchFailed, OnRefused, Sentence
from lexitree.parsers.adapters.replies import Answer
from lexitree.parsers.adapters.spelling import Spelling, plain_spelling
from lexitree.trees.tree import Tree

BATCH_SIZE = 50
TIMEOUT_SECONDS = 60.0
MAX_REQUEST_CHARACTERS = 50_000
"""Half of what a server takes unless it was started with another `-maxCharLength`."""

MAX_ANSWER_BYTES = 1 << 28
OWN_TIME_SECONDS = 5.0
"""How much longer we wait than the server is told to work: it then says itself that the time is over."""

SHOWN_CHARACTERS = 200

REQUEST_AT_FAULT = frozenset({400, 413, 500})
"""Codes of a server that cannot do this text: it is too long, or took too long. Others concern every text."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class CoreNLPParser(BatchAdapter):
    """Stanford CoreNLP by HTTP. Words are cut at spaces and sentences at line ends, never by the server's rules."""

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
        """`timeout` is for one batch, in seconds."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{url!r} is not the address of a server, such as http://localhost:9000")
        if timeout <= 0:
            raise ConfigError("timeout of a server must be more than 0")
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
            raise ParserError(f"{self.name} answers with more than {MAX_ANSWER_BYTES:,} bytes")
        return answer

    def _silence(self) -> ParserError:
        return ParserError(
            f"{self.name} has not answered within {self.timeout:g} seconds",
            remedy="Give it more time with timeout=SECONDS, or smaller batches with batch_size=NUMBER.",
        )

    def _http_failure(self, error: HTTPError) -> Exception:
        with error:
            try:
                said = error.read(4 * SHOWN_CHARACTERS).decode("utf-8", "replace").strip()
            except (OSError, HTTPException):
                said = ""
        problem = f"answers {error.code} {error.reason}" + (f": {said[:SHOWN_CHARACTERS]}" if said else "")
        if error.code in REQUEST_AT_FAULT:
            return BatchFailed(f"it {problem}")
        return ParserError(f"{self.name} {problem}", remedy="Is this the address of a CoreNLP server?")

    def _read_parses(self, answer: bytes) -> list[str]:
        try:
            # Some versions leave control characters in strings as they are.
            content: object = json.loads(answer.decode(), strict=False)
            sentences = cast(list[dict[str, object]], cast(dict[str, object], content)["sentences"])
            return [_parse_of(sentence) for sentence in sentences]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            shown = answer[:SHOWN_CHARACTERS].decode("utf-8", "replace")
            raise ParserError(
                f"{self.name} answers with what is no parse: {shown!r}",
                remedy="Is this the address of a CoreNLP server, and has it a parser?",
            ) from error

    def _read_tree(self, parse: str) -> Tree | None:
        answer = Answer(parse.strip(), 1)
        if not answer.has_tree:
            return None
        try:
            return answer.read_tree("<parse>")
        except BracketError as error:
            raise ParserError(f"{self.name} answers with what is no tree:\n{error}") from error


def _parse_of(sentence: dict[str, object]) -> str:
    """Where there is no tree, versions differ: they give no field, an empty one or Stanford's words."""
    parse = sentence.get("parse", "")
    if not isinstance(parse, str):
        raise TypeError("a parse is text")
    return parse


def _make_opener(host: str) -> OpenerDirector:
    """A proxy for the outer world knows nothing of servers on this machine."""
    return build_opener(ProxyHandler({})) if host in LOOPBACK else build_opener()
