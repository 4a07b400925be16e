"""Draw a tree as nested boxes on a page: each phrase over its parts, down to the words, with a card on hovering.

A phrase is a box over the columns of its words; in a long sentence over their rows, so that the page grows downwards
and no line of words runs out of sight. Places are numbers in a CSS grid: the browser does the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from lexitree.views.colors import LabelLooks
from lexitree.views.shown_tree import (
    ShownTree,
    head_of,
    head_path,
    head_share,
    is_turning_point,
    is_word,
    phrase_text,
    probability_of,
    shown_label,
    span_of,
    word_weights,
)
from lexitree.views.visible import visible

MOST_WORDS_ACROSS = 12
"""A longer sentence runs down the page."""

MOST_WORDS_SHOWN = 400
"""A page with a longer sentence says so instead; its steps are listed all the same."""

MOST_ROWS = 6
"""Of more labels or words, a card shows only the largest, and below them what is left for the others."""

MOST_WORDS_OF_A_TITLE = 20


def nested_boxes(tree: ShownTree, looks: LabelLooks) -> str:
    """The tree as a group of boxes that can be hovered over and walked through with the arrow keys."""
    num_words = len(tree.words)
    if num_words > MOST_WORDS_SHOWN:
        return f'<p class="lt-note">The tree of {num_words:,} words is too large to be shown as boxes.</p>'
    direction = "lt-across" if num_words <= MOST_WORDS_ACROSS else "lt-down"
    num_levels = int(tree.source.depths.max()) + 1
    boxes = "".join(_boxes(tree, looks, direction == "lt-across", num_levels))
    # Other software reads the labels of the boxes; what they look like is in the style sheet.
    return (
        f'<div class="lt-tree" style="--rows:{num_rows(tree)}">'
        f'<div class="lt-scroll"><div class="lt-icicle {direction}" role="tree" '
        f'aria-label="The phrases of the sentence" style="--words:{num_words};--levels:{num_levels}">'
        f'{boxes}</div></div><p class="lt-hint">{_hint(tree)}</p></div>'
    )


def _hint(tree: ShownTree) -> str:
    """What stands where the cards will be."""
    heads = "" if tree.head_index is None else " and the words that make up its head"
    return f"Point at a phrase, or tap it, to see its probabilities{heads}."


def _boxes(tree: ShownTree, looks: LabelLooks, across: bool, num_levels: int) -> Iterator[str]:
    parents, depths, leads_to_head = (
        tree.source.parents.tolist(),
        tree.source.depths.tolist(),
        head_path(tree),
    )
    for node in range(tree.source.num_nodes):
        classes = ["lt-box", looks.css_class(tree.labels[node])]
        classes += ["lt-word"] if is_word(tree, node) else []
        classes += ["lt-head"] if leads_to_head[node] else []
        classes += ["lt-turn"] if is_turning_point(tree, node) else []
        shares = phrase_shares(tree, looks, node)
        yield (
            f'<div class="{" ".join(classes)}" role="treeitem" aria-level="{depths[node] + 1}" '
            f'tabindex="{0 if node == 0 else -1}" data-node="{node}" data-parent="{parents[node]}" '
            f'aria-label="{escape(describe(tree, node, shares))}" '
            f'style="grid-area:{_area(tree, node, across, num_levels)}">{_inside(tree, looks, node)}'
            f"{card(tree, node, shares)}</div>"
        )


def _area(tree: ShownTree, node: int, across: bool, num_levels: int) -> str:
    """First row, first column, and those after the last; a word reaches down to where all words end."""
    start, end = span_of(tree, node)
    level = int(tree.source.depths[node])
    last_level = num_levels if is_word(tree, node) else level + 1
    if across:
        return f"{level + 1}/{start + 1}/{last_level + 1}/{end + 1}"
    return f"{start + 1}/{level + 1}/{end + 1}/{last_level + 1}"


def _inside(tree: ShownTree, looks: LabelLooks, node: int) -> str:
    """The word, or the head word of a phrase, and the mark of the label."""
    start, _ = span_of(tree, node)
    text = tree.words[start] if is_word(tree, node) else head_of(tree, node) or ""
    mark = escape(looks.mark(tree.labels[node]))
    return f'<span class="lt-in"><bdi>{escape(visible(text))}</bdi><small>{mark}</small></span>'


class Share(NamedTuple):
    """One row of a card: a label with its probability, or a word with its weight."""

    name: str
    share: float
    shown: str
    css_class: str = ""


class Shares(NamedTuple):
    """The rows of a phrase's card."""

    labels: list[Share]
    """Empty where the phrase was not asked for."""
    words: list[Share]
    """Empty for a single word, and for a model without heads."""


def phrase_shares(tree: ShownTree, looks: LabelLooks, node: int) -> Shares:
    """The labels in their own order, or the likeliest of many, and the heaviest words, the head word among them."""
    rows = tree.node_probabilities
    row: list[float] = rows[node].tolist() if node < len(rows) else []
    places = list(range(len(row))) if len(row) <= MOST_ROWS else _largest(dict(enumerate(row)))
    names = tree.label_set.names
    labels = [
        Share(
            shown_label(names[place]),
            row[place],
            f"{row[place]:.2f}",
            looks.css_class(names[place]),
        )
        for place in places
    ]
    return Shares(_with_rest(labels, len(row), "labels", "{:.2f}"), word_shares(tree, node))


def word_shares(tree: ShownTree, node: int) -> list[Share]:
    """The words of the largest weights; empty for a single word, and for a model without heads."""
    weights = word_weights(tree, node)
    if tree.head_index is None or not weights:
        return []
    head = int(tree.head_index[node])
    places = _largest(weights)
    if head not in places:
        places[-1] = head
    words = [
        Share(
            visible(tree.words[place]), weights[place], f"{weights[place]:.0%}", "lt-main" * (place == head)
        )
        for place in places
    ]
    start, end = span_of(tree, node)
    return _with_rest(words, end - start, "words", "{:.0%}")


def num_rows(tree: ShownTree) -> int:
    """The rows of a sentence's longest card, for which the page keeps room."""
    num_words = 0 if tree.head_index is None else len(tree.words)
    return min(MOST_ROWS, max(len(tree.label_set), num_words))


def card(tree: ShownTree, node: int, shares: Shares) -> str:
    """A block that the style sheet brings up; without a style sheet it stays hidden."""
    title = escape(phrase_text(tree, node, MOST_WORDS_OF_A_TITLE))
    lists = "".join(map(_bars, shares))
    return f'<div class="lt-card" hidden aria-hidden="true"><p><bdi>{title}</bdi></p>{lists}</div>'


def describe(tree: ShownTree, node: int, shares: Shares) -> str:
    """`positive 0.93, head clever (41%): a clever film`, followed by the rows of its card: for screen readers."""
    probability, weight, head = probability_of(tree, node), head_share(tree, node), head_of(tree, node)
    label = shown_label(tree.labels[node]) + ("" if probability is None else f" {probability:.2f}")
    share = "" if weight is None else f" ({weight:.0%})"
    about = label if head is None else f"{label}, head {visible(head)}{share}"
    return f"{about}: {phrase_text(tree, node)}{''.join(map(_listed, shares))}"


def _listed(shares: Sequence[Share]) -> str:
    return " [" + ", ".join(f"{share.name} {share.shown}" for share in shares) + "]" if shares else ""


def _bars(shares: Sequence[Share]) -> str:
    rows = "".join(
        f'<li class="{share.css_class}" style="--s:{100 * share.share:.1f}%"><bdi>{escape(share.name)}</bdi> '
        f"<b>{share.shown}</b></li>"
        for share in shares
    )
    return f"<ul>{rows}</ul>" if rows else ""


def _largest(values: Mapping[int, float]) -> list[int]:
    """The places of the largest values, largest first; where not all fit, one row is left for the others."""
    num_kept = MOST_ROWS if len(values) <= MOST_ROWS else MOST_ROWS - 1
    places: Iterable[int] = values
    return sorted(places, key=lambda place: -values[place])[:num_kept]


def _with_rest(shares: list[Share], num_all: int, what: str, form: str) -> list[Share]:
    num_others = num_all - len(shares)
    if not num_others:
        return shares
    rest = max(1 - sum(share.share for share in shares), 0.0)
    name = f"{num_others} other {what if num_others > 1 else what[:-1]}"
    return [*shares, Share(name, rest, form.format(rest), "lt-rest")]
