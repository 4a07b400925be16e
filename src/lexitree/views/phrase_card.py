"""A phrase in, what is shown of it on hovering out: how likely its labels are, and which words make up its head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from lexitree.views.explained import ExplainedTree
from lexitree.views.label_looks import LabelLooks

MOST_ROWS = 6
"""Of more labels or words only the largest are shown, and below them what is left for the others."""

MOST_WORDS_OF_A_TITLE = 20


class Share(NamedTuple):
    """One row: a label with its probability, or a word with its weight."""

    name: str
    share: float
    shown: str
    css_class: str = ""


class Shares(NamedTuple):
    """What there is to say of a phrase."""

    labels: list[Share]
    """None where the phrase was not asked for."""
    words: list[Share]
    """None for a single word, and for a model without heads."""


def phrase_shares(sentence: ExplainedTree, looks: LabelLooks, node: int) -> Shares:
    """The labels in their own order, or the likeliest of many, and the heaviest words, the head word among them."""
    row = sentence.probabilities[node] if node < len(sentence.probabilities) else ()
    places = list(range(len(row))) if len(row) <= MOST_ROWS else _largest(dict(enumerate(row)))
    labels = [
        Share(
            sentence.label_name(sentence.label_set[place]),
            row[place],
            f"{row[place]:.2f}",
            looks.css_class(sentence.label_set[place]),
        )
        for place in places
    ]
    return Shares(_with_rest(labels, len(row), "labels", "{:.2f}"), word_shares(sentence, node))


def word_shares(sentence: ExplainedTree, node: int) -> list[Share]:
    """The words of the largest weights; none for a single word, and for a model without heads."""
    weights = sentence.word_weights(node)
    if sentence.head_index is None or not weights:
        return []
    head = sentence.head_index[node]
    places = _largest(weights)
    if head not in places:
        places[-1] = head
    words = [
        Share(
            sentence.shown_words[place], weights[place], f"{weights[place]:.0%}", "lt-main" * (place == head)
        )
        for place in places
    ]
    start, end = sentence.spans[node]
    return _with_rest(words, end - start, "words", "{:.0%}")


def num_rows(sentence: ExplainedTree) -> int:
    """The rows of the longest card of a sentence, for which a view keeps room."""
    num_words = 0 if sentence.head_index is None else len(sentence.words)
    return min(MOST_ROWS, max(len(sentence.label_set), num_words))


def card(sentence: ExplainedTree, node: int, shares: Shares) -> str:
    """A block that the style sheet brings up; without a style sheet it stays hidden."""
    title = escape(sentence.text(node, MOST_WORDS_OF_A_TITLE))
    lists = "".join(map(_bars, shares))
    return f'<div class="lt-card" hidden aria-hidden="true"><p><bdi>{title}</bdi></p>{lists}</div>'


def describe(sentence: ExplainedTree, node: int, shares: Shares) -> str:
    """`positive 0.93, head clever (41%): a clever film`, with the rows of its card behind it: for screen readers."""
    probability, weight, head = sentence.probability(node), sentence.weight(node), sentence.head(node)
    label = sentence.name(node) + ("" if probability is None else f" {probability:.2f}")
    share = "" if weight is None else f" ({weight:.0%})"
    about = label if head is None else f"{label}, head {head}{share}"
    return f"{about}: {sentence.text(node)}{''.join(map(_listed, shares))}"


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
