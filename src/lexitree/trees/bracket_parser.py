"""An incremental parser for bracketed trees, which reads any depth without recursion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from lexitree.errors import BracketError, Place, TreeError
from lexitree.files import MAX_LINE_CHARACTERS
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.trees.tree_limits import MAX_NODES, MAX_WORDS, TOO_LARGE, too_many

MAX_TREE_CHARACTERS = MAX_LINE_CHARACTERS
"""Longer trees, over all their lines, are an error: words can be long, too."""

WRITTEN_NO_LABEL = "_"
"""How an unlabelled node is written: `(_ film)`, since `(film)` would make the word a label."""

BracketLayout = Literal["line", "indented", "free"]
"""One tree per line; continuation lines indented, as in Penn's files; or line breaks anywhere."""

# Only ASCII white space separates tokens: three SST tokens contain a no-break space.
SPACE, TEXT = r"[ \t\r\n\f\v]", r"[^() \t\r\n\f\v]"

# Half of all nodes are leaves such as `(NN film)`, so a leaf is one token. The quantifiers are possessive, so no
# input causes backtracking.
_TOKEN = re.compile(
    rf"\({SPACE}*+(?P<tag>{TEXT}++){SPACE}++(?P<leaf>{TEXT}++){SPACE}*+\)"
    rf"|(?P<open>\({SPACE}*+(?>(?:{TEXT}++)?))|(?P<close>\))|(?P<text>{TEXT}++)"
)

_ONLY_OPENINGS = re.compile(rf"(?>(?:{SPACE}*+\({SPACE}*+(?>(?:{TEXT}++)?))+){SPACE}*+")

_RARE_MISTAKE = 10
"""If fewer complete lines than this occur per line that only opens brackets, as `(S`, trees span several lines."""


def find_bracket_layout(lines: list[str], *, is_all: bool = False) -> BracketLayout:
    """Guess the layout from the first lines of a file, or from all of them (`is_all`).

    With a known layout, a missing bracket is detected where its tree should have ended, and the next tree is read.
    """
    filled = [line for line in lines if line.strip()]
    flush = [line.startswith("(") for line in filled]
    num_whole = sum(starts and _is_balanced(line) for line, starts in zip(filled, flush, strict=True))
    num_openings = sum(1 for line in filled if _ONLY_OPENINGS.fullmatch(line))
    # If nothing closes them further down, a line that only opens brackets may be a truncated tree.
    never_closed = is_all and all(line.count(")") <= line.count("(") for line in filled)
    are_mistakes = never_closed or num_whole >= _RARE_MISTAKE * num_openings
    if num_whole and 2 * num_whole >= len(filled) and are_mistakes:
        return "line"
    num_indented = sum(line[0] in " \t" for line in filled)
    starts_flush = num_indented >= max(1, sum(flush)) and _trees_start_flush(filled, flush)
    return "indented" if starts_flush else "free"


def _is_balanced(line: str) -> bool:
    return line.count("(") == line.count(")")


def _trees_start_flush(lines: list[str], flush: list[bool]) -> bool:
    """Return whether trees are mostly complete where a line starts with a bracket in column 1.

    Surplus closing brackets mean that such lines also occur inside of trees; missing ones may be a mistake.
    """
    num_complete = num_overfull = depth = 0
    for line, starts_flush in zip([*lines, "("], [*flush, True], strict=True):
        if starts_flush:
            num_complete += depth == 0
            num_overfull += depth < 0
            depth = 0
        depth += line.count("(") - line.count(")")
    return num_complete >= num_overfull


class BracketParser:
    """Turns lines into trees; its state is the tree that is currently open.

    Args:
        name: The name of the input for error messages.
        layout: How trees are divided into lines.
        max_nodes: Trees with more nodes are an error.
        max_words: Trees with more words are an error.
    """

    def __init__(
        self,
        name: str,
        *,
        layout: BracketLayout,
        max_nodes: int = MAX_NODES,
        max_words: int = MAX_WORDS,
    ) -> None:
        self.name = name
        self.layout = layout
        self.max_nodes = max_nodes
        self.max_words = max_words
        self.number = 0
        self.line = ""
        self.resynchronizing = False
        self._clear()

    def _clear(self) -> None:
        self.arity: list[int] = []
        self.labels: list[str] = []
        self.words: list[str] = []
        self.path: list[int] = []
        self.opening: list[tuple[int, int]] = []
        self.bare: dict[int, str] = {}
        self.expects_label = False
        self.first_line = ""
        self.num_characters = 0

    def drop_tree(self) -> None:
        """After an error: discard the open tree and wait for the start of the next."""
        self._clear()
        self.resynchronizing = self.layout != "line"

    def end_before(self, line: str) -> None:
        """Raise if this line starts a tree while another is still open."""
        if self.path and self.layout == "indented" and line.startswith("("):
            raise self._unclosed()

    def finish(self) -> None:
        """Raise if a tree is still open at the end of the input."""
        if self.path:
            raise self._unclosed()

    def feed(self, number: int, line: str) -> Iterator[Tree]:
        """Yield the trees that end on this line."""
        self.number, self.line = number, line
        if self.resynchronizing and not line.startswith("("):
            return
        self.resynchronizing = False
        self.num_characters = len(line) + (self.num_characters if self.path else 0)
        if self.num_characters > MAX_TREE_CHARACTERS:
            raise self._error(f"tree has more than {MAX_TREE_CHARACTERS:,} characters", 1)
        for match in _TOKEN.finditer(line):
            kind = match.lastgroup
            if kind == "leaf":
                self._add_leaf(match)
            elif kind == "open":
                self._open(match)
            elif kind == "close":
                self._close(match)
            else:
                self._add_text(match)
            if not self.path:
                yield self._take_tree(match)
        if self.layout == "line" and self.path:
            raise self._unclosed()

    def _error(self, problem: str, column: int, *, remedy: str = "") -> BracketError:
        return BracketError(Place(self.name, self.number, column, self.line), problem, remedy=remedy)

    def _unclosed(self) -> BracketError:
        """Point at the innermost open bracket if it is on the first line, else at the start of the tree."""
        (first_number, first_column), (number, column) = self.opening[0], self.opening[-1]
        if number != first_number:
            number, column = first_number, first_column
        problem = f"this bracket is never closed ({len(self.path)} still open)"
        return BracketError(Place(self.name, number, column, self.first_line), problem)

    def _add_node(self, label: str, match: re.Match[str]) -> int:
        node = len(self.arity)
        if node >= self.max_nodes:
            problem = too_many(self.max_nodes, "nodes")
            raise self._error(problem, match.start() + 1, remedy=TOO_LARGE)
        if self.path:
            self.arity[self.path[-1]] += 1
        self.arity.append(0)
        self.labels.append(label)
        return node

    def _add_word(self, word: str, match: re.Match[str]) -> None:
        if len(self.words) >= self.max_words:
            problem = too_many(self.max_words, "words")
            raise self._error(problem, match.start() + 1, remedy=TOO_LARGE)
        self.words.append(word)

    def _add_leaf(self, match: re.Match[str]) -> None:
        self._settle_bare(match)
        self._add_node(match["tag"], match)
        self._add_word(match["leaf"], match)

    def _open(self, match: re.Match[str]) -> None:
        if self.path:
            self._settle_bare(match)
        else:
            self.first_line = self.line
        label = match["open"][1:].lstrip(" \t\r\n\f\v")
        self.path.append(self._add_node(label, match))
        self.opening.append((self.number, match.start() + 1))
        self.expects_label = not label

    def _add_text(self, match: re.Match[str]) -> None:
        if not self.path:
            remedy = "A tree starts with '('; is this a bracket file?"
            raise self._error("text outside of brackets", match.start() + 1, remedy=remedy)
        node = self.path[-1]
        if self.expects_label:
            self.labels[node] = match["text"]
            self.expects_label = False
        elif self.arity[node] == 0 and node not in self.bare:
            # Either the word of a leaf, `(NN film)`, or the first of several: the next token decides.
            self.bare[node] = match["text"]
        else:
            self._settle_bare(match)
            self._add_node(NO_LABEL, match)
            self._add_word(match["text"], match)

    def _settle_bare(self, match: re.Match[str]) -> None:
        """Make the word that was held back a leaf, since it is not alone in its bracket."""
        self.expects_label = False
        if self.bare and self.path[-1] in self.bare:
            word = self.bare.pop(self.path[-1])
            self._add_node(NO_LABEL, match)
            self._add_word(word, match)

    def _close(self, match: re.Match[str]) -> None:
        if not self.path:
            raise self._error("unmatched closing bracket", match.start() + 1)
        node = self.path.pop()
        start_number, start_column = self.opening.pop()
        self.expects_label = False
        if node in self.bare:
            self._add_word(self.bare.pop(node), match)
        elif self.arity[node] == 0:
            label = self.labels[node]
            problem = f"bracket '{label}' contains no word" if label else "empty bracket"
            raise self._error(problem, start_column if start_number == self.number else match.start() + 1)

    def _take_tree(self, match: re.Match[str]) -> Tree:
        arity, labels, words = self.arity, self.labels, self.words
        self._clear()
        if arity[0] == 1 and labels[0] == NO_LABEL:
            # Penn files wrap each sentence in a bracket without a label, which is not a phrase.
            arity, labels = arity[1:], labels[1:]
        if WRITTEN_NO_LABEL in labels:
            labels = [NO_LABEL if label == WRITTEN_NO_LABEL else label for label in labels]
        try:
            return Tree(arity, labels, words)
        except TreeError as error:
            raise self._error(error.message, match.end()) from error
