"""Reads trees that a parser has written: its replies sentence by sentence, and whole files of parses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lexitree.errors import BracketError, ParserError, Place
from lexitree.files import display_name, read_lines
from lexitree.parsers.adapters.adapter import Adapter, OnRefused, Sentence, number_sentences
from lexitree.trees.bracket_parser import BracketParser
from lexitree.trees.tree import Tree

AnswerLayout = Literal["free", "line"]
""""free": trees with line breaks anywhere; "line": exactly one line per sentence."""

MAX_ANSWER_CHARACTERS = 1 << 26
"""Longer trees are refused, so that a parser that never closes its brackets cannot fill the memory."""

_MAX_NODES = 2_000_000
"""The same for its nodes; the words are those of a text, which has limits of its own."""

# How parsers report that there is no tree: `(())`, `()`, an empty line, `(ROOT)`, or Stanford's message.
_NO_TREE = re.compile(
    r"\s*|\(\s*[^()\s]*\s*\)|\(\s*\(\s*[^()\s]*\s*\)\s*\)|SENTENCE_SKIPPED_OR_UNPARSABLE.*", re.DOTALL
)
_BRACKET = re.compile(r"[()]")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a parser wrote for one sentence, and on which line it starts."""

    text: str
    line: int

    @property
    def has_tree(self) -> bool:
        """Whether there is a tree; garbled text counts as one."""
        return not _NO_TREE.fullmatch(self.text)

    def read_tree(self, name: str) -> Tree:
        """Parse the tree; errors name the parser and the line of its output.

        Raises:
            BracketError: The text is not exactly one tree.
        """
        parser = BracketParser(name, layout="free", max_nodes=_MAX_NODES, max_words=_MAX_NODES)
        trees: list[Tree] = []
        for number, line in enumerate(self.text.split("\n"), self.line):
            trees.extend(parser.feed(number, line))
        parser.finish()
        if len(trees) != 1:
            place = Place(name, self.line, 1, self.text.partition("\n")[0])
            raise BracketError(place, f"expected one tree, found {len(trees)}")
        return trees[0]


class LineAnswers:
    """Takes every line as an answer."""

    def feed(self, number: int, line: str) -> Iterator[Answer]:
        yield Answer(line, number)

    def finish(self) -> Iterator[Answer]:
        return iter(())


class FreeAnswers:
    """Ends an answer where its brackets close; each line of text outside brackets is an answer too."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._num_characters = 0
        self._depth = 0
        self._first_line = 0

    def feed(self, number: int, line: str) -> Iterator[Answer]:
        start = 0
        for match in _BRACKET.finditer(line):
            if match[0] == "(":
                if not self._depth:
                    yield from _stray(line[start : match.start()], number)
                    start, self._first_line = match.start(), number
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                if not self._depth:
                    yield self._take(line[start : match.end()])
                    start = match.end()
        if self._depth:
            self._keep(line[start:])
        else:
            yield from _stray(line[start:], number)

    def finish(self) -> Iterator[Answer]:
        if self._depth:
            self._depth = 0
            yield self._take("")

    def _keep(self, piece: str) -> None:
        self._pieces.append(piece)
        self._num_characters += len(piece)
        if self._num_characters > MAX_ANSWER_CHARACTERS:
            place = Place("<answer>", self._first_line)
            raise BracketError(place, f"a tree of over {MAX_ANSWER_CHARACTERS:,} characters")

    def _take(self, last_piece: str) -> Answer:
        answer = Answer("\n".join([*self._pieces, last_piece]), self._first_line)
        self._pieces.clear()
        self._num_characters = 0
        return answer


def _stray(text: str, number: int) -> Iterator[Answer]:
    if text.strip():
        yield Answer(text.strip(), number)


def make_answers(layout: AnswerLayout) -> LineAnswers | FreeAnswers:
    return LineAnswers() if layout == "line" else FreeAnswers()


class BracketsParser(Adapter):
    """Reads the trees of a bracket file, which must be in the order of the sentences.

    A line such as `(())` marks a missing tree. With `layout="line"`, where every line is the answer to one sentence,
    an empty line does so too.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        encoding: str = "utf-8",
        layout: AnswerLayout = "free",
        on_refused: OnRefused = "raise",
    ) -> None:
        super().__init__(display_name(path), on_refused=on_refused)
        self.path = path
        self.encoding = encoding
        self.layout: AnswerLayout = layout

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """Yield the tree of each sentence; every call reads the file from the start.

        Raises:
            ParserError: The numbers of trees and sentences differ.
            ParseMismatchError: A tree has other words than its sentence.
        """
        answers = self._read_answers()
        num_sentences = 0
        for sentence in number_sentences(sentences):
            num_sentences = sentence.number
            answer = next(answers, None)
            if answer is None:
                raise ParserError(f"{self.name}: the trees end before {sentence}")
            yield self._settle(sentence, answer)
        extra = next(answers, None)
        if extra is not None:
            raise ParserError(f"{self.name}:{extra.line}: more trees than the {num_sentences:,} sentences")

    def _settle(self, sentence: Sentence, answer: Answer) -> Tree:
        if not answer.has_tree:
            return self.refuse(sentence, f"no tree on line {answer.line:,}")
        try:
            tree = answer.read_tree(self.name)
        except BracketError as error:
            if self.layout == "free":
                raise
            return self.refuse(sentence, str(error))
        return self.accept(sentence, tree)

    def _read_answers(self) -> Iterator[Answer]:
        answers = make_answers(self.layout)
        for number, line in read_lines(self.path, self.encoding):
            yield from answers.feed(number, line)
        yield from answers.finish()
