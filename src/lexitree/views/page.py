"""Explained sentences in, one HTML page that needs nothing else out, or a compact view of them for a notebook.

The page is complete without its script, which adds nothing but walking through the tree with the arrow keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files

from lexitree.views.explained import ExplainedTree
from lexitree.views.icicle import icicle
from lexitree.views.label_looks import LabelLooks, label_looks
from lexitree.views.outline import draw_tree
from lexitree.views.phrase_card import Share, phrase_shares
from lexitree.views.visible import html_text, visible

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


LONGEST_TITLE = 70
MOST_WORDS_OF_A_LINK = 12

_NOTEBOOKS_IN_THE_DARK = (
    '[data-jp-theme-light="false"] .lt-root',
    "body.vscode-dark .lt-root",
    "html[theme=dark] .lt-root",
)
"""JupyterLab, VS Code and Colab tell a page of their theme in these ways, and not in the way of browsers."""


@dataclass(frozen=True)
class Explanation:
    """A text with its sentences, as views show them."""

    text: str
    label_set: Sequence[str]
    sentences: Sequence[ExplainedTree]
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    probabilities: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of the whole text, by label."""

    @property
    def looks(self) -> LabelLooks:
        return label_looks(self.label_set, self.names)

    def name(self, label: str) -> str:
        return visible(self.names.get(label, label))


def explain_trees(sentences: Sequence[ExplainedTree], text: str | None = None) -> Explanation:
    """Sentences, of a text or of none; if there is but one, its label is that of the whole."""
    if text is None:
        text = " ".join(word for sentence in sentences for word in sentence.words)
    if not sentences:
        return Explanation(text, (), ())
    first = sentences[0]
    shares = dict(zip(first.label_set, first.probabilities[0], strict=True)) if len(sentences) == 1 else {}
    return Explanation(text, first.label_set, sentences, first.names, shares)


def explanation_page(explanation: Explanation) -> str:
    """A whole page: how the label of each sentence came about, phrase by phrase."""
    title = html_text(_cut(explanation.text, LONGEST_TITLE)) or "Nothing to explain"
    body = "".join(
        _sentence_section(explanation, sentence, number)
        for number, sentence in enumerate(explanation.sentences, 1)
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title} · lexitree</title>\n<style>{_styles(explanation.looks)}</style>\n</head>\n"
        f'<body class="lt-page"><main class="lt-root">\n{_whole(explanation)}{body}{_how_to_read()}'
        f"</main>\n<script>{_read('page.js')}</script>\n</body>\n</html>\n"
    )


def notebook_view(explanation: Explanation) -> str:
    """A block for a notebook's output: words, label and tree of each sentence, its steps folded away."""
    parts = [
        _words_and_verdict(explanation, sentence) + _folded(explanation, sentence)
        for sentence in explanation.sentences
    ]
    nothing = '<p class="lt-note">An empty text.</p>' if not parts else ""
    return (
        f'<div class="lt-root lt-compact"><style>{_styles(explanation.looks)}</style>'
        f"{_document_line(explanation)}{''.join(parts)}{nothing}</div>"
    )


def _folded(explanation: Explanation, sentence: ExplainedTree) -> str:
    if sentence.tree.has_inner_words:
        return _drawing(sentence)
    looks = explanation.looks
    steps = f"<details><summary>Steps</summary>{step_list(sentence, looks)}</details>"
    return f"<details open><summary>Tree</summary>{icicle(sentence, looks)}</details>{steps}"


def _whole(explanation: Explanation) -> str:
    """The heading: the text's label, and with several sentences where each of them is found."""
    if not explanation.sentences:
        return "<h1>An empty text</h1><p>There are no words here, so there is no label.</p>"
    links = ""
    if len(explanation.sentences) > 1:
        looks = explanation.looks
        items = "".join(
            f'<li><a href="#sentence-{number}">{chip(sentence, looks, 0, MOST_WORDS_OF_A_LINK)}</a></li>'
            for number, sentence in enumerate(explanation.sentences, 1)
        )
        links = f'<nav aria-label="Sentences"><ol class="lt-sentences">{items}</ol></nav>'
    title = _document_line(explanation, "h1") or f"<h1>{len(explanation.sentences)} sentences</h1>"
    return f"<header>{title}{links}{_legend(explanation)}</header>"


def _document_line(explanation: Explanation, tag: str = "p") -> str:
    """`positive 0.93`, of the whole text."""
    if not explanation.probabilities or (tag == "p" and len(explanation.sentences) < 2):
        return ""
    label, share = max(explanation.probabilities.items(), key=lambda pair: pair[1])
    what = "sentence" if len(explanation.sentences) == 1 else "text"
    chip_class = explanation.looks.css_class(label)
    return (
        f'<{tag} class="lt-title">The {what} is <span class="lt-pill {chip_class}">'
        f'{escape(explanation.name(label))}</span> <span class="lt-number">{share:.2f}</span></{tag}>'
    )


def _legend(explanation: Explanation) -> str:
    looks = explanation.looks
    items = "".join(
        f'<li><span class="lt-chip {looks.css_class(label)}"><small>{escape(looks.mark(label))}</small></span>'
        f"{escape(explanation.name(label))}</li>"
        for label in explanation.label_set
    )
    return f'<ul class="lt-legend" aria-label="Labels and their marks">{items}</ul>'


def _sentence_section(explanation: Explanation, sentence: ExplainedTree, number: int) -> str:
    looks = explanation.looks
    several = len(explanation.sentences) > 1
    heading = f"<h2>Sentence {number}</h2>" if several else ""
    sub = "h3" if several else "h2"
    start = f'<section class="lt-sentence" id="sentence-{number}">{heading}'
    words = _words_and_verdict(explanation, sentence) + _share_tables(sentence, looks)
    if sentence.tree.has_inner_words:
        return f"{start}{words}<{sub}>The tree</{sub}>{_drawing(sentence)}</section>"
    num_turns = sum(map(sentence.is_turning_point, range(sentence.num_nodes)))
    return (
        f"{start}{words}<{sub}>The tree</{sub}>{icicle(sentence, looks)}"
        f"<{sub}>Step by step</{sub}>{_only_turns(num_turns, len(sentence.steps()), number)}"
        f"{step_list(sentence, looks)}</section>"
    )


def _words_and_verdict(explanation: Explanation, sentence: ExplainedTree) -> str:
    """The words, each in the colour of its own label, the head among them marked, and what they make together."""
    looks = explanation.looks
    head = None if sentence.head_index is None or sentence.is_word(0) else sentence.head_index[0]
    words = " ".join(
        f'<span class="lt-token {looks.css_class(sentence.label(leaf))}{" lt-head" if place == head else ""}" '
        f'title="{escape(sentence.name(leaf))}{", the head of the sentence" if place == head else ""}">'
        f"<bdi>{escape(word)}</bdi><small>{escape(looks.mark(sentence.label(leaf)))}</small></span>"
        for place, (leaf, word) in enumerate(zip(sentence.word_nodes, sentence.shown_words, strict=True))
    )
    probability = sentence.probability(0)
    share = "" if probability is None else f' <span class="lt-number">{probability:.2f}</span>'
    return (
        f'<p class="lt-words" dir="auto">{words} <span class="lt-makes">'
        f'<span class="lt-op" aria-label="together">→</span>'
        f'<span class="lt-pill {looks.css_class(sentence.label(0))}">{escape(sentence.name(0))}</span>'
        f"{share}</span></p>"
    )


def _share_tables(sentence: ExplainedTree, looks: LabelLooks) -> str:
    """The labels of the whole sentence and, for a model with heads, the words that its head is made of."""
    labels, words = phrase_shares(sentence, looks, 0)
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


def _drawing(sentence: ExplainedTree) -> str:
    """A dependency tree has no phrases side by side: it is shown as the outline that terminals get."""
    tree = sentence.tree.with_labels(sentence.name(node) for node in range(sentence.num_nodes))
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


def _cut(text: str, most_characters: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most_characters else text[: most_characters - 1] + "…"


def _styles(looks: LabelLooks) -> str:
    dark = _read("dark.css")
    in_notebooks = "".join(
        f"{scope}{{{dark}}}{looks.css(scope, looks.dark)}" for scope in _NOTEBOOKS_IN_THE_DARK
    )
    return (
        f"{_read('page.css')}{looks.css('.lt-root', looks.light)}"
        f"@media screen and (prefers-color-scheme:dark){{.lt-root{{{dark}}}"
        f"{looks.css('.lt-root', looks.dark)}}}{in_notebooks}"
    )


@cache
def _read(name: str) -> str:
    return files("lexitree.views").joinpath(name).read_text(encoding="utf-8")
