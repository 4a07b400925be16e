"""Scores a file of trees against a file of gold trees; errors name files and lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from lexitree.corpora.treebank import read_any
from lexitree.errors import FileError, InputError, OnError, Place
from lexitree.evaluation.bracket_counts import SentenceCounts, TagSource, check_tag_source, count_sentence
from lexitree.evaluation.bracket_score import BracketScores, sum_up
from lexitree.files import display_name
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import Tree


def score_tree_files(
    gold: str | Path,
    guessed: str | Path,
    *,
    tags: TagSource = "gold",
    on_error: OnError = "raise",
    encoding: str = "utf-8",
) -> BracketScores:
    """Score the trees of a file against gold trees of the same sentences in the same order, as evalb does.

    Args:
        gold: The file of gold trees: brackets or JSON Lines; `-` is standard input.
        guessed: The file of predicted trees.
        tags: Which tags mark punctuation; see `score_brackets`.
        on_error: If the words of two trees differ: raise an error, or skip the sentence and list it among the faults.
        encoding: The encoding of both files.

    Returns:
        Precision, recall, F1 and evalb's other figures, overall, by length and by label.

    Raises:
        InputError: A tree is malformed, one file has fewer trees, or words differ and `on_error` is "raise".
        FileError: A file cannot be read, or there are no trees.
    """
    check_tag_source(tags)
    files = _TreeFile(gold, encoding), _TreeFile(guessed, encoding)
    scores = sum_up(_count_pairs(*files, tags, on_error), on_error)
    if not scores.overall.num_sentences:
        raise FileError(gold, "has no trees")
    return scores


class _TreeFile:
    """The trees of a file, and where the latest stands."""

    def __init__(self, path: str | Path, encoding: str) -> None:
        self.name = display_name(path)
        self.report = ReadReport()
        self.trees: Iterator[Tree] = iter(read_any(path, encoding=encoding, report=self.report))

    @property
    def place(self) -> Place:
        return Place(self.name, self.report.line)


def _count_pairs(
    gold: _TreeFile, guessed: _TreeFile, tags: TagSource, on_error: OnError
) -> Iterator[SentenceCounts]:
    for tree, guess in zip_longest(gold.trees, guessed.trees):
        if tree is None or guess is None:
            longer, shorter = (guessed, gold) if tree is None else (gold, guessed)
            raise InputError(
                longer.place,
                f"{shorter.name} has no tree for this one, only {shorter.report.num_trees:,} before it",
                remedy="Both files need a tree for each sentence, in the same order.",
            )
        counts = count_sentence(tree, guess, tags)
        if counts.is_error and on_error == "raise":
            raise InputError(
                guessed.place,
                f"{counts.problem} ({gold.place})",
                remedy="Score trees over the same words, or skip such sentences with --on-error skip.",
            )
        yield replace(counts, problem=f"{guessed.place}: {counts.problem}") if counts.problem else counts
