"""Splits what a parser writes into one answer per sentence and reads the tree in each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lexitree.errors import BracketError, Place
from lexitree.trees.bracket_parser import BracketParser
from lexitree.trees.tree import Tree

AnswerLayout = Literal["free", "line"]
""""free": trees with line breaks anywhere; "line": exactly one line per sentence."""

MAX_ANSWER_CHARACTERS = 1 << 26
"""Longer trees are refused, so that a parser that never closes its brackets cannot fill the memory."""

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
        parser = BracketParser(name, layout="free")
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
