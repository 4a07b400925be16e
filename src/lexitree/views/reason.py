"""Say in one sentence why a sentence or a text has its label, from what the tree says of its phrases.

A reason is a list of runs: pieces of plain text, and phrases of the text that can be looked up in their tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.trees.tree import NO_LABEL
from lexitree.views.evidence import (
    CLEAR_MARGIN,
    CONTRAST_WORDS,
    NEGATIVE,
    NO_SIDE,
    POSITIVE,
    Evidence,
    is_linking,
    label_sides,
)
from lexitree.views.shown_tree import span_of

Run = dict[str, Any]
"""`{"text": ...}`, and for a phrase also `"sentence"`, `"node"` and `"label"`."""

MOST_NAMED = 2
"""How many phrases are named on each side."""
LONGEST_QUOTE = 80
LONGEST_TURN = 3
"""Words that turn a phrase are named if there are so few of them."""


@dataclass(frozen=True)
class SentenceText:
    """A sentence whose phrases can be quoted from its text."""

    number: int
    text: str
    token_spans: Sequence[tuple[int, int]]
    evidence: Evidence

    def quote(self, node: int) -> Run:
        """A phrase, without punctuation and linking words at its ends."""
        tree = self.evidence.tree
        first, last = span_of(tree, node)
        while last - first > 1 and is_linking(tree.words[last - 1]):
            last -= 1
        while last - first > 1 and is_linking(tree.words[first]):
            first += 1
        return {
            "text": self.text_of(first, last),
            "sentence": self.number,
            "node": node,
            "label": tree.labels[node],
        }

    def text_of(self, first: int, last: int) -> str:
        """Some tokens as they stand in the text, on one line; of many, the beginning and the end."""
        start, end = self.token_spans[first][0], self.token_spans[last - 1][1]
        if end - start <= 2 * LONGEST_QUOTE:
            return shorten_quote(self.text[start:end])
        return shorten_quote(
            f"{self.text[start : start + LONGEST_QUOTE]} {self.text[end - LONGEST_QUOTE : end]}"
        )

    def named(self, node: int) -> list[Run]:
        """`*a bad film* (negative)`."""
        return [self.quote(node), _plain(f" ({self.evidence.tree.labels[node]})")]


def shorten_quote(text: str) -> str:
    """A text on one line; of a long one, its beginning and its end."""
    text = " ".join(text.split())
    if len(text) <= LONGEST_QUOTE:
        return text
    half = LONGEST_QUOTE // 2
    return f"{text[:half].rstrip()}…{text[len(text) - half :].lstrip()}"


def sentence_reason(sentence: SentenceText) -> list[Run]:
    """Why a sentence has its label."""
    evidence = sentence.evidence
    tree = evidence.tree
    label = tree.labels[0]
    if label == NO_LABEL:
        return [_plain("no label")]
    if not len(tree.node_probabilities) and tree.label_set.polarity is None:
        return [_plain(f"{label}: the label that the tree came with")]
    narrowly = "narrowly " if evidence.margins[0] < CLEAR_MARGIN else ""
    return _merged([_plain(f"{narrowly}{label}: "), *_because(sentence)])


def _because(sentence: SentenceText) -> list[Run]:
    evidence = sentence.evidence
    labels = evidence.tree.labels
    if len(labels) == 1:
        return [sentence.quote(0), _plain(" is the only word")]
    if all(label == NO_LABEL for label in labels[1:]):
        return [_plain("only the sentence as a whole was labelled")]
    shown = [node for node in evidence.highlights if node]
    outer = [node for node in shown if not any(evidence.contains(other, node) for other in shown)]
    if evidence.sides[0] == NO_SIDE:
        return _why_neutral(sentence, outer)
    support = [node for node in outer if evidence.sides[node] == evidence.sides[0]]
    against = [node for node in outer if evidence.sides[node] != evidence.sides[0]]
    if not support:
        return _why_only_whole(sentence, against)
    sources = [evidence.pieces[node] for node in support[:MOST_NAMED]]
    turned = next(filter(evidence.is_reversal, sources), None)
    turn = [] if turned is None else turn_clause(sentence, turned)
    if against:
        main = _outweigh(sentence, support, against)
    elif turn and len(support) == 1:
        return turn
    else:
        main = [_plain("because of "), *_listed(sentence, support)]
    return [*main, _plain("; "), *turn] if turn else main


def _why_neutral(sentence: SentenceText, pieces: Sequence[int]) -> list[Run]:
    """Why a sentence is on neither side of its scale."""
    evidence = sentence.evidence
    if not pieces:
        return [_plain(f"no phrase is {_clearly_on_a_side(evidence.tree.label_set)}")]
    first = pieces[0]
    other = next((node for node in pieces if evidence.sides[node] != evidence.sides[first]), None)
    if other is not None:
        return [
            *sentence.named(first),
            _plain(" and "),
            *sentence.named(other),
            _plain(" balance each other"),
        ]
    return [
        sentence.quote(first),
        _plain(f" is {evidence.tree.labels[first]}, but the sentence as a whole is not"),
    ]


def _why_only_whole(sentence: SentenceText, against: Sequence[int]) -> list[Run]:
    """Why a sentence has a label that no part of it has."""
    evidence = sentence.evidence
    if evidence.is_reversal(0):
        return turn_clause(sentence, 0)
    if against:
        label = evidence.tree.labels[against[0]]
        return [_plain("all words together; "), sentence.quote(against[0]), _plain(f" alone is {label}")]
    return [
        _plain(f"all words together; no phrase of it alone is {_clearly_on_a_side(evidence.tree.label_set)}")
    ]


def _clearly_on_a_side(labels: LabelSet) -> str:
    if labels.polarity is None:
        return "clear"
    names = _side_names(labels)
    return f"clearly {names[POSITIVE]} or {names[NEGATIVE]}"


def turn_clause(sentence: SentenceText, node: int) -> list[Run]:
    """`*not* turns *bad* (negative) into *not bad* (positive)`.

    Args:
        sentence: The sentence.
        node: A phrase that is on a side, while its parts that are on one are all on another.
    """
    evidence = sentence.evidence
    parts = evidence.tree.source.children[node]
    turned = max(
        (part for part in parts if evidence.sides[part] != NO_SIDE),
        key=lambda part: evidence.weights[part],
    )
    others = [part for part in parts if part != turned and not _only_links(evidence, part)]
    if len(others) == 1 and _num_words(evidence, others[0]) <= LONGEST_TURN:
        return [
            sentence.quote(others[0]),
            _plain(" turns "),
            *sentence.named(turned),
            _plain(" into "),
            *sentence.named(node),
        ]
    return [*sentence.named(turned), _plain(" turns into "), *sentence.named(node)]


def _num_words(evidence: Evidence, node: int) -> int:
    first, last = span_of(evidence.tree, node)
    return last - first


def _only_links(evidence: Evidence, node: int) -> bool:
    first, last = span_of(evidence.tree, node)
    return last - first == 1 and is_linking(evidence.tree.words[first])


def _outweigh(sentence: SentenceText, support: Sequence[int], against: Sequence[int]) -> list[Run]:
    support, against = support[:MOST_NAMED], against[:MOST_NAMED]
    verb = " outweighs " if len(support) == 1 else " outweigh "
    is_scale = sentence.evidence.tree.label_set.polarity is not None
    losers = (
        _listed(sentence, against)
        if is_scale
        else _joined([sentence.named(node) for node in sorted(against)])
    )
    return [
        *_listed(sentence, support),
        _plain(verb),
        *losers,
        *_contrast(sentence, support, against),
    ]


def _contrast(sentence: SentenceText, support: Sequence[int], against: Sequence[int]) -> list[Run]:
    """` after *but*`, or `, introduced by *although*`, if such a word stands between the sides or before one."""
    support_start, support_end = _extent(sentence.evidence, support)
    against_start, against_end = _extent(sentence.evidence, against)
    if against_end <= support_start:
        between, before = range(against_end, support_start + 1), range(against_start + 1)
        # "X, but Y" with Y for the label; else "although X, Y".
        return _word_run(sentence, between, " after ") or _word_run(sentence, before, ", introduced by ")
    if support_end <= against_start:
        return _word_run(sentence, range(support_end, against_start + 1), ", introduced by ")
    return []


def _extent(evidence: Evidence, nodes: Iterable[int]) -> tuple[int, int]:
    starts, ends = zip(*(span_of(evidence.tree, node) for node in nodes), strict=True)
    return min(starts), max(ends)


def _word_run(sentence: SentenceText, tokens: range, before: str) -> list[Run]:
    """The last contrasting word among some tokens."""
    tree = sentence.evidence.tree
    token = next((each for each in reversed(tokens) if tree.words[each].lower() in CONTRAST_WORDS), None)
    if token is None:
        return []
    owners: Mapping[int, int] = _nodes_of_words(sentence.evidence)
    return [_plain(before), sentence.quote(owners[token])] if token in owners else []


def _nodes_of_words(evidence: Evidence) -> dict[int, int]:
    """The leaf over each word."""
    source = evidence.tree.source
    arity: list[int] = source.arity.tolist()
    return {start: node for node, start in enumerate(source.starts.tolist()) if not arity[node]}


def document_reason(
    label: str | None, probabilities: Mapping[str, float], sentences: Sequence[SentenceText]
) -> list[Run]:
    """Why a text has its label, or, of several texts without one in common, how many sentences have which.

    Args:
        label: The label of the text, if it has one.
        probabilities: The probability of each label, by its name, for the text as a whole.
        sentences: Its sentences.
    """
    if not sentences:
        return [_plain("no words, so there is no label")]
    if len(sentences) == 1:
        return sentence_reason(sentences[0])
    labels = sentences[0].evidence.tree.label_set
    if label is None:
        counts = Counter(sentence.evidence.tree.labels[0] for sentence in sentences)
        parts = ", ".join(f"{counts[name]:,} {name}" for name in labels.names if counts[name])
        return [_plain(f"{len(sentences):,} sentences: {parts}")]
    sides = dict(zip(labels.names, label_sides(labels), strict=True))
    side = sides[label]
    likeliest_other = max(
        (share for name, share in probabilities.items() if sides[name] != side), default=0.0
    )
    narrowly = "narrowly " if probabilities[label] - likeliest_other < CLEAR_MARGIN else ""
    agreeing = [sentence for sentence in sentences if sentence.evidence.sides[0] == side]
    opposed = [sentence for sentence in sentences if sentence.evidence.sides[0] not in (side, NO_SIDE)]
    counted = _counted(labels, label, side, [sentence.evidence.sides[0] for sentence in sentences])
    return _merged(
        [
            _plain(f"{narrowly}{label}: {counted}"),
            *_strongest(agreeing, side, "; strongest: "),
            *_strongest(opposed, None, "; against it: "),
        ]
    )


def _counted(labels: LabelSet, label: str, side: int, sides: Sequence[int]) -> str:
    """`7 of 9 sentences are positive and 1 negative`; sentences are counted by side."""
    number = sides.count(side)
    names = {NO_SIDE: label, **_side_names(labels)}
    counted = f"{number:,} of {len(sides):,} sentences {'is' if number == 1 else 'are'} {names[side]}"
    if labels.polarity is None or side == NO_SIDE:
        return counted
    num_others = len(sides) - number - sides.count(NO_SIDE)
    return f"{counted} and {num_others:,} {names[NEGATIVE + POSITIVE - side]}" if num_others else counted


def _side_names(labels: LabelSet) -> dict[int, str]:
    if labels.polarity is None:
        return dict(zip(label_sides(labels), labels.names, strict=True))
    if set(labels.names) <= set(SENTIMENTS):
        return {NEGATIVE: "negative", POSITIVE: "positive"}
    return {NEGATIVE: "below the middle of the scale", POSITIVE: "above the middle of the scale"}


def _strongest(sentences: Sequence[SentenceText], side: int | None, before: str) -> list[Run]:
    """The heaviest phrase of some sentences, of one side or of each sentence's own."""
    found = [
        (sentence.evidence.weights[node], sentence, node)
        for sentence in sentences
        for node in sentence.evidence.pieces
        if sentence.evidence.sides[node] == (sentence.evidence.sides[0] if side is None else side)
    ]
    if side == NO_SIDE or not found:
        return []
    _, sentence, node = max(found, key=lambda each: each[0])
    return [_plain(before), sentence.quote(node)]


def _listed(sentence: SentenceText, nodes: Sequence[int]) -> list[Run]:
    return _joined([[sentence.quote(node)] for node in sorted(nodes[:MOST_NAMED])])


def _joined(parts: Sequence[list[Run]]) -> list[Run]:
    return [run for place, part in enumerate(parts) for run in ([_plain(" and ")] * (place > 0) + part)]


def _plain(text: str) -> Run:
    return {"text": text}


def _merged(runs: Iterable[Run]) -> list[Run]:
    """The runs with neighbours of plain text joined."""
    merged: list[Run] = []
    for run in runs:
        if merged and "node" not in run and "node" not in merged[-1]:
            merged[-1] = _plain(merged[-1]["text"] + run["text"])
        else:
            merged.append(run)
    return merged
