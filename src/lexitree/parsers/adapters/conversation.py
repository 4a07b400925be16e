"""Exchanges sentences and answers with a running command, keeping only a few of them in memory."""

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
"""How long a command that has read all input may be silent before it gets more."""

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class AnswerReader(Protocol[A_co]):
    """Assembles answers from numbered lines."""

    def feed(self, number: int, line: str, /) -> Iterator[A_co]: ...
    def finish(self) -> Iterator[A_co]: ...


class LineDecoder:
    """Decodes chunks of bytes, which may end anywhere, into numbered lines."""

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = ""
        self.number = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[int, str]]:
        """Yield the lines that end in this chunk; at the end of input (b"") also an unfinished one."""
        *lines, self._rest = (self._rest + self._decoder.decode(chunk, final=not chunk)).split("\n")
        if not chunk and self._rest:
            lines.append(self._rest)
        if len(self._rest) > MAX_LINE_CHARACTERS:
            raise ValueError(f"a line of over {MAX_LINE_CHARACTERS:,} characters")
        for line in lines:
            self.number += 1
            yield self.number, line.removesuffix("\r")


class Conversation(Generic[A]):
    """The exchange with a command, over one or more calls.

    At most `read_ahead` sentences wait for their answers. With `may_widen`, a command that has read them all and
    stays silent, because it buffers its output or answers only at the end, gets twice as many, and so on. So both
    sides never wait for each other, whatever the command's buffers.
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
        """Yield each sentence with its answer; the last exchange closes the input and checks the exit code."""
        for sentence in sentences:
            self._send(sentence)
            yield from self._take(0)
            while len(self._waiting) >= self.read_ahead:
                yield from self._wait(may_widen=self.may_widen)
        if is_last:
            self.process.end_input()
        while self._waiting:
            yield from self._wait(may_widen=False)
        if is_last:
            self._conclude()

    def _send(self, sentence: Sentence) -> None:
        line = " ".join(sentence.spelled) + "\n"
        try:
            self.process.send(line.encode(self.encoding))
        except UnicodeEncodeError as error:
            raise ParserError(f"{sentence} cannot be encoded in {self.encoding} ({error})") from error
        self._waiting.append(sentence)

    def _take(self, seconds: float) -> Iterator[tuple[Sentence, A]]:
        """Yield the answers that are there or arrive within the given time."""
        chunk = self.process.receive(seconds)
        if chunk is not None:
            for answer in self._read(chunk):
                if not self._waiting:
                    raise self._too_many()
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
                f"writes output that is not valid {self.encoding} after line {self._lines.number:,} ({error})"
            )
            raise self._failure(problem) from error
        if not chunk:
            yield from self._reader.finish()

    def _wait(self, *, may_widen: bool) -> Iterator[tuple[Sentence, A]]:
        """Wait for answers, or widen the window if the command needs more input before it answers."""
        started, num_before = time.monotonic(), self._num_answers
        while True:
            # Only if it was hungry all the time: a command that has just read the last line is working on it.
            was_hungry = may_widen and self.process.is_hungry
            yield from self._take(min(PATIENCE_SECONDS, self.timeout))
            if self._num_answers > num_before:
                return
            if was_hungry and self.process.is_hungry:
                self.read_ahead *= 2
                return
            self._check_time(started)

    def _check_time(self, started: float) -> None:
        """Silence counts from when we started to wait: what the caller does in between is not the command's fault."""
        silence = time.monotonic() - max(started, self.process.last_sign_of_life)
        if silence >= self.timeout:
            raise self._failure(
                f"has been silent for {self.timeout:g} seconds, at {self._waiting[0]}",
                remedy="Allow more time with timeout=SECONDS.",
            )

    def _conclude(self) -> None:
        """Check that the command ends successfully and without further output."""
        started = time.monotonic()
        while (chunk := self.process.receive(min(PATIENCE_SECONDS, self.timeout))) != b"":
            if chunk is None:
                if time.monotonic() - max(started, self.process.last_sign_of_life) >= self.timeout:
                    raise self._failure(f"still runs {self.timeout:g} seconds after the end of its input")
            elif any(True for _ in self._read(chunk)):
                raise self._too_many()
        if any(True for _ in self._read(b"")):
            raise self._too_many()
        code = self.process.wait(self.timeout)
        if code:
            raise self._failure(f"ended with exit code {code} after its last answer")

    def _early_end(self) -> ParserError:
        code = self.process.wait(self.timeout)
        how = f"ended with exit code {code}" if code else "ended"
        return self._failure(
            f"{how} at {self._waiting[0]}: it wrote {self._num_answers:,} "
            f"{'tree' if self._num_answers == 1 else 'trees'} and owes at least {len(self._waiting):,} more"
        )

    def _too_many(self) -> ParserError:
        return self._failure("writes more trees than there are sentences")

    def _failure(self, problem: str, *, remedy: str = "") -> ParserError:
        complaints = self.process.complaints()
        said = f"\nIts standard error ends with:\n{_indent(complaints)}" if complaints else ""
        return ParserError(f"{self.name} {problem}.{said}", remedy=remedy)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
