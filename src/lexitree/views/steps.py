"""A labelled tree in, the list of steps from its words to the whole out: parts, what they make, and its head."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lexitree.views.explained import ExplainedTree
from lexitree.views.label_looks import LabelLooks

MOST_WORDS_OF_A_PART = 6
MOST_WORDS_OF_A_RESULT = 14

TURNING_POINT_MEANS = "None of the parts has the label of the whole."


def step_list(sentence: ExplainedTree, looks: LabelLooks) -> str:
    """An ordered list of the steps; those at which the label changes are marked."""
    steps = sentence.steps()
    if not steps:
        return '<p class="lt-note">One word: there is nothing to put together.</p>'
    return f'<ol class="lt-steps">{"".join(_steps(sentence, looks, steps))}</ol>'


def _steps(sentence: ExplainedTree, looks: LabelLooks, steps: list[int]) -> Iterator[str]:
    for node in steps:
        is_turn = sentence.is_turning_point(node)
        parts = '<span class="lt-op">+</span>'.join(
            chip(sentence, looks, part, MOST_WORDS_OF_A_PART) for part in sentence.tree.children[node]
        )
        turn = f'<span class="lt-badge" title="{TURNING_POINT_MEANS}">turning point</span>' if is_turn else ""
        yield (
            f'<li class="lt-step{" lt-turn" if is_turn else ""}" data-node="{node}">'
            f'<div class="lt-parts">{parts}</div>'
            f'<div class="lt-result"><span class="lt-op" aria-label="become">→</span>'
            f"{chip(sentence, looks, node, MOST_WORDS_OF_A_RESULT)}{_verdict(sentence, node)}"
            f"{head_bar(sentence, node)}{turn}</div></li>"
        )


def chip(sentence: ExplainedTree, looks: LabelLooks, node: int, most_words: int) -> str:
    """A phrase in the colour of its label, with the label's mark."""
    label = sentence.label(node)
    return (
        f'<span class="lt-chip {looks.css_class(label)}"><bdi>{escape(sentence.text(node, most_words))}</bdi>'
        f'<small title="{escape(sentence.name(node))}">{escape(looks.mark(label))}</small></span>'
    )


def _verdict(sentence: ExplainedTree, node: int) -> str:
    probability = sentence.probability(node)
    share = "" if probability is None else f" {probability:.2f}"
    return f'<span class="lt-verdict">{escape(sentence.name(node))}{share}</span>'


def head_bar(sentence: ExplainedTree, node: int) -> str:
    """The head word of a phrase with its share of the head vector as a bar; nothing for a model without heads."""
    head, weight = sentence.head(node), sentence.weight(node)
    if head is None:
        return ""
    bar = "" if weight is None else share_bar(weight, f"{weight:.0%}")
    return f'<span class="lt-lead">head <b><bdi>{escape(head)}</bdi></b>{bar}</span>'


def share_bar(share: float, shown: str) -> str:
    """A bar from 0 to 1 and its number."""
    percent = f"{100 * min(max(share, 0.0), 1.0):.1f}"
    return (
        f'<span class="lt-bar" aria-hidden="true"><span style="width:{percent}%"></span></span>'
        f'<span class="lt-number">{shown}</span>'
    )
