"""Adapter for a file of trees that were parsed elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lexitree.errors import BracketError, ParserError
from lexitree.files import display_name, read_lines
from lexitree.parsers.adapters.adapter import Adapter, OnRefused, Sentence, number_sentences
from lexitree.parsers.adapters.replies import Answer, AnswerLayout, make_answers
from lexitree.trees.tree import Tree


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
