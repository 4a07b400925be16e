"""Read and write bracketed trees, as in Penn and SST files, as a stream."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lexitree.errors import BracketError, InputError, OnError, TreeError
from lexitree.files import display_name, read_lines
from lexitree.limits import cache_short_texts
from lexitree.text.tokens import BRACKET_FORMS
from lexitree.trees.bracket_parser import (
    TEXT,
    WRITTEN_NO_LABEL,
    BracketParser,
    find_bracket_layout,
)
from lexitree.trees.tree import CHAIN_JOINT, Tree, refuse_inner_words
from lexitree.trees.tree_limits import MAX_NODES, MAX_WORDS

Item = TypeVar("Item")

LINES_LOOKED_AT = 64
CHARACTERS_LOOKED_AT = 1 << 20
"""The number of lines and characters from which the layout of a file is guessed."""

MAX_LISTED_ERRORS = 1_000
"""How many skipped errors are kept; all are counted."""

_TEXT = re.compile(f"{TEXT}+")
_WHITE_SPACE = re.compile(r"\s+")
_SURFACE = {escape: surface for surface, escape in BRACKET_FORMS.items()}
_ESCAPE = re.compile("|".join(map(re.escape, _SURFACE)), re.IGNORECASE)


def surface_form(word: str) -> str:
    """Return a word as readers see it: `-LRB-` is `(`, `\\/` is `/`, `\\*` is `*`."""
    if "-" in word:
        word = _ESCAPE.sub(lambda match: _SURFACE[match[0].upper()], word)
    return word.replace("\\/", "/").replace("\\*", "*") if "\\" in word else word


def same_surface(words: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether two lists of words look the same to a reader."""
    return list(map(surface_form, words)) == list(map(surface_form, others))


@dataclass(slots=True)
class ReadReport:
    """What a reader found: the number of trees, and the errors that it skipped."""

    num_trees: int = 0
    num_errors: int = 0
    errors: list[InputError] = field(default_factory=list[InputError])
    """The first errors, at most MAX_LISTED_ERRORS."""
    line: int = 0
    """The last line of the latest tree."""

    def attempt(self, on_error: OnError, parse: Callable[..., Item], *arguments: Any) -> Item | None:
        """Parse one item and count it; None if it is malformed and errors are skipped."""
        try:
            tree = parse(*arguments)
        except InputError as error:
            self.note(error, on_error)
            return None
        self.num_trees += 1
        return tree

    def note(self, error: InputError, on_error: OnError) -> None:
        """Raise the error or, if errors are skipped, count and list it."""
        if on_error == "raise":
            raise error
        self.num_errors += 1
        if len(self.errors) < MAX_LISTED_ERRORS:
            self.errors.append(error)

    def add(self, other: ReadReport) -> None:
        """Add the errors of another report."""
        self.num_errors += other.num_errors
        self.errors += other.errors[: MAX_LISTED_ERRORS - len(self.errors)]


def read_trees(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    max_nodes: int = MAX_NODES,
    max_words: int = MAX_WORDS,
) -> Iterator[Tree]:
    """Yield the trees of a bracket file, holding one tree in memory at a time.

    Args:
        path: The file; `-` is standard input, and `.gz` is decompressed on the fly.
        encoding: Its encoding.
        on_error: Whether to "raise" at a malformed tree or to "skip" it.
        report: Counts the trees and collects the errors that are skipped.
        max_nodes: Trees with more nodes are malformed.
        max_words: Trees with more words are malformed.

    Raises:
        BracketError: A tree is malformed.
        FileError: The file cannot be read.
        EncodingError: The file is in another encoding.
    """
    lines = read_lines(path, encoding)
    yield from read_bracket_lines(
        lines,
        display_name(path),
        on_error=on_error,
        report=report,
        max_nodes=max_nodes,
        max_words=max_words,
    )


def read_bracket_lines(
    lines: Iterable[tuple[int, str]],
    name: str = "<brackets>",
    *,
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    max_nodes: int = MAX_NODES,
    max_words: int = MAX_WORDS,
) -> Iterator[Tree]:
    """Yield the trees of numbered lines; see `read_trees`."""
    report = report if report is not None else ReadReport()
    stream = iter(lines)
    first_lines, is_all = _take_first(stream)
    layout = find_bracket_layout([line for _, line in first_lines], is_all=is_all)
    parser = BracketParser(name, layout=layout, max_nodes=max_nodes, max_words=max_words)
    for number, line in itertools.chain(first_lines, stream):
        try:
            parser.end_before(line)
        except BracketError as error:
            report.note(error, on_error)
            parser.drop_tree()
        yield from _parse_line(parser, number, line, on_error, report)
    try:
        parser.finish()
    except BracketError as error:
        report.note(error, on_error)


def _take_first(lines: Iterator[tuple[int, str]]) -> tuple[list[tuple[int, str]], bool]:
    """Return the first lines, and whether these are all."""
    taken: list[tuple[int, str]] = []
    num_characters = 0
    for number, line in lines:
        taken.append((number, line))
        num_characters += len(line)
        if len(taken) == LINES_LOOKED_AT or num_characters > CHARACTERS_LOOKED_AT:
            return taken, False
    return taken, True


def tree_from_brackets(text: str, name: str = "<brackets>") -> Tree:
    """Parse a string that contains one tree; the inverse of `tree_to_brackets`.

    Args:
        text: The tree in brackets, with any line breaks.
        name: The name of the input for error messages.

    Raises:
        BracketError: The brackets are malformed.
        TreeError: The text contains no tree, or several.
    """
    parser = BracketParser(name, layout="free")
    trees = [tree for number, line in enumerate(text.split("\n"), 1) for tree in parser.feed(number, line)]
    parser.finish()
    if len(trees) != 1:
        raise TreeError(f"expected one bracketed tree, found {len(trees)}: {text[:60]!r}")
    return trees[0]


def tree_to_brackets(tree: Tree) -> str:
    """Write a tree on one line, with brackets inside words escaped (`-LRB-`).

    Raises:
        TreeError: The tree is a dependency tree, or a word is empty or contains white space.
    """
    refuse_inner_words(tree, "written in brackets")
    pieces: list[str] = []
    words = iter(tree.words)
    missing: list[int] = []
    for num_children, label in zip(tree.arity.tolist(), tree.labels, strict=True):
        if pieces:
            pieces.append(" ")
        if missing:
            missing[-1] -= 1
        label = written_label(label)
        if num_children:
            pieces.append(f"({label}")
            missing.append(num_children)
            continue
        pieces.append(f"({label} {_escape(next(words))})")
        while missing and missing[-1] == 0:
            missing.pop()
            pieces.append(")")
    return "".join(pieces)


def written_tree(tree: Tree) -> str:
    """The tree in brackets; white space inside a word, which brackets cannot hold, becomes `_`."""
    if any(map(_WHITE_SPACE.search, tree.words)):
        tree = Tree(tree.arity, tree.labels, [_WHITE_SPACE.sub("_", word) for word in tree.words])
    return tree_to_brackets(tree)


def written_label(label: str) -> str:
    """A label as it stands in brackets."""
    return _escape(label or WRITTEN_NO_LABEL)


@cache_short_texts
def written_word(word: str) -> str:
    """A word as it stands in the brackets of `written_tree`."""
    return _escape(_WHITE_SPACE.sub("_", word))


def _escape(token: str) -> str:
    token = token.replace("(", "-LRB-").replace(")", "-RRB-")
    if not _TEXT.fullmatch(token):
        what = f"{token!r}, which contains white space," if token else "an empty word"
        raise TreeError(f"{what} cannot be written in brackets", remedy="Write JSON Lines instead.")
    return token


def _parse_line(
    parser: BracketParser, number: int, line: str, on_error: OnError, report: ReadReport
) -> Iterator[Tree]:
    try:
        for tree in parser.feed(number, line):
            report.num_trees += 1
            report.line = number
            yield tree
    except BracketError as error:
        report.note(error, on_error)
        parser.drop_tree()


def write_trees(trees: Iterable[Tree], write: Callable[[str], object]) -> int:
    """Write trees as they come, one per line.

    Args:
        trees: The trees.
        write: Called with each line.

    Returns:
        The number of trees written.
    """
    num_trees = 0
    for tree in trees:
        write(tree_to_brackets(tree) + "\n")
        num_trees += 1
    return num_trees


TRACE_LABEL = "-NONE-"
"""The label of a leaf that is an empty element, not a word."""

# A label that starts with a dash, such as -LRB-, is not a category with tags.
_CATEGORY_AND_TAGS = re.compile(r"(@?[^-=@][^-=]*)[-=].*", re.DOTALL)


def strip_traces(tree: Tree) -> Tree | None:
    """Remove traces (`-NONE-` leaves) and the phrases that become empty; None if no word remains."""
    leaves: list[int] = tree.leaves.tolist()
    is_word = np.array([tree.labels[leaf] != TRACE_LABEL for leaf in leaves], dtype=np.bool_)
    if is_word.all():
        return tree
    if not is_word.any():
        return None
    num_words_before = np.concatenate([[0], np.cumsum(is_word)])
    kept = num_words_before[tree.ends] > num_words_before[tree.starts]
    arity = np.bincount(tree.parents[kept][1:], minlength=tree.num_nodes)[kept]
    labels = [tree.labels[node] for node in np.flatnonzero(kept).tolist()]
    return Tree(arity, labels, [tree.words[word] for word in np.flatnonzero(is_word).tolist()])


def strip_function_tags(tree: Tree) -> Tree:
    """Reduce labels to categories: `NP-SBJ-1` and `NP=2` become NP; `-LRB-` and `ADVP|PRT` stay."""
    labels = tuple(map(without_function_tags, tree.labels))
    return tree if labels == tree.labels else tree.with_labels(labels)


@cache_short_texts
def without_function_tags(label: str) -> str:
    """Reduce a label to its category: `NP-SBJ-1` becomes NP."""
    parts = label.split(CHAIN_JOINT)
    matches = map(_CATEGORY_AND_TAGS.fullmatch, parts)
    return CHAIN_JOINT.join(match[1] if match else part for part, match in zip(parts, matches, strict=True))
