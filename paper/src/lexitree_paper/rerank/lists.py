"""Reading candidate lists from JSON Lines: one sentence with its scored trees per line.

A line is an object with a list `candidates` (or `parses`, as `lexitree parse --kbest 8 --format json` writes them)
and, where it is known, a tree `gold`. A candidate has a `score` (or `log_probability`) and a tree: in brackets
as `tree`, or as `words` and `phrases` of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, cast

from lexitree.errors import InputError, JsonLinesError, LexitreeError, OnError, Place, TreeError
from lexitree.files import display_name, read_lines
from lexitree.trees.brackets import ReadReport, strip_traces, surface_form, tree_from_brackets
from lexitree.trees.jsonl import parse_json_line, tree_from_json
from lexitree.trees.tree import Tree

LIST_KEYS = ("candidates", "parses")
SCORE_KEYS = ("score", "log_probability")
GOLD_KEY, TREE_KEY = "gold", "tree"

SAME_WORDS = "All trees of a list must have the words of one sentence, one to one."

NOWHERE = Place("<list>")


class ScoredTree(NamedTuple):
    """A candidate tree with the parser's score: a log probability, or any number that is higher for better trees."""

    tree: Tree
    score: float


@dataclass(frozen=True, slots=True)
class CandidateList:
    """The candidate trees of one sentence, in any order."""

    candidates: tuple[ScoredTree, ...]
    gold: Tree | None = None
    place: Place = NOWHERE
    """Where the list was read, for error messages."""

    def __post_init__(self) -> None:
        if not self.candidates:
            raise JsonLinesError(self.place, "a list without candidates", remedy="Leave the sentence out.")
        words = self.words
        if not words:
            raise JsonLinesError(self.place, "candidate 1 has no words, only traces")
        for number, candidate in enumerate(self.candidates, 1):
            _check_words(f"candidate {number}", candidate.tree, words, self.place)
            if not math.isfinite(candidate.score):
                raise JsonLinesError(self.place, f"the score of candidate {number} is no finite number")
        if self.gold is not None:
            _check_words("the gold tree", self.gold, words, self.place)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the sentence, as the first candidate spells them."""
        return _words_of(self.candidates[0].tree)

    @property
    def first(self) -> int:
        """The index of the parser's own choice: the candidate with the highest score, the earlier one of equals."""
        return max(range(len(self.candidates)), key=lambda place: self.candidates[place].score)


def _check_words(name: str, tree: Tree, words: tuple[str, ...], place: Place) -> None:
    if tree.words == words:
        return
    found = _words_of(tree)
    for number, (one, other) in enumerate(zip_longest(words, found), 1):
        if one is None or other is None:
            problem = f"{name} has {len(found):,} words, candidate 1 has {len(words):,}"
        elif surface_form(one) != surface_form(other):
            problem = f"word {number} is {one!r} in candidate 1, {other!r} in {name}"
        else:
            continue
        raise JsonLinesError(place, problem, remedy=SAME_WORDS)


def _words_of(tree: Tree) -> tuple[str, ...]:
    kept = strip_traces(tree)
    return () if kept is None else kept.words


def read_lists(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    needs_gold: bool = False,
) -> Iterator[CandidateList]:
    """Yield the lists of a file, one line at a time; empty lines are skipped.

    Args:
        path: The file; `-` is standard input.
        encoding: Its encoding.
        on_error: Whether a malformed list is an error, or is skipped and reported.
        report: Where skipped lists are noted.
        needs_gold: Whether a list without a gold tree counts as malformed.
    """
    report = report if report is not None else ReadReport()
    name = display_name(path)
    for number, line in read_lines(path, encoding):
        if not line.strip():
            continue
        try:
            found = parse_list(line, number, name)
            if needs_gold and found.gold is None:
                raise JsonLinesError(found.place, "has no gold tree", remedy=NO_GOLD)
        except InputError as error:
            report.note(error, on_error)
            continue
        report.num_trees += 1
        yield found


NO_GOLD = 'Give the right tree as "gold", or leave such lists out with --on-error skip.'


def parse_list(line: str, number: int, name: str) -> CandidateList:
    """Read the list on one line."""
    place = Place(name, number)
    values = parse_json_line(line, number, name)
    listed = next((values[key] for key in LIST_KEYS if key in values), None)
    if not isinstance(listed, list) or not listed:
        raise JsonLinesError(
            place,
            'a line holds an object with a list "candidates" that is not empty',
            remedy='Like this: {"candidates": [{"score": -1.5, "tree": "(S (NN yes))"}], "gold": "(S (NN yes))"}',
        )
    candidates = [
        _read_candidate(candidate, f"candidate {rank}", place)
        for rank, candidate in enumerate(cast(list[object], listed), 1)
    ]
    gold = values.get(GOLD_KEY)
    return CandidateList(
        tuple(candidates), None if gold is None else _read_tree(gold, "the gold tree", place), place
    )


def _read_candidate(value: object, name: str, place: Place) -> ScoredTree:
    if not isinstance(value, Mapping):
        raise JsonLinesError(place, f'{name} is not an object {{"score": ..., "tree": ...}}')
    candidate = cast(Mapping[str, Any], value)
    score = next((candidate[key] for key in SCORE_KEYS if key in candidate), None)
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise JsonLinesError(
            place,
            f'{name} has no number as its "score"',
            remedy="The parser's score is weighed against the reranker's; give all candidates 0 if there is none.",
        )
    try:
        number = float(score)
    except OverflowError as error:
        raise JsonLinesError(place, f"the score of {name} is no finite number") from error
    return ScoredTree(_read_tree(candidate.get(TREE_KEY, candidate), name, place), number)


def _read_tree(value: object, name: str, place: Place) -> Tree:
    try:
        tree = tree_from_brackets(value, name) if isinstance(value, str) else tree_from_json(value)
        if tree.has_inner_words:
            raise TreeError("a dependency tree has no phrases to be compared")
    except LexitreeError as error:
        raise JsonLinesError(place, f"{name} is no tree: {error.message}") from error
    return tree
