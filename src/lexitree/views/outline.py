"""A tree in, lines of text for the terminal out: an outline that can carry notes, head words and colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from lexitree.errors import TreeError
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import NO_LABEL, Tree

if TYPE_CHECKING:
    from rich.text import Text

MAX_INDENTED_DEPTH = 24
"""Deeper nodes are not indented further; their depth stands in front as a number."""

HEAD_ARROW = "←"
SHOWN_NO_LABEL = "·"
GUIDE_STYLE = "dim"

_RAMP = ("red", "dark_orange", "grey62", "green_yellow", "green")
_PALETTE = (
    "cyan",
    "magenta",
    "yellow",
    "green",
    "blue",
    "red",
    "bright_cyan",
    "bright_magenta",
    "bright_blue",
)
ORDERED_NAMES = ("very negative", "negative", "neutral", "positive", "very positive")


@overload
def draw_tree(tree: Tree, *, notes: Sequence[str] | None = None, styles: None = None) -> Iterator[str]: ...


@overload
def draw_tree(
    tree: Tree, *, notes: Sequence[str] | None = None, styles: Mapping[str, str]
) -> Iterator[Text]: ...


def draw_tree(
    tree: Tree, *, notes: Sequence[str] | None = None, styles: Mapping[str, str] | None = None
) -> Iterator[str] | Iterator[Text]:
    """Yield a tree as an outline, one line a node, made as they are asked for.

        positive 0.98 ← clever
        ├─ neutral 0.99 ← plot
        │  ├─ neutral  The
        │  └─ neutral  plot
        └─ positive 0.97  clever

    `notes` has one text a node (see `head_notes`). With `styles`, a Rich style for each label (see
    `label_styles`), the lines are `rich.text.Text`; without, they are plain strings.
    """
    if notes is not None and len(notes) != tree.num_nodes:
        raise TreeError(f"{tree.num_nodes} nodes but {len(notes)} notes")
    lines = _outline(tree, notes)
    if styles is None:
        return (line.plain() for line in lines)
    return _with_styles(lines, styles)


def head_notes(
    tree: Tree, head_index: Iterable[int], probabilities: Iterable[float] | None = None
) -> list[str]:
    """Notes for `draw_tree`: the probability of each node and the head word of phrases: `0.98 ← clever`."""
    notes: list[str] = []
    shares = [""] * tree.num_nodes if probabilities is None else [f"{share:.2f}" for share in probabilities]
    for arity, head, share in zip(tree.arity.tolist(), head_index, shares, strict=True):
        arrow = f"{HEAD_ARROW} {shown_word(tree.words[head])}" if arity else ""
        notes.append(" ".join(filter(None, (share, arrow))))
    return notes


def label_styles(labels: Iterable[str]) -> dict[str, str]:
    """A Rich style for each label: from red to green where labels have an order, else one colour each.

    Numbers have an order, and so have the names of sentiments from `very negative` to `very positive`.
    """
    distinct = {label for label in labels if label != NO_LABEL}
    if distinct and all(label.isdecimal() for label in distinct):
        # Labels 0 to 4 keep their colours in a tree that has only some of them.
        highest = max(len(_RAMP) - 1, *map(int, distinct))
        return {label: _RAMP[int(label) * (len(_RAMP) - 1) // highest] for label in distinct}
    if distinct and distinct <= set(ORDERED_NAMES):
        return {label: _RAMP[ORDERED_NAMES.index(label)] for label in distinct}
    return {label: _PALETTE[place % len(_PALETTE)] for place, label in enumerate(sorted(distinct))}


def shown_word(word: str) -> str:
    """A word as a reader sees it, with control characters spelled out."""
    return printable(surface_form(word))


def printable(text: str) -> str:
    """No input may steer the terminal: an escape character shows as `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(map(_shown_character, text))


def _shown_character(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character == "\u00a0" else character.encode("unicode_escape").decode()


class _Line(NamedTuple):
    indent: str
    label: str
    note: str
    word: str
    style_key: str
    """The label as it stands in the tree, under which its style is found."""

    def plain(self) -> str:
        """`label note` of a phrase, `label note  word` of a word."""
        parts = " ".join(filter(None, (self.label, self.note)))
        gap = "  " if parts and self.word else ""
        return f"{self.indent}{parts}{gap}{self.word}"


def _outline(tree: Tree, notes: Sequence[str] | None) -> Iterator[_Line]:
    words = tree.node_words
    guides: list[str] = []
    missing: list[int] = []
    for node, num_children in enumerate(tree.arity.tolist()):
        label = tree.labels[node]
        shown = printable(label) or (SHOWN_NO_LABEL if num_children else "")
        word = shown_word(words[node])
        yield _Line(_indent(guides, missing), shown, notes[node] if notes is not None else "", word, label)
        if num_children:
            missing.append(num_children)
        while missing and missing[-1] == 0:
            missing.pop()


def _indent(guides: list[str], missing: list[int]) -> str:
    """What stands before a node whose ancestors still miss these numbers of children; updates the guides."""
    if not missing:
        return ""
    missing[-1] -= 1
    depth, is_last = len(missing), missing[-1] == 0
    branch = "└─ " if is_last else "├─ "
    if depth > MAX_INDENTED_DEPTH:
        return f"{''.join(guides)}… {depth:,} {branch}"
    indent = "".join(guides[: depth - 1]) + branch
    guides[depth - 1 :] = ["   " if is_last else "│  "]
    return indent


def _with_styles(lines: Iterable[_Line], styles: Mapping[str, str]) -> Iterator[Text]:
    from rich.text import Text

    for line in lines:
        plain = line.plain()
        text = Text(plain)
        label_start = len(line.indent)
        text.stylize(GUIDE_STYLE, 0, label_start)
        style = styles.get(line.style_key, "")
        if style:
            text.stylize(style, label_start, label_start + len(line.label))
            text.stylize(style, len(plain) - len(line.word), len(plain))
        yield text
