"""Sentences in, pairs of a sentence and a command's answer out: fed and read side by side, with little in hand."""

from __future__ import annotations

import codecs
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from lexitree.errors import ParserError
from lexitree.files import MAX_LINE_CHARACTERS
from lexitree.parsers.adapters.adapter import Sentence
from lexitree.parsers.adapters.process import CommandProcess

PATIENCE_SECONDS = 1.0
"""How long a command that has read everything may be silent before it is given more."""

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class AnswerReader(Protocol[A_co]):
    """Puts answers together from numbered lines."""

    def feed(self, number: int, line: str, /) -> Iterator[A_co]: ...
    def finish(self) -> Iterator[A_co]: ...


class LineDecoder:
    """Chunks of bytes in, numbered lines out, strictly decoded; a chunk may end anywhere."""

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = ""
        self.number = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[int, str]]:
        """The lines that end in this chunk; at the end of all (b"") also one without an end."""
        *lines, self._rest = (self._rest + self._decoder.decode(chunk, final=not chunk)).split("\n")
        if not chunk and self._rest:
            lines.append(self._rest)
        if len(self._rest) > MAX_LINE_CHARACTERS:
            raise ValueError(f"a line of over {MAX_LINE_CHARACTERS:,} characters")
        for line in lines:
            self.number += 1
            yield self.number, line.removesuffix("\r")


class Conversation(Generic[A]):
    """What is said between us and a command, over one or more calls.

    At most `read_ahead` sentences wait for their answers. A command that has read them all and is silent still,
    since it buffers its output or answers only at the end, is given twice as many, and so on (`may_widen`):
    whatever its buffers, it never waits for us while we wait for it.
    """

    def __init__(
        self,
        process: CommandProcess,
        make_reader: Callable[[], AnswerReader[A]],
        *,
        name: str,
        encoding: str,
        read_ahead: int,
        timeout: float,
        may_widen: bool = True,
    ) -> None:
        self.process = process
        self.name = name
        self.encoding = encoding
        self.read_ahead = read_ahead
        self.timeout = timeout
        self.may_widen = may_widen
        self._lines = LineDecoder(encoding)
        self._reader = make_reader()
        self._waiting: deque[Sentence] = deque()
        self._num_answers = 0

    @property
    def is_settled(self) -> bool:
        """Whether the command owes no answer."""
        return not self._waiting

    def exchange(self, sentences: Iterator[Sentence], *, is_last: bool) -> Iterator[tuple[Sentence, A]]:
        """The answer to each sentence. The last exchange closes the command's input and looks at its exit code."""
        for sentence in sentences:
            self._send(sentence)
            yield from self._take(0)
            while len(self._waiting) >= self.read_ahead:
                yield from self._take_or_widen()
        if is_last:
            self.process.end_input()
        while self._waiting:
            yield from self._take_within_timeout()
        if is_last:
            self._conclude()

    def _send(self, sentence: Sentence) -> None:
        line = " ".join(sentence.spelled) + "\n"
        try:
            self.process.send(line.encode(self.encoding))
        except UnicodeEncodeError as error:
            raise ParserError(f"{sentence} cannot be written in {self.encoding} ({error})") from error
        self._waiting.append(sentence)

    def _take(self, seconds: float) -> Iterator[tuple[Sentence, A]]:
        """The answers that are there, or come within the time; possibly none."""
        chunk = self.process.receive(seconds)
        if chunk is not None:
            for answer in self._read(chunk):
                if not self._waiting:
                    raise self._failure("writes more trees than there are sentences")
                self._num_answers += 1
                yield self._waiting.popleft(), answer
            if not chunk and self._waiting:
                raise self._early_end()

    def _read(self, chunk: bytes) -> Iterator[A]:
        try:
            for number, line in self._lines.feed(chunk):
                yield from self._reader.feed(number, line)
        except ValueError as error:
            problem = (
                f"writes what cannot be read as {self.encoding} after line {self._lines.number:,} ({error})"
            )
            raise self._failure(problem) from error
        if not chunk:
            yield from self._reader.finish()

    def _take_or_widen(self) -> Iterator[tuple[Sentence, A]]:
        """Answers, or a wider window if the command waits for more before it says anything."""
        started, num_before = time.monotonic(), self._num_answers
        while True:
            # It counts only if it was so all the while: who has just read the last line is at work on it.
            was_hungry = self.process.is_hungry
            yield from self._take(min(PATIENCE_SECONDS, self.timeout))
            if self._num_answers > num_before:
                return
            if self.may_widen and was_hungry and self.process.is_hungry:
                self.read_ahead *= 2
                return
            self._check_time(started)

    def _take_within_timeout(self) -> Iterator[tuple[Sentence, A]]:
        started, num_before = time.monotonic(), self._num_answers
        while True:
            yield from self._take(min(PATIENCE_SECONDS, self.timeout))
            if self._num_answers > num_before:
                return
            self._check_time(started)

    def _check_time(self, started: float) -> None:
        """Silence counts from when we began to wait: what the caller does in between is no fault of the command."""
        silence = time.monotonic() - max(started, self.process.last_sign_of_life)
        if silence >= self.timeout:
            raise self._failure(
                f"has been silent for {self.timeout:g} seconds, at {self._waiting[0]}",
                remedy="Give it more time with timeout=SECONDS.",
            )

    def _conclude(self) -> None:
        """All is answered: the command must end, well and without another word."""
        started = time.monotonic()
        while (chunk := self.process.receive(min(PATIENCE_SECONDS, self.timeout))) != b"":
            if chunk is None:
                if time.monotonic() - max(started, self.process.last_sign_of_life) >= self.timeout:
                    raise self._failure(f"does not end, {self.timeout:g} seconds after its input has")
            elif any(True for _ in self._read(chunk)):
                raise self._failure("writes more trees than there are sentences")
        if any(True for _ in self._read(b"")):
            raise self._failure("writes more trees than there are sentences")
        code = self.process.wait(self.timeout)
        if code:
            raise self._failure(f"ended with exit code {code}, after it had answered everything")

    def _early_end(self) -> ParserError:
        code = self.process.wait(self.timeout)
        how = f"ended with exit code {code}" if code else "ended"
        return self._failure(
            f"{how} at {self._waiting[0]}: it wrote {self._num_answers:,} "
            f"{'tree' if self._num_answers == 1 else 'trees'} and owes at least {len(self._waiting):,} more"
        )

    def _failure(self, problem: str, *, remedy: str = "") -> ParserError:
        complaints = self.process.complaints()
        said = f"\nIts standard error ends with:\n{_indent(complaints)}" if complaints else ""
        return ParserError(f"{self.name} {problem}.{said}", remedy=remedy)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
