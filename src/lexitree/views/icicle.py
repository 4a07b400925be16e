"""A labelled tree in, its phrases as nested boxes out: the sentence on top of its parts, down to the words.

A phrase is a box over the columns of its words; in a long sentence over their rows, so that the page grows downwards
and no line of words runs out of sight. Places are numbers in a CSS grid: the browser does the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lexitree.views.explained import ExplainedTree
from lexitree.views.label_looks import LabelLooks

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
        f'<div class="lt-scroll"><div class="lt-icicle {direction}" role="tree" '
        f'aria-label="The phrases of the sentence" style="--words:{num_words};--levels:{num_levels}">'
        f"{boxes}</div></div>"
    )


def _boxes(sentence: ExplainedTree, looks: LabelLooks, across: bool, num_levels: int) -> Iterator[str]:
    parents = sentence.tree.parents.tolist()
    for node in range(sentence.num_nodes):
        classes = ["lt-box", looks.css_class(sentence.label(node))]
        classes += ["lt-word"] if sentence.is_word(node) else []
        classes += ["lt-head"] if sentence.leads_to_head(node) else []
        classes += ["lt-turn"] if sentence.is_turning_point(node) else []
        described = escape(describe(sentence, node))
        yield (
            f'<div class="{" ".join(classes)}" role="treeitem" aria-level="{sentence.depths[node] + 1}" '
            f'tabindex="{0 if node == 0 else -1}" data-node="{node}" data-parent="{parents[node]}" '
            f'aria-label="{described}" title="{described}" '
            f'style="grid-area:{_area(sentence, node, across, num_levels)}">{_inside(sentence, looks, node)}</div>'
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


def describe(sentence: ExplainedTree, node: int) -> str:
    """`positive 0.93, head clever (41 %): a clever film`, with all probabilities behind it."""
    probability, weight = sentence.probability(node), sentence.weight(node)
    label = sentence.name(node) + ("" if probability is None else f" {probability:.2f}")
    head = sentence.head(node)
    share = "" if weight is None else f" ({weight:.0%})"
    about = label if head is None else f"{label}, head {head}{share}"
    return f"{about}: {sentence.text(node)}{_all_probabilities(sentence, node)}"


def _all_probabilities(sentence: ExplainedTree, node: int) -> str:
    if node >= len(sentence.probabilities):
        return ""
    pairs = zip(sentence.label_set, sentence.probabilities[node], strict=True)
    return " [" + ", ".join(f"{sentence.label_name(label)} {share:.2f}" for label, share in pairs) + "]"
