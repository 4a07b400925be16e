"""Draw a tree as an outline for the terminal, with labels, probabilities, head words and colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

from lexitree.labels import LabelSet
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import Tree
from lexitree.views.colors import label_styles
from lexitree.views.shown_tree import ShownTree, head_of, node_words, own_label_set, probability_of
from lexitree.views.visible import printable

if TYPE_CHECKING:
    from rich.text import Text

MAX_INDENTED_DEPTH = 24
"""Deeper nodes are not indented further; their depth stands in front as a number."""

HEAD_ARROW = "←"
SHOWN_NO_LABEL = "·"
GUIDE_STYLE = "dim"


@overload
def draw_tree(tree: Tree | ShownTree, *, color: Literal[False] = False) -> Iterator[str]: ...


@overload
def draw_tree(tree: Tree | ShownTree, *, color: Literal[True]) -> Iterator[Text]: ...


def draw_tree(tree: Tree | ShownTree, *, color: bool = False) -> Iterator[str] | Iterator[Text]:
    """Draw a tree as an outline, one line per node.

        positive 0.98 ← clever
        ├─ neutral 0.99 ← plot
        │  ├─ neutral 0.99  The
        │  └─ neutral 0.99  plot
        └─ positive 0.97  clever

    Args:
        tree: A plain tree, shown with its labels, or a labelled tree, shown with probabilities and head words too.
        color: Whether lines are `rich.text.Text` with a colour for each label, rather than strings.

    Returns:
        The lines, each made when it is asked for.
    """
    lines = _plain_lines(tree) if isinstance(tree, Tree) else _labelled_lines(tree)
    return _with_styles(lines, label_styles(_label_set(tree))) if color else (line.plain() for line in lines)


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


def _plain_lines(tree: Tree) -> Iterator[_Line]:
    return _outline(tree.arity.tolist(), tree.labels, map(surface_form, tree.node_words))


def _labelled_lines(tree: ShownTree) -> Iterator[_Line]:
    notes = (_note(tree, node) for node in range(tree.source.num_nodes))
    return _outline(tree.source.arity.tolist(), tree.labels, node_words(tree), notes)


def _note(tree: ShownTree, node: int) -> str:
    """`0.98 ← clever`: the probability of a node's label and, of a phrase, its head word."""
    probability, head = probability_of(tree, node), head_of(tree, node)
    parts = ("" if probability is None else f"{probability:.2f}", head and f"{HEAD_ARROW} {printable(head)}")
    return " ".join(filter(None, parts))


def _label_set(tree: Tree | ShownTree) -> LabelSet:
    if not isinstance(tree, Tree) and len(tree.node_probabilities):
        return tree.label_set
    return own_label_set(tree.labels)


def _outline(
    arity: Sequence[int], labels: Sequence[str], words: Iterable[str], notes: Iterable[str] | None = None
) -> Iterator[_Line]:
    guides: list[str] = []
    missing: list[int] = []
    for num_children, label, word, note in zip(
        arity, labels, words, [""] * len(arity) if notes is None else notes, strict=True
    ):
        shown = printable(label) or (SHOWN_NO_LABEL if num_children else "")
        yield _Line(_indent(guides, missing), shown, note, printable(word), label)
        if num_children:
            missing.append(num_children)
        while missing and missing[-1] == 0:
            missing.pop()


def _indent(guides: list[str], missing: list[int]) -> str:
    """The indentation of a node, given how many children each of its ancestors still lacks; updates both lists."""
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
