"""Trees with labels and head words in, one SVG picture out: text only, no package needed, everything escaped.

The words stand in a row at the bottom, each in a column as wide as it needs. A phrase stands above its words
at its height in the tree and shows its head word, which is one of them and so fits into their columns: no two
boxes can overlap. A line leaves a phrase in the free space below it, goes sideways there, and then down in the
column of the part it leads to, where nothing else stands: no line can cross a box.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from lexitree.arrays import NO_INDEX
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.views.outline import ORDERED_NAMES, printable, shown_word

FONT_SIZE = 13
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
BOX_HEIGHT = 22
ROW_HEIGHT = 40
PADDING = 6
"""Between a word and the sides of its box."""
GAP = 4
"""Between the columns of two words."""
MARGIN = 12
SPACE_BETWEEN_PICTURES = 20
LEGEND_HEIGHT = 26
SMALLEST_BOX = 14
MAX_SHOWN_CHARACTERS = 24
"""A longer word is cut; the whole of it shows on hovering."""

# From red over grey to blue: people who do not tell red from green still see which end is which.
_RAMP = ("#b2182b", "#ef9a80", "#e6e6e6", "#8fbfdf", "#2166ac")
_PALETTE = ("#8dd3c7", "#fdb462", "#bebada", "#fb8072", "#80b1d3", "#b3de69", "#fccde5", "#d9d9d9", "#bc80bd")
_NO_COLOR = "#ffffff"
_DARK_TEXT, _LIGHT_TEXT = "#1a1a1a", "#ffffff"
_LIGHT_TEXT_ON = frozenset({_RAMP[0], _RAMP[-1]})

_STYLE = (
    f"text{{font:{FONT_SIZE}px {FONT};text-anchor:middle;dominant-baseline:central}}"
    "rect{stroke:#777777;stroke-width:1}"
    "path{fill:none;stroke:#a0a0a0;stroke-width:1.2}"
    "path.head{stroke:#333333;stroke-width:3}"
    "g.head rect{stroke:#111111;stroke-width:2.4}"
    "g.head text{font-weight:bold}"
    "text.name{text-anchor:start}"
)


@dataclass(frozen=True)
class PictureTree:
    """A tree and what a picture shows of it; shorter sequences leave the last nodes without."""

    tree: Tree
    """The labels of its nodes are those shown."""
    head_index: Sequence[int] | None = None
    """The head word of every node."""
    probabilities: Sequence[float] = ()
    """The probability of the labels of the first nodes."""


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


def draw_svg(
    pictures: Sequence[PictureTree], labels: Sequence[str], names: Mapping[str, str] | None = None
) -> str:
    """Draw trees below each other in one SVG file.

    `labels` is the label set in its order, `names` are the labels as people read them. A box is coloured by its
    label and shows the head word; a thick line leads to the part that the head comes from. Hovering shows the
    label, its probability, the head and the words.
    """
    colors = label_colors(labels, names)
    legend, width = _legend(labels, names or {}, colors)
    parts = [legend]
    top = MARGIN + (LEGEND_HEIGHT if legend else 0)
    for picture in pictures:
        boxes = lay_out_boxes(picture)
        parts.append(f'<g transform="translate(0 {_number(top)})">')
        parts += _lines(picture, boxes)
        parts += _groups(picture, boxes, colors, names or {})
        parts.append("</g>")
        width = max(width, max(box.left + box.width for box in boxes))
        top += max(box.bottom for box in boxes) + SPACE_BETWEEN_PICTURES
    height = top - (SPACE_BETWEEN_PICTURES if pictures else 0) + MARGIN
    size = f'width="{_number(width + MARGIN)}" height="{_number(height)}"'
    view = f'viewBox="0 0 {_number(width + MARGIN)} {_number(height)}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view}>'
    background = '<rect width="100%" height="100%" style="fill:#ffffff;stroke:none"/>'
    return "\n".join([opening, f"<style>{_STYLE}</style>", background, *filter(None, parts), "</svg>", ""])


def label_colors(labels: Sequence[str], names: Mapping[str, str] | None = None) -> dict[str, str]:
    """A colour for each label: a ramp where labels are numbers or sentiments, else one colour each."""
    shown = [(names or {}).get(label, label) for label in labels]
    if shown and set(shown) <= set(ORDERED_NAMES):
        return {label: _RAMP[ORDERED_NAMES.index(name)] for label, name in zip(labels, shown, strict=True)}
    if len(labels) > 1 and all(label.isdecimal() for label in labels):
        steps = (len(_RAMP) - 1) / (len(labels) - 1)
        return {label: _RAMP[round(place * steps)] for place, label in enumerate(labels)}
    return {label: _PALETTE[place % len(_PALETTE)] for place, label in enumerate(labels)}


def lay_out_boxes(picture: PictureTree) -> list[Box]:
    """The box of every node, in pre-order."""
    tree = picture.tree
    edges = _column_edges(tree)
    highest = int(tree.heights[0])
    boxes: list[Box] = []
    heights, spans = tree.heights.tolist(), tree.spans
    middles = _middles(tree, edges)
    for node, (start, end) in enumerate(spans):
        width = _box_width(_shown_text(picture, node))
        first, last = edges[start] + GAP / 2, edges[end] - GAP / 2
        left = min(max(middles[node] - width / 2, first), last - width)
        boxes.append(Box(left, (highest - heights[node]) * ROW_HEIGHT, width))
    return boxes


def _column_edges(tree: Tree) -> list[float]:
    """Where the column of each word begins, and after the last where it ends."""
    edges = [float(MARGIN)]
    for word in tree.words:
        edges.append(edges[-1] + _box_width(_shorten(word)) + GAP)
    return edges


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


def _lines(picture: PictureTree, boxes: Sequence[Box]) -> Iterator[str]:
    """From each phrase to its parts; those to which the head leads come last, on top of the others."""
    parents: list[int] = picture.tree.parents.tolist()
    is_head = [_leads_to_head(picture, node, parents[node]) for node in range(len(boxes))]
    for node in sorted(range(1, len(boxes)), key=is_head.__getitem__):
        way = line_way(boxes[parents[node]], boxes[node])
        yield f'<path{_head_class(is_head[node])} d="{way}"/>'


def line_way(upper: Box, lower: Box) -> str:
    """Down from the phrase, sideways in the free space below its row, and down to its part."""
    x, y = _number(upper.middle), _number(upper.bottom)
    bend = upper.bottom + (ROW_HEIGHT - BOX_HEIGHT) / 2
    return f"M{x} {y}V{_number(bend)}H{_number(lower.middle)}V{_number(lower.top)}"


def _leads_to_head(picture: PictureTree, node: int, parent: int) -> bool:
    heads = picture.head_index
    return heads is not None and parent != NO_INDEX and heads[node] == heads[parent]


def _groups(
    picture: PictureTree, boxes: Sequence[Box], colors: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[str]:
    tree = picture.tree
    parents = tree.parents.tolist()
    for node, box in enumerate(boxes):
        label = tree.labels[node]
        color = colors.get(label, _NO_COLOR)
        ink = _LIGHT_TEXT if color in _LIGHT_TEXT_ON else _DARK_TEXT
        # The sentence's own head is emphasised all the way down.
        on_path = picture.head_index is not None and picture.head_index[node] == picture.head_index[0]
        emphasised = on_path and (node == 0 or _leads_to_head(picture, node, parents[node]))
        rect = " ".join(
            f'{name}="{_number(value)}"'
            for name, value in zip(("x", "y", "width", "height"), box, strict=True)
        )
        text = escape(_shown_text(picture, node))
        place = f'x="{_number(box.middle)}" y="{_number(box.top + box.height / 2)}"'
        yield (
            f"<g{_head_class(emphasised)}><title>{escape(_hover_text(picture, node, names))}</title>"
            f'<rect {rect} rx="4" fill="{color}"/>'
            + (f'<text {place} fill="{ink}">{text}</text>' if text else "")
            + "</g>"
        )


def _head_class(emphasised: bool) -> str:
    return ' class="head"' if emphasised else ""


def _shown_text(picture: PictureTree, node: int) -> str:
    """The word of a leaf, the head word of a phrase, and nothing where there are no heads."""
    tree = picture.tree
    if not tree.arity[node]:
        return _shorten(tree.words[int(tree.starts[node])])
    return "" if picture.head_index is None else _shorten(tree.words[picture.head_index[node]])


def _hover_text(picture: PictureTree, node: int, names: Mapping[str, str]) -> str:
    """`positive 0.98, head: clever` and the words of the phrase below."""
    tree, label = picture.tree, picture.tree.labels[node]
    shown = printable(names.get(label, label)) if label != NO_LABEL else "no label"
    probability = f" {picture.probabilities[node]:.3f}" if node < len(picture.probabilities) else ""
    head = ""
    if picture.head_index is not None and tree.arity[node]:
        head = f", head: {shown_word(tree.words[picture.head_index[node]])}"
    return f"{shown}{probability}{head}\n{' '.join(map(shown_word, tree.phrase(node)))}"


def _legend(labels: Sequence[str], names: Mapping[str, str], colors: Mapping[str, str]) -> tuple[str, float]:
    """The colours with their labels in a row, and how far to the right it goes."""
    parts: list[str] = []
    x = float(MARGIN)
    for label in labels:
        name = _shorten(names.get(label, label))
        parts.append(
            f'<rect x="{_number(x)}" y="{MARGIN}" width="14" height="14" rx="3" fill="{colors[label]}"/>'
            f'<text class="name" x="{_number(x + 19)}" y="{MARGIN + 7}">{escape(name)}</text>'
        )
        x += 19 + text_width(name) + 16
    return "".join(parts), x


def _shorten(word: str) -> str:
    text = shown_word(word)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[: MAX_SHOWN_CHARACTERS - 1] + "…"


def _box_width(text: str) -> float:
    return max(SMALLEST_BOX, text_width(text) + 2 * PADDING)


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
