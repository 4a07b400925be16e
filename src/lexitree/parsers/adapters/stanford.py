"""Adapter for the Stanford parser, which runs in a Java process that stays open."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lexitree.errors import BracketError, ConfigError, FileError, ParserError
from lexitree.parsers.adapters.adapter import (
    Adapter,
    OnRefused,
    Sentence,
    Spelling,
    number_sentences,
    penn_spelling,
)
from lexitree.parsers.adapters.bracket_files import Answer
from lexitree.parsers.adapters.command_line import READ_AHEAD, TIMEOUT_SECONDS, CommandParser
from lexitree.parsers.adapters.conversation import Conversation
from lexitree.parsers.protocol import Candidate
from lexitree.trees.tree import Tree

_ENGLISH_PCFG = "edu/stanford/nlp/models/lexparser/englishPCFG.ser.gz"
_MAIN_CLASS = "edu.stanford.nlp.parser.lexparser.LexicalizedParser"
_MAX_LENGTH = 80
"""Default limit of words per sentence: longer charts take much memory and time."""

_WHERE_TO_GET_IT = (
    "Download it from https://nlp.stanford.edu/software/lex-parser.html (it is under the GPL, so lexitree does not "
    "include it) and give the folder with its jar files."
)
_SCORE = re.compile(r"# Parse \d+ with score (\S+)")


class StanfordParser(Adapter):
    """The Stanford parser, version 3.3.1 or any with the same command line.

    Java starts with the first sentence and runs until `close`. Words are sent in Penn's spelling (`-LRB-`, `\\/`),
    which its models know, and trees have the words as they were given.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        model: str = _ENGLISH_PCFG,
        max_length: int = _MAX_LENGTH,
        memory: str = "2g",
        java: str = "",
        java_options: Sequence[str] = (),
        spelling: Spelling = penn_spelling,
        read_ahead: int = READ_AHEAD,
        timeout: float = TIMEOUT_SECONDS,
        on_refused: OnRefused = "raise",
    ) -> None:
        """Find Java and the jar files.

        Args:
            folder: Folder with the jar files of the parser and its models.
            model: A model in the jar files, or the path of one.
            max_length: Sentences with more words are refused.
            memory: Memory limit of Java.
            java: Path of the program; by default that of JAVA_HOME, or the one on the search path.
            java_options: Further options of Java.
            spelling: How words are written for the parser.
            read_ahead: Sentences sent before their answers are due.
            timeout: Seconds the parser may be silent while it owes an answer.
            on_refused: On a sentence without a tree: raise an error, or use a flat tree.

        Raises:
            FileError: The folder has no jar file of the parser.
            ParserError: Java was not found.
        """
        if max_length < 1:
            raise ConfigError("max_length must be greater than 0")
        super().__init__("the Stanford parser", on_refused=on_refused)
        self.max_length = max_length
        self.model = model
        self._java = [
            find_java(java),
            f"-Xmx{memory}",
            *java_options,
            "-cp",
            os.pathsep.join(map(str, find_jars(folder))),
            _MAIN_CLASS,
        ]
        self._command = CommandParser(
            self._arguments(),
            layout="line",
            stays_open=True,
            spelling=spelling,
            read_ahead=read_ahead,
            timeout=timeout,
            on_refused=on_refused,
            name=self.name,
        )
        self._command.report = self.report

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """Yield the most probable tree of each sentence; those over `max_length` are refused."""
        return self._command.parse_all(sentences)

    def parse_k_best(self, sentences: Iterable[Sequence[str]], k: int) -> Iterator[list[Candidate]]:
        """Yield up to k trees for each sentence, most probable first.

        Every call starts its own Java process. The flat tree of a refused sentence has a log probability of minus
        infinity.
        """
        if k < 1:
            raise ConfigError("k must be greater than 0")
        numbered = number_sentences(sentences, self._command.spelling)
        with self._k_best_conversation(k) as conversation:
            for sentence, answer in conversation.exchange(numbered, is_last=True):
                yield self._settle_k_best(sentence, answer)

    def close(self) -> None:
        """End the Java process if it is running."""
        self._command.close()

    def _arguments(self, k_best: int = 0) -> list[str]:
        options = {
            "-encoding": "utf-8",
            "-sentences": "newline",
            "-maxLength": str(self.max_length),
            "-outputFormat": "oneline",
            **({"-printPCFGkBest": str(k_best)} if k_best else {}),
        }
        pairs = [part for pair in options.items() for part in pair]
        return [*self._java, "-tokenized", *pairs, self.model, "-"]

    @contextmanager
    def _k_best_conversation(self, k: int) -> Generator[Conversation[KBestAnswer], None, None]:
        conversation = self._command.start(self._arguments(k), KBestAnswers)
        try:
            yield conversation
        finally:
            conversation.process.close()

    def _settle_k_best(self, sentence: Sentence, answer: KBestAnswer) -> list[Candidate]:
        if not answer.scored:
            return [Candidate(self.refuse(sentence, f"it returned {answer.best.text!r}"), float("-inf"))]
        self.report.num_sentences += 1
        return [Candidate(self._read_tree(sentence, one), score) for score, one in answer.scored]

    def _read_tree(self, sentence: Sentence, answer: Answer) -> Tree:
        try:
            return self.match(sentence, answer.read_tree(f"<output of {self.name}>"))
        except BracketError as error:
            raise ParserError(f"{self.name} returned an invalid tree for {sentence}:\n{error}") from error


@dataclass(frozen=True, slots=True)
class KBestAnswer:
    """All output for one sentence: its best tree, or a message, and the trees with scores."""

    best: Answer
    scored: tuple[tuple[float, Answer], ...]


class KBestAnswers:
    """Groups lines into answers: a line without a score above it starts the next answer."""

    def __init__(self) -> None:
        self._best: Answer | None = None
        self._scored: list[tuple[float, Answer]] = []
        self._score: float | None = None

    def feed(self, number: int, line: str) -> Iterator[KBestAnswer]:
        header = _SCORE.fullmatch(line)
        if header:
            self._score = float(header[1])
        elif self._score is not None:
            self._scored.append((self._score, Answer(line, number)))
            self._score = None
        elif line:
            yield from self.finish()
            self._best = Answer(line, number)

    def finish(self) -> Iterator[KBestAnswer]:
        if self._best is not None:
            yield KBestAnswer(self._best, tuple(self._scored))
        self._best, self._scored = None, []


def find_jars(folder: str | Path) -> list[Path]:
    """Return the jar files of a folder, without those of sources and documentation."""
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise FileError(folder, "is not a folder", remedy=_WHERE_TO_GET_IT)
    jars = [jar for jar in sorted(folder.glob("*.jar")) if not jar.stem.endswith(("sources", "javadoc"))]
    if not any(jar.name.startswith("stanford-") for jar in jars):
        raise FileError(folder, "holds no jar file of the Stanford parser", remedy=_WHERE_TO_GET_IT)
    return jars


def find_java(java: str = "") -> str:
    """Return the path of `java`, or of the given program."""
    home = os.environ.get("JAVA_HOME", "")
    at_home = str(Path(home, "bin", "java")) if home else ""
    found = shutil.which(java) if java else (at_home and shutil.which(at_home)) or shutil.which("java")
    if not found:
        raise ParserError(
            f"the Stanford parser needs Java, but {java or 'java'!r} was not found",
            remedy="Install a Java runtime (Debian: default-jre-headless), set JAVA_HOME or pass java=PATH.",
        )
    return found
