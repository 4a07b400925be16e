"""Draw trees as one SVG picture that needs nothing else; everything in it is escaped.

The words stand in a row at the bottom, each in a column as wide as it needs. A phrase stands above its words
at its height in the tree and shows its head word, which is one of them and so fits into their columns: no two
boxes can overlap. In a tree without a model, a phrase shows its label instead, for which its columns are widened
where they must be, and words have their tags above them. A line leaves a phrase in the free space below it, goes
sideways there, and then down in the column of the part it leads to, where nothing else stands: no line can cross a
box.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import NamedTuple

from lexitree.arrays import NO_INDEX
from lexitree.trees.tree import NO_LABEL, Tree, refuse_inner_words
from lexitree.views.colors import Look, label_looks
from lexitree.views.shown_tree import (
    SHOWN_NO_LABEL,
    PlainTree,
    ShownTree,
    head_of,
    head_path,
    is_word,
    own_label_set,
    probability_of,
    shown_words,
    shows_labels,
)
from lexitree.views.visible import printable

FONT_SIZE = 13
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
BOX_HEIGHT = 22
TAG_SIZE = 10
TAG_HEIGHT = 13
"""By how much the box of a word is higher if its tag stands above it."""
ROW_HEIGHT = 40
PADDING = 6
"""Between a word and the sides of its box."""
GAP = 4
"""Between the columns of two words."""
MARGIN = 12
SPACE_BETWEEN_PICTURES = 20
LEGEND_HEIGHT = 26
SMALLEST_BOX = 14
EMPTY_BOX = 8
"""The box of a phrase that has nothing to show is a dot."""
MAX_SHOWN_CHARACTERS = 24
"""A longer word is cut; more of it shows on hovering."""
MAX_WIDENED_WORDS = 24
"""A longer phrase has room for any label."""
MAX_WORDS_ON_HOVERING = 100
"""Of a longer phrase, only the first and the last words show."""

_NO_LOOK = Look("#ffffff", "#1a1a1a")

_STYLE = (
    f"text{{font:{FONT_SIZE}px {FONT};text-anchor:middle;dominant-baseline:central}}"
    "rect{stroke:#777777;stroke-width:1}"
    "path{fill:none;stroke:#a0a0a0;stroke-width:1.2}"
    "path.head{stroke:#333333;stroke-width:3}"
    "g.head rect{stroke:#111111;stroke-width:2.4}"
    "g.head text{font-weight:bold}"
    "text.name{text-anchor:start}"
    f"text.tag{{font-size:{TAG_SIZE}px;fill-opacity:0.75}}"
)


class Box(NamedTuple):
    """Where a node stands, in pixels."""

    left: float
    top: float
    width: float
    height: float = BOX_HEIGHT

    @property
    def middle(self) -> float:
        return self.left + self.width / 2

    @property
    def bottom(self) -> float:
        return self.top + self.height


def draw_svg(trees: Tree | ShownTree | Iterable[Tree | ShownTree]) -> str:
    """Draw a tree, or several below each other, in one SVG picture.

    What a model has labelled shows colours and head words: a box has the colour of its label and shows the head word;
    a thick line leads to the part that the head comes from. Other trees, such as parses, show the labels that they
    have. Hovering shows the label, its probability, the head and the words.

    Args:
        trees: A tree, labelled or not, or several of one label set.

    Returns:
        The text of an SVG file.

    Raises:
        TreeError: A tree is a dependency tree that no model has labelled.
    """
    shown = list(map(_shown, trees)) if isinstance(trees, Iterable) else [_shown(trees)]
    looks, names = _looks(shown)
    legend, width = _legend(names, looks)
    parts = [legend]
    top = MARGIN + (LEGEND_HEIGHT if legend else 0)
    for tree in shown:
        boxes = lay_out_boxes(tree)
        parts.append(f'<g transform="translate(0 {_number(top)})">')
        parts += _lines(tree, boxes)
        parts += _groups(tree, boxes, looks)
        parts.append("</g>")
        width = max(width, max(box.left + box.width for box in boxes))
        top += max(box.bottom for box in boxes) + SPACE_BETWEEN_PICTURES
    height = top - (SPACE_BETWEEN_PICTURES if shown else 0) + MARGIN
    size = f'width="{_number(width + MARGIN)}" height="{_number(height)}"'
    view = f'viewBox="0 0 {_number(width + MARGIN)} {_number(height)}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view}>'
    background = '<rect width="100%" height="100%" style="fill:#ffffff;stroke:none"/>'
    return "\n".join([opening, f"<style>{_STYLE}</style>", background, *filter(None, parts), "</svg>", ""])


def _shown(tree: Tree | ShownTree) -> ShownTree:
    if not isinstance(tree, Tree):
        return tree
    refuse_inner_words(tree, "drawn as a picture")
    return PlainTree(tree)


def _looks(trees: Sequence[ShownTree]) -> tuple[Mapping[str, Look], Sequence[str]]:
    """The colours of the labels, and the labels that the picture has to explain."""
    if not all(map(shows_labels, trees)):
        return label_looks(trees[0].label_set).light, trees[0].label_set.names
    labels = own_label_set(label for tree in trees for label in tree.labels)
    # Colours would add nothing to labels that stand in the boxes, unless they are on a scale.
    return ({} if labels.polarity is None else label_looks(labels).light), ()


def lay_out_boxes(tree: ShownTree) -> list[Box]:
    """The box of every node, in pre-order."""
    source = tree.source
    texts = [_shown_text(tree, node) for node in range(source.num_nodes)]
    tags = [_tag(tree, node) for node in range(source.num_nodes)]
    widths = [max(_box_width(text), _tag_width(tag)) for text, tag in zip(texts, tags, strict=True)]
    edges = _column_edges(source, widths)
    highest = int(source.heights[0])
    boxes: list[Box] = []
    heights = source.heights.tolist()
    middles = _middles(source, edges)
    for node, (start, end) in enumerate(source.spans):
        top, height = (highest - heights[node]) * ROW_HEIGHT, BOX_HEIGHT + (TAG_HEIGHT if tags[node] else 0)
        width = widths[node]
        if not texts[node] and shows_labels(tree):
            top, width, height = top + (BOX_HEIGHT - EMPTY_BOX) / 2, EMPTY_BOX, EMPTY_BOX
        first, last = edges[start] + GAP / 2, edges[end] - GAP / 2
        left = min(max(middles[node] - width / 2, first), last - width)
        boxes.append(Box(left, top, width, height))
    return boxes


def _column_edges(tree: Tree, widths: Sequence[float]) -> list[float]:
    """Where the column of each word begins, and after the last where it ends: wide enough for all boxes above it."""
    leaves: list[int] = tree.leaves.tolist()
    columns = [widths[leaf] + GAP for leaf in leaves]
    # Backwards, so that parts are given their room before the whole is.
    for width, (start, end) in zip(reversed(widths), reversed(tree.spans), strict=True):
        missing = width + GAP - sum(columns[start:end]) if end - start <= MAX_WIDENED_WORDS else 0.0
        if missing > 0:
            columns[start:end] = [column + missing / (end - start) for column in columns[start:end]]
    return list(accumulate(columns, initial=float(MARGIN)))


def _middles(tree: Tree, edges: Sequence[float]) -> list[float]:
    """Words in the middle of their columns, phrases midway between their first and last parts."""
    first, last = [0.0] * tree.num_nodes, [0.0] * tree.num_nodes
    starts, arity, parents = tree.starts.tolist(), tree.arity.tolist(), tree.parents.tolist()
    middles = [0.0] * tree.num_nodes
    # Backwards, a parent meets its last part first and its first part last.
    for node in range(tree.num_nodes - 1, -1, -1):
        if arity[node]:
            middles[node] = (first[node] + last[node]) / 2
        else:
            middles[node] = (edges[starts[node]] + edges[starts[node] + 1]) / 2
        parent = parents[node]
        if parent != NO_INDEX:
            last[parent] = last[parent] or middles[node]
            first[parent] = middles[node]
    return middles


def _lines(tree: ShownTree, boxes: Sequence[Box]) -> Iterator[str]:
    """From each phrase to its parts; those to which the head leads come last, on top of the others."""
    parents: list[int] = tree.source.parents.tolist()
    heads: list[int] = [] if tree.head_index is None else tree.head_index.tolist()
    gives_head = [bool(heads) and heads[node] == heads[parent] for node, parent in enumerate(parents)]
    for node in sorted(range(1, len(boxes)), key=gives_head.__getitem__):
        way = line_way(boxes[parents[node]], boxes[node])
        yield f'<path{_head_class(gives_head[node])} d="{way}"/>'


def line_way(upper: Box, lower: Box) -> str:
    """Down from the phrase, sideways in the free space below its row, and down to its part."""
    x, y = _number(upper.middle), _number(upper.bottom)
    bend = upper.bottom + (ROW_HEIGHT - BOX_HEIGHT) / 2
    return f"M{x} {y}V{_number(bend)}H{_number(lower.middle)}V{_number(lower.top)}"


def _groups(tree: ShownTree, boxes: Sequence[Box], looks: Mapping[str, Look]) -> Iterator[str]:
    # The sentence's own head is emphasised all the way down.
    emphasised = head_path(tree)
    for node, box in enumerate(boxes):
        look = looks.get(tree.labels[node], _NO_LOOK)
        rect = " ".join(
            f'{name}="{_number(value)}"'
            for name, value in zip(("x", "y", "width", "height"), box, strict=True)
        )
        text, tag = escape(_shown_text(tree, node)), escape(_tag(tree, node))
        x, y = _number(box.middle), _number(box.bottom - BOX_HEIGHT / 2)
        tag_y = _number(box.top + TAG_HEIGHT / 2 + 2)
        yield (
            f"<g{_head_class(emphasised[node])}><title>{escape(_hover_text(tree, node))}</title>"
            f'<rect {rect} rx="4" fill="{look.fill}"/>'
            + (f'<text class="tag" x="{x}" y="{tag_y}" fill="{look.ink}">{tag}</text>' if tag else "")
            + (f'<text x="{x}" y="{y}" fill="{look.ink}">{text}</text>' if text else "")
            + "</g>"
        )


def _head_class(emphasised: bool) -> str:
    return ' class="head"' if emphasised else ""


def _shown_text(tree: ShownTree, node: int) -> str:
    """The word of a leaf, the head word or the label of a phrase, and nothing where there is neither."""
    if is_word(tree, node):
        return _shorten(tree.words[int(tree.source.starts[node])])
    return _shorten(tree.labels[node] if shows_labels(tree) else head_of(tree, node) or "")


def _tag(tree: ShownTree, node: int) -> str:
    """The label of a word that no model has labelled, and nothing elsewhere."""
    return _shorten(tree.labels[node]) if is_word(tree, node) and shows_labels(tree) else ""


def _hover_text(tree: ShownTree, node: int) -> str:
    """`positive 0.98, head: clever` and the words of the phrase below."""
    label, probability, head = tree.labels[node], probability_of(tree, node), head_of(tree, node)
    shown = printable(label) if label != NO_LABEL else SHOWN_NO_LABEL
    share = "" if probability is None else f" {probability:.3f}"
    lead = "" if head is None else f", head: {printable(head)}"
    words = shown_words(tree, node, MAX_WORDS_ON_HOVERING)
    return f"{shown}{share}{lead}\n{' '.join(map(printable, words))}"


def _legend(names: Sequence[str], looks: Mapping[str, Look]) -> tuple[str, float]:
    """The colours with their labels in a row, and how far to the right it reaches."""
    parts: list[str] = []
    x = float(MARGIN)
    for label in names:
        name = _shorten(label)
        parts.append(
            f'<rect x="{_number(x)}" y="{MARGIN}" width="14" height="14" rx="3" fill="{looks[label].fill}"/>'
            f'<text class="name" x="{_number(x + 19)}" y="{MARGIN + 7}">{escape(name)}</text>'
        )
        x += 19 + text_width(name) + 16
    return "".join(parts), x


def _shorten(word: str) -> str:
    text = printable(word[: MAX_SHOWN_CHARACTERS + 1])
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[: MAX_SHOWN_CHARACTERS - 1] + "…"


def _box_width(text: str) -> float:
    return max(SMALLEST_BOX, text_width(text) + 2 * PADDING)


def _tag_width(tag: str) -> float:
    return text_width(tag) * TAG_SIZE / FONT_SIZE + 2 * PADDING if tag else 0.0


def text_width(text: str) -> float:
    """An upper estimate in pixels, in bold: how wide letters really are only the viewer's font knows."""
    return FONT_SIZE * sum(map(_character_width, text))


def _character_width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.1
    if character in "iljtfrI.,;:!|'`-() ":
        return 0.42
    return 0.95 if character in "mwMW@%—…" else 0.78 if character.isupper() else 0.64


def _number(value: float) -> str:
    """A coordinate without needless digits."""
    return f"{value:.1f}".removesuffix(".0")
