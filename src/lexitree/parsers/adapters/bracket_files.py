"""A file of trees that anything has parsed in; the trees out, matched with sentences or standing alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lexitree.errors import BracketError, ParserError
from lexitree.files import display_name, read_lines
from lexitree.parsers.adapters.adapter import Adapter, OnRefused, Sentence, number_sentences, strip_root
from lexitree.parsers.adapters.replies import Answer, AnswerLayout, make_answers
from lexitree.trees.brackets import read_trees
from lexitree.trees.tree import Tree


class BracketsParser(Adapter):
    """Gives the trees of a bracket file, which stand in the order of the sentences.

    Where trees are missing, a line such as `(())` must stand in their place; with `layout="line"`, in which
    every line is the answer to one sentence, an empty line will do.
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
        """The tree of each sentence; there must be as many trees as sentences. Each call reads from the start."""
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
            raise ParserError(
                f"{self.name}:{extra.line}: there are {num_sentences:,} sentences but more trees than that"
            )

    def read_all(self) -> Iterator[Tree]:
        """All trees of the file with their own words, for text that is nowhere else."""
        for tree in read_trees(self.path, encoding=self.encoding):
            self.report.num_sentences += 1
            yield strip_root(tree)

    def _settle(self, sentence: Sentence, answer: Answer) -> Tree:
        if not answer.has_tree:
            return self.refuse(sentence, f"line {answer.line:,} holds no tree")
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
