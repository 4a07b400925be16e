"""Sentences in, trees out, made by any command that reads a sentence a line and writes brackets."""

from __future__ import annotations

import codecs
import shlex
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from lexitree.errors import BracketError, ConfigError, ParserError
from lexitree.parsers.adapters.adapter import Adapter, OnRefused, Sentence, number_sentences
from lexitree.parsers.adapters.conversation import AnswerReader, Conversation
from lexitree.parsers.adapters.process import CommandProcess
from lexitree.parsers.adapters.replies import Answer, AnswerLayout, make_answers
from lexitree.parsers.adapters.spelling import Spelling, plain_spelling
from lexitree.trees.tree import Tree

READ_AHEAD = 1_000
TIMEOUT_SECONDS = 600.0

A = TypeVar("A")


class CommandParser(Adapter):
    """A parser on the command line: tokenized sentences on its input, one a line, brackets on its output.

    The command may answer each line at once, when its buffers are full, or only when its input ends.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        shell: bool = False,
        layout: AnswerLayout = "free",
        stays_open: bool = False,
        spelling: Spelling = plain_spelling,
        encoding: str = "utf-8",
        read_ahead: int = READ_AHEAD,
        timeout: float = TIMEOUT_SECONDS,
        folder: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        on_refused: OnRefused = "raise",
        name: str = "",
    ) -> None:
        """A command that is a string is cut into words as a shell would, and given to a shell only with `shell`.

        Args:
            layout: "free" for trees with line breaks anywhere; "line" if every line answers one sentence, so
                that what is wrong with one tree concerns no other.
            stays_open: the command answers each sentence as soon as it has read its line. One process then
                serves all calls; otherwise each call of `parse_all` is a run of its own.
            read_ahead: how many sentences are taken beyond those answered, if the command does answer by then.
            timeout: how many seconds the command may be silent while it owes an answer.
            environment: variables beside those of this process.
        """
        words = shlex.split(command) if isinstance(command, str) else list(command)
        if not words:
            raise ConfigError("there is no command to run")
        if read_ahead < 1 or timeout <= 0:
            raise ConfigError("read_ahead and timeout of a command must be more than 0")
        _check_encoding(encoding)
        super().__init__(name or f"the command {words[0]!r}", on_refused=on_refused)
        self.command: str | list[str] = words
        if shell:
            self.command = command if isinstance(command, str) else shlex.join(words)
        self.layout: AnswerLayout = layout
        self.stays_open = stays_open
        self.spelling = spelling
        self.encoding = encoding
        self.read_ahead = read_ahead
        self.timeout = timeout
        self.folder = folder
        self.environment = environment
        self._open: Conversation[Answer] | None = None
        self._is_busy = False

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """A tree for each sentence; leaving the loop before the last ends the command."""
        numbered = number_sentences(sentences, self.spelling)
        with self._conversation() as conversation:
            for sentence, answer in conversation.exchange(numbered, is_last=not self.stays_open):
                yield self._settle(sentence, answer)

    def close(self) -> None:
        """End the command if it is running."""
        if self._open is not None:
            self._open.process.close()
            self._open = None

    @contextmanager
    def _conversation(self) -> Generator[Conversation[Answer], None, None]:
        """A conversation for one call, that a command that stays open has with others, too."""
        if self._is_busy:
            raise ParserError(
                f"{self.name} is still at work on other sentences",
                remedy="Take all trees of one call before the next, or use two parsers.",
            )
        if self._open is None or not self._open.process.is_running:
            self.close()
            self._open = self.start(self.command, lambda: make_answers(self.layout))
        conversation = self._open
        self._is_busy = True
        can_go_on = False
        try:
            yield conversation
            can_go_on = self.stays_open
        except GeneratorExit:
            # The caller has left, as `next(parse_all(...))` does; no harm if all was answered.
            can_go_on = self.stays_open and conversation.is_settled
            raise
        finally:
            self._is_busy = False
            if not can_go_on:
                self.close()

    def start(self, command: str | list[str], make_reader: Callable[[], AnswerReader[A]]) -> Conversation[A]:
        """Start a command and the conversation with it."""
        return Conversation(
            CommandProcess(command, folder=self.folder, environment=self.environment),
            make_reader,
            name=self.name,
            encoding=self.encoding,
            read_ahead=self.read_ahead,
            timeout=self.timeout,
            may_widen=not self.stays_open,
        )

    def _settle(self, sentence: Sentence, answer: Answer) -> Tree:
        if not answer.has_tree:
            return self.refuse(sentence, f"it answers {answer.text!r}")
        try:
            tree = answer.read_tree(f"<output of {self.name}>")
        except BracketError as error:
            # Where lines keep sentences apart, one that is garbled is the loss of its own sentence only.
            if self.layout == "line":
                return self.refuse(sentence, str(error))
            raise ParserError(
                f"{self.name} answers {sentence} ({' '.join(sentence.words)}) with what is no tree:\n{error}"
            ) from error
        return self.accept(sentence, tree)


def _check_encoding(encoding: str) -> None:
    try:
        codecs.getincrementaldecoder(encoding)
    except LookupError as error:
        raise ConfigError(f"there is no text encoding called {encoding!r}") from error
