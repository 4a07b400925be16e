"""A labelled tree in, its phrases as nested boxes out: the sentence on top of its parts, down to the words.

A phrase is a box over the columns of its words; in a long sentence over their rows, so that the page grows downwards
and no line of words runs out of sight. Places are numbers in a CSS grid: the browser does the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lexitree.views.explained import ExplainedTree
from lexitree.views.label_looks import LabelLooks
from lexitree.views.phrase_card import card, describe, num_rows, phrase_shares

MOST_WORDS_ACROSS = 12
"""More words than that run down the page."""

MOST_WORDS_SHOWN = 400
"""A page with a longer sentence says so instead; its steps are listed all the same."""


def icicle(sentence: ExplainedTree, looks: LabelLooks) -> str:
    """The tree as a group of boxes that can be hovered over and walked through with the arrow keys."""
    num_words = len(sentence.words)
    if num_words > MOST_WORDS_SHOWN:
        return f'<p class="lt-note">The tree of {num_words:,} words is too large to be shown as boxes.</p>'
    direction = "lt-across" if num_words <= MOST_WORDS_ACROSS else "lt-down"
    num_levels = max(sentence.depths) + 1
    boxes = "".join(_boxes(sentence, looks, direction == "lt-across", num_levels))
    # Other software reads the labels of the boxes; what they look like is in the style sheet.
    return (
        f'<div class="lt-tree" style="--rows:{num_rows(sentence)}">'
        f'<div class="lt-scroll"><div class="lt-icicle {direction}" role="tree" '
        f'aria-label="The phrases of the sentence" style="--words:{num_words};--levels:{num_levels}">'
        f'{boxes}</div></div><p class="lt-hint">{_hint(sentence)}</p></div>'
    )


def _hint(sentence: ExplainedTree) -> str:
    """What stands where the cards will be."""
    heads = "" if sentence.head_index is None else " and the words that make up its head"
    return f"Point at a phrase, or tap it, to see its probabilities{heads}."


def _boxes(sentence: ExplainedTree, looks: LabelLooks, across: bool, num_levels: int) -> Iterator[str]:
    parents = sentence.tree.parents.tolist()
    for node in range(sentence.num_nodes):
        classes = ["lt-box", looks.css_class(sentence.label(node))]
        classes += ["lt-word"] if sentence.is_word(node) else []
        classes += ["lt-head"] if sentence.leads_to_head(node) else []
        classes += ["lt-turn"] if sentence.is_turning_point(node) else []
        shares = phrase_shares(sentence, looks, node)
        yield (
            f'<div class="{" ".join(classes)}" role="treeitem" aria-level="{sentence.depths[node] + 1}" '
            f'tabindex="{0 if node == 0 else -1}" data-node="{node}" data-parent="{parents[node]}" '
            f'aria-label="{escape(describe(sentence, node, shares))}" '
            f'style="grid-area:{_area(sentence, node, across, num_levels)}">{_inside(sentence, looks, node)}'
            f"{card(sentence, node, shares)}</div>"
        )


def _area(sentence: ExplainedTree, node: int, across: bool, num_levels: int) -> str:
    """First row, first column, and those after the last; a word reaches down to where all words end."""
    start, end = sentence.spans[node]
    level = sentence.depths[node]
    last_level = num_levels if sentence.is_word(node) else level + 1
    if across:
        return f"{level + 1}/{start + 1}/{last_level + 1}/{end + 1}"
    return f"{start + 1}/{level + 1}/{end + 1}/{last_level + 1}"


def _inside(sentence: ExplainedTree, looks: LabelLooks, node: int) -> str:
    """The word, or the head word of a phrase, and the mark of the label."""
    start, _ = sentence.spans[node]
    text = sentence.shown_words[start] if sentence.is_word(node) else sentence.head(node) or ""
    mark = escape(looks.mark(sentence.label(node)))
    return f'<span class="lt-in"><bdi>{escape(text)}</bdi><small>{mark}</small></span>'
