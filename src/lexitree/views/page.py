"""Explain the labels of sentences on one HTML page that needs nothing else, or in a compact view for notebooks.

The page is complete without its script, which only adds walking through the tree with the arrow keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from lexitree.labels import LabelSet
from lexitree.views.boxes import Share, nested_boxes, phrase_shares
from lexitree.views.colors import LabelLooks, label_looks
from lexitree.views.outline import draw_tree
from lexitree.views.shell import cut_text, page_styles, read_asset, whole_page
from lexitree.views.shown_tree import (
    ShownTree,
    composition_order,
    head_of,
    head_share,
    is_turning_point,
    is_word,
    phrase_text,
    probability_of,
    shown_label,
)
from lexitree.views.visible import html_text, visible

MOST_WORDS_OF_A_PART = 6
MOST_WORDS_OF_A_RESULT = 14

TURNING_POINT_MEANS = "None of the parts has the label of the whole."


def step_list(tree: ShownTree, looks: LabelLooks) -> str:
    """An ordered list of the steps; marking each step where the label changes."""
    steps = composition_order(tree)
    if not steps:
        return '<p class="lt-note">One word: there is nothing to put together.</p>'
    return f'<ol class="lt-steps">{"".join(_steps(tree, looks, steps))}</ol>'


def _steps(tree: ShownTree, looks: LabelLooks, steps: list[int]) -> Iterator[str]:
    for node in steps:
        is_turn = is_turning_point(tree, node)
        parts = '<span class="lt-op">+</span>'.join(
            chip(tree, looks, part, MOST_WORDS_OF_A_PART) for part in tree.source.children[node]
        )
        turn = f'<span class="lt-badge" title="{TURNING_POINT_MEANS}">turning point</span>' if is_turn else ""
        yield (
            f'<li class="lt-step{" lt-turn" if is_turn else ""}" data-node="{node}">'
            f'<div class="lt-parts">{parts}</div>'
            f'<div class="lt-result"><span class="lt-op" aria-label="become">→</span>'
            f"{chip(tree, looks, node, MOST_WORDS_OF_A_RESULT)}{_verdict(tree, node)}"
            f"{head_bar(tree, node)}{turn}</div></li>"
        )


def chip(tree: ShownTree, looks: LabelLooks, node: int, most_words: int) -> str:
    """A phrase in the colour of its label, with the label's mark."""
    label = tree.labels[node]
    return (
        f'<span class="lt-chip {looks.css_class(label)}"><bdi>{escape(phrase_text(tree, node, most_words))}</bdi>'
        f'<small title="{escape(shown_label(label))}">{escape(looks.mark(label))}</small></span>'
    )


def _verdict(tree: ShownTree, node: int) -> str:
    probability = probability_of(tree, node)
    share = "" if probability is None else f" {probability:.2f}"
    return f'<span class="lt-verdict">{escape(shown_label(tree.labels[node]))}{share}</span>'


def head_bar(tree: ShownTree, node: int) -> str:
    """The head word of a phrase with its share of the head vector as a bar; nothing for a model without heads."""
    head, weight = head_of(tree, node), head_share(tree, node)
    if head is None:
        return ""
    bar = "" if weight is None else share_bar(weight, f"{weight:.0%}")
    return f'<span class="lt-lead">head <b><bdi>{escape(visible(head))}</bdi></b>{bar}</span>'


def share_bar(share: float, shown: str) -> str:
    """A bar from 0 to 1 and its number."""
    percent = f"{100 * min(max(share, 0.0), 1.0):.1f}"
    return (
        f'<span class="lt-bar" aria-hidden="true"><span style="width:{percent}%"></span></span>'
        f'<span class="lt-number">{shown}</span>'
    )


LONGEST_TITLE = 70
MOST_WORDS_OF_A_LINK = 12


def explanation_page(
    trees: Sequence[ShownTree],
    *,
    text: str | None = None,
    probabilities: Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
) -> str:
    """A page that shows how the model arrived at the label of each sentence, phrase by phrase.

    Args:
        trees: The sentences, of one label set.
        text: What they were taken from, for the title; by default their words.
        probabilities: The probability of each label, by its name, for the text as a whole; by default a single
            sentence's own, and nothing for several.
        names: The headings of the sentences, such as `Row 7`; by default `Sentence 1` and so on.

    Returns:
        A whole HTML document.
    """
    shown = _Shown.of(trees, text, probabilities)
    title = cut_text(shown.text, LONGEST_TITLE) or "Nothing to explain"
    names = names or [f"Sentence {number}" for number in range(1, len(trees) + 1)]
    body = "".join(
        _sentence_section(shown, tree, number, name)
        for number, (tree, name) in enumerate(zip(trees, names, strict=True), 1)
    )
    return whole_page(
        title,
        page_styles(shown.looks),
        f"{_whole(shown)}{body}{_how_to_read()}",
        script=read_asset("page.js"),
    )


def notebook_view(
    trees: Sequence[ShownTree], *, text: str | None = None, probabilities: Mapping[str, float] | None = None
) -> str:
    """A block for a notebook's output: words, label and tree of each sentence, its steps folded away.

    The arguments are those of `explanation_page`.
    """
    shown = _Shown.of(trees, text, probabilities)
    parts = [_words_and_verdict(tree, shown.looks) + _folded(tree, shown.looks) for tree in trees]
    nothing = '<p class="lt-note">An empty text.</p>' if not parts else ""
    return (
        f'<div class="lt-root lt-compact"><style>{page_styles(shown.looks)}</style>'
        f"{_document_line(shown)}{''.join(parts)}{nothing}</div>"
    )


@dataclass(frozen=True)
class _Shown:
    """What a page shows, and how its labels look."""

    trees: Sequence[ShownTree]
    text: str
    probabilities: Mapping[str, float]
    labels: LabelSet
    looks: LabelLooks

    @classmethod
    def of(
        cls, trees: Sequence[ShownTree], text: str | None, probabilities: Mapping[str, float] | None
    ) -> _Shown:
        if text is None:
            text = " ".join(word for tree in trees for word in tree.words)
        labels = trees[0].label_set if trees else LabelSet(())
        if probabilities is None:
            rows: list[list[float]] = trees[0].node_probabilities[:1].tolist() if len(trees) == 1 else []
            probabilities = dict(zip(labels.names, rows[0], strict=True)) if rows else {}
        return cls(trees, text, probabilities, labels, label_looks(labels))


def _folded(tree: ShownTree, looks: LabelLooks) -> str:
    if tree.source.has_inner_words:
        return _drawing(tree)
    steps = f"<details><summary>Steps</summary>{step_list(tree, looks)}</details>"
    return f"<details open><summary>Tree</summary>{nested_boxes(tree, looks)}</details>{steps}"


def _whole(shown: _Shown) -> str:
    """The heading: the text's label, and with several sentences where each of them is found."""
    if not shown.trees:
        return "<h1>An empty text</h1><p>There are no words here, so there is no label.</p>"
    links = ""
    if len(shown.trees) > 1:
        items = "".join(
            f'<li><a href="#sentence-{number}">{chip(tree, shown.looks, 0, MOST_WORDS_OF_A_LINK)}</a></li>'
            for number, tree in enumerate(shown.trees, 1)
        )
        links = f'<nav aria-label="Sentences"><ol class="lt-sentences">{items}</ol></nav>'
    title = _document_line(shown, "h1") or f"<h1>{len(shown.trees)} sentences</h1>"
    return f"<header>{title}{links}{_legend(shown)}</header>"


def _document_line(shown: _Shown, tag: str = "p") -> str:
    """`positive 0.93`, of the whole text."""
    if not shown.probabilities or (tag == "p" and len(shown.trees) < 2):
        return ""
    label, share = max(shown.probabilities.items(), key=lambda pair: pair[1])
    what = "sentence" if len(shown.trees) == 1 else "text"
    chip_class = shown.looks.css_class(label)
    return (
        f'<{tag} class="lt-title">The {what} is <span class="lt-pill {chip_class}">'
        f'{html_text(label)}</span> <span class="lt-number">{share:.2f}</span></{tag}>'
    )


def _legend(shown: _Shown) -> str:
    looks = shown.looks
    items = "".join(
        f'<li><span class="lt-chip {looks.css_class(label)}"><small>{escape(looks.mark(label))}</small></span>'
        f"{html_text(label)}</li>"
        for label in shown.labels.names
    )
    return f'<ul class="lt-legend" aria-label="Labels and their marks">{items}</ul>'


def _sentence_section(shown: _Shown, tree: ShownTree, number: int, name: str) -> str:
    looks = shown.looks
    several = len(shown.trees) > 1
    heading = f"<h2>{html_text(name)}</h2>" if several else ""
    sub = "h3" if several else "h2"
    start = f'<section class="lt-sentence" id="sentence-{number}">{heading}'
    words = _words_and_verdict(tree, looks) + _share_tables(tree, looks)
    if tree.source.has_inner_words:
        return f"{start}{words}<{sub}>The tree</{sub}>{_drawing(tree)}</section>"
    steps = composition_order(tree)
    num_turns = sum(is_turning_point(tree, node) for node in steps)
    return (
        f"{start}{words}<{sub}>The tree</{sub}>{nested_boxes(tree, looks)}"
        f"<{sub}>Step by step</{sub}>{_only_turns(num_turns, len(steps), number)}"
        f"{step_list(tree, looks)}</section>"
    )


def _words_and_verdict(tree: ShownTree, looks: LabelLooks) -> str:
    """The words, each in the colour of its own label, the head among them marked, and what they make together."""
    head = None if tree.head_index is None or is_word(tree, 0) else int(tree.head_index[0])
    leaves: list[int] = tree.source.leaves.tolist()
    labels = [tree.labels[leaf] for leaf in leaves]
    words = " ".join(
        f'<span class="lt-token {looks.css_class(label)}{" lt-head" if place == head else ""}" '
        f'title="{escape(shown_label(label))}{", the head of the sentence" if place == head else ""}">'
        f"<bdi>{html_text(word)}</bdi><small>{escape(looks.mark(label))}</small></span>"
        for place, (label, word) in enumerate(zip(labels, tree.words, strict=True))
    )
    probability = probability_of(tree, 0)
    share = "" if probability is None else f' <span class="lt-number">{probability:.2f}</span>'
    return (
        f'<p class="lt-words" dir="auto">{words} <span class="lt-makes">'
        f'<span class="lt-op" aria-label="together">→</span>'
        f'<span class="lt-pill {looks.css_class(tree.labels[0])}">{escape(shown_label(tree.labels[0]))}</span>'
        f"{share}</span></p>"
    )


def _share_tables(tree: ShownTree, looks: LabelLooks) -> str:
    """The labels of the whole sentence and, for a model with heads, the words that its head is made of."""
    labels, words = phrase_shares(tree, looks, 0)
    return _share_table("Probabilities of its labels", labels) + _share_table("Words of its head", words)


def _share_table(caption: str, shares: Sequence[Share]) -> str:
    rows = "".join(
        f'<tr class="{share.css_class}"><th scope="row"><bdi>{escape(share.name)}</bdi></th>'
        f"<td>{share_bar(share.share, share.shown)}</td></tr>"
        for share in shares
    )
    return f'<table class="lt-shares"><caption>{caption}</caption>{rows}</table>' if rows else ""


def _only_turns(num_turns: int, num_steps: int, number: int) -> str:
    """A box to tick that leaves the turning points only; it works without the script."""
    if not num_turns or num_steps < 4:
        return ""
    return (
        f'<p class="lt-filter"><input type="checkbox" id="lt-turns-{number}" class="lt-only">'
        f'<label for="lt-turns-{number}">Show the {num_turns} turning point{"s" if num_turns > 1 else ""} of '
        f"{num_steps} steps only</label></p>"
    )


def _drawing(tree: ShownTree) -> str:
    """A dependency tree has no phrases side by side: it is shown as the outline that terminals get."""
    return f"<pre>{escape(chr(10).join(draw_tree(tree)))}</pre>"


def _how_to_read() -> str:
    return (
        '<footer class="lt-note"><p>Each box of the tree is a phrase over its words. Its colour and its mark are '
        "its label; the word in it is its head, the word that stands for the phrase, and the percentage is that "
        "word’s share of what the phrase is represented by. Pointing at a box shows how likely its labels are, and "
        "the words with the largest shares. Boxes with a thick edge lead to the head of the whole sentence. A "
        "turning point, with a dashed edge, has a label that none of its parts has. "
        "Made with lexitree.</p></footer>"
    )
