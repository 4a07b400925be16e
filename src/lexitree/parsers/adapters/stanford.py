"""Sentences in, trees out, made by the Stanford parser in a Java process that stays open."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lexitree.errors import BracketError, ConfigError, FileError, ParserError
from lexitree.parsers.adapters.adapter import Adapter, OnRefused, Sentence, number_sentences
from lexitree.parsers.adapters.command_line import READ_AHEAD, TIMEOUT_SECONDS, CommandParser
from lexitree.parsers.adapters.conversation import Conversation
from lexitree.parsers.adapters.replies import Answer
from lexitree.parsers.adapters.spelling import Spelling, penn_spelling
from lexitree.trees.tree import Tree

ENGLISH_PCFG = "edu/stanford/nlp/models/lexparser/englishPCFG.ser.gz"
MAIN_CLASS = "edu.stanford.nlp.parser.lexparser.LexicalizedParser"
MAX_LENGTH = 80
"""Words a sentence may have: a chart of more takes much memory and time."""

WHERE_TO_GET_IT = (
    "Get it from https://nlp.stanford.edu/software/lex-parser.html (it is GPL, so it does not come with lexitree) "
    "and give the folder that its jar files are in."
)
_SCORE = re.compile(r"# Parse \d+ with score (\S+)")


@dataclass(frozen=True, slots=True)
class ScoredTree:
    """One of several trees for a sentence, with its log probability."""

    tree: Tree
    score: float


class StanfordParser(Adapter):
    """The Stanford parser, version 3.3.1 or one with the same command line.

    Java starts with the first sentence and stays until `close`. Words go through in Penn's spelling (`-LRB-`,
    `\\/`), which its models know, and come back as they were given.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        model: str = ENGLISH_PCFG,
        max_length: int = MAX_LENGTH,
        memory: str = "2g",
        java: str = "",
        java_options: Sequence[str] = (),
        spelling: Spelling = penn_spelling,
        read_ahead: int = READ_AHEAD,
        timeout: float = TIMEOUT_SECONDS,
        on_refused: OnRefused = "raise",
    ) -> None:
        """
        Args:
            folder: where the parser's jar files are, with that of its models.
            model: a model in the jar files, or the path of one.
            max_length: sentences with more words are refused.
            memory: the most that Java may take.
            java: the path of the program; by default that of JAVA_HOME, or the one on the search path.
        """
        if max_length < 1:
            raise ConfigError("max_length of the Stanford parser must be more than 0")
        super().__init__("the Stanford parser", on_refused=on_refused)
        self.max_length = max_length
        self.model = model
        self._java = [
            find_java(java),
            f"-Xmx{memory}",
            *java_options,
            "-cp",
            os.pathsep.join(map(str, find_jars(folder))),
            MAIN_CLASS,
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
        """The most probable tree of each sentence; those over `max_length` are refused."""
        return self._command.parse_all(sentences)

    def parse_k_best(self, sentences: Iterable[Sequence[str]], k: int) -> Iterator[list[ScoredTree]]:
        """Up to k trees of each sentence, the most probable first, from a Java process for this call alone.

        The one tree of a refused sentence that is left flat has the score minus infinity.
        """
        if k < 1:
            raise ConfigError("k of the k best trees must be more than 0")
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

    def _settle_k_best(self, sentence: Sentence, answer: KBestAnswer) -> list[ScoredTree]:
        if not answer.scored:
            return [ScoredTree(self.refuse(sentence, f"it answers {answer.best.text!r}"), float("-inf"))]
        self.report.num_sentences += 1
        return [ScoredTree(self._read_tree(sentence, one), score) for score, one in answer.scored]

    def _read_tree(self, sentence: Sentence, answer: Answer) -> Tree:
        try:
            return self.match(sentence, answer.read_tree(f"<output of {self.name}>"))
        except BracketError as error:
            raise ParserError(f"{self.name} answers {sentence} with what is no tree:\n{error}") from error


@dataclass(frozen=True, slots=True)
class KBestAnswer:
    """All that is written for one sentence: its best tree, or that there is none, and the trees with scores."""

    best: Answer
    scored: tuple[tuple[float, Answer], ...]


class KBestAnswers:
    """Lines in, an answer for each sentence out: a line without a score above it begins the next."""

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
    """The jar files of a folder, without those of sources and documentation."""
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise FileError(folder, "is not a folder", remedy=WHERE_TO_GET_IT)
    jars = [jar for jar in sorted(folder.glob("*.jar")) if not jar.stem.endswith(("sources", "javadoc"))]
    if not any(jar.name.startswith("stanford-") for jar in jars):
        raise FileError(folder, "holds no jar file of the Stanford parser", remedy=WHERE_TO_GET_IT)
    return jars


def find_java(java: str = "") -> str:
    """The path of the program `java`, or of the one that is asked for."""
    home = os.environ.get("JAVA_HOME", "")
    at_home = str(Path(home, "bin", "java")) if home else ""
    found = shutil.which(java) if java else (at_home and shutil.which(at_home)) or shutil.which("java")
    if not found:
        raise ParserError(
            f"the Stanford parser needs Java, and there is no program {java or 'java'!r}",
            remedy="Install a Java runtime (Debian: default-jre-headless), set JAVA_HOME or give java=PATH.",
        )
    return found
