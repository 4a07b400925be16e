"""Adapter for any command that reads one sentence per line and writes brackets."""

from __future__ import annotations

import codecs
import shlex
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from lexitree.errors import BracketError, ConfigError, ParserError
from lexitree.parsers.adapters.adapter import (
    Adapter,
    OnRefused,
    Sentence,
    Spelling,
    number_sentences,
    plain_spelling,
)
from lexitree.parsers.adapters.bracket_files import Answer, AnswerLayout, make_answers
from lexitree.parsers.adapters.conversation import AnswerReader, Conversation
from lexitree.parsers.adapters.process import CommandProcess
from lexitree.trees.tree import Tree

READ_AHEAD = 1_000
TIMEOUT_SECONDS = 600.0

A = TypeVar("A")


class CommandParser(Adapter):
    """A parser on the command line: tokenized sentences go to its input, one per line; it writes brackets.

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
        """Set up the command; it starts with the first sentence.

        Args:
            command: Program and arguments. A string is split as a shell would split it.
            shell: Run the command in a shell, so that pipes and the like work.
            layout: "free" for trees with line breaks anywhere; "line" if every line answers one sentence, so that
                an error in one tree does not affect others.
            stays_open: The command answers each sentence as soon as it has read its line. One process then serves
                all calls; otherwise every call of `parse_all` starts the command anew.
            spelling: How words are written for the command.
            encoding: Text encoding of its input and output.
            read_ahead: Sentences sent before their answers are due.
            timeout: Seconds the command may be silent while it owes an answer.
            folder: Working directory of the command.
            environment: Additional environment variables.
            on_refused: On a sentence without a tree: raise an error, or use a flat tree.
            name: How messages call the command.

        Raises:
            ConfigError: An argument is out of range, or the encoding is unknown.
        """
        words = shlex.split(command) if isinstance(command, str) else list(command)
        if not words:
            raise ConfigError("the command is empty")
        if read_ahead < 1 or timeout <= 0:
            raise ConfigError("read_ahead and timeout must be greater than 0")
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
        """Yield a tree for each sentence; leaving the loop early ends the command.

        Raises:
            ParserError: The command fails, is silent for too long, or returns too few or too many trees.
            ParseRefusedError: A sentence has no tree and `on_refused` is "raise".
        """
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
        """Open a conversation for one call, or reuse that of a command that stays open."""
        if self._open is not None and not self._open.process.is_ours:
            raise ParserError(
                f"{self.name} was started before this process was forked and belongs to the other one",
                remedy="Open a parser of its own in each process, after the fork.",
            )
        if self._is_busy:
            raise ParserError(
                f"{self.name} is still at work on other sentences",
                remedy="Finish one call before the next, or use two parsers.",
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
            # The caller left early, as `next(parse_all(...))` does: fine if everything was answered.
            can_go_on = self.stays_open and conversation.is_settled
            raise
        finally:
            self._is_busy = False
            if not can_go_on:
                self.close()

    def start(self, command: str | list[str], make_reader: Callable[[], AnswerReader[A]]) -> Conversation[A]:
        """Start a command and a conversation with it."""
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
            return self.refuse(sentence, f"it returned {answer.text!r}")
        try:
            tree = answer.read_tree(f"<output of {self.name}>")
        except BracketError as error:
            # Lines separate sentences, so a garbled one affects only its own sentence.
            if self.layout == "line":
                return self.refuse(sentence, str(error))
            raise ParserError(
                f"{self.name} returned an invalid tree for {sentence} ({' '.join(sentence.words)}):\n{error}"
            ) from error
        return self.accept(sentence, tree)


def _check_encoding(encoding: str) -> None:
    try:
        codecs.getincrementaldecoder(encoding)
    except LookupError as error:
        raise ConfigError(f"unknown text encoding {encoding!r}") from error
