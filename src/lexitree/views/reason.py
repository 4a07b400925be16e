"""Say in one sentence why a sentence or a text has its label, from what the tree says of its phrases.

A reason is a list of runs: pieces of plain text, and phrases of the text that can be looked up in their tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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
from lexitree.views.quotes import Run, SentenceText, plain
from lexitree.views.shown_tree import span_of

MOST_NAMED = 2
"""How many phrases are named on each side."""
LONGEST_TURN = 3
"""Words that turn a phrase are named if there are so few of them."""
_MIDDLE = "the middle of the scale"


def sentence_reason(sentence: SentenceText) -> list[Run]:
    """Why a sentence has its label."""
    evidence = sentence.evidence
    tree = evidence.tree
    label = tree.labels[0]
    if label == NO_LABEL:
        return [plain("no label")]
    if not len(tree.node_probabilities) and tree.label_set.polarity is None:
        return [plain(f"{label}: the label that the tree came with")]
    narrowly = "narrowly " if evidence.margins[0] < CLEAR_MARGIN else ""
    return _merged([plain(f"{narrowly}{label}: "), *_because(sentence)])


def _because(sentence: SentenceText) -> list[Run]:
    evidence = sentence.evidence
    labels = evidence.tree.labels
    if len(labels) == 1:
        return [sentence.quote(0), plain(" is the only word")]
    if all(label == NO_LABEL for label in labels[1:]):
        return [plain("only the sentence as a whole was labelled")]
    shown = set(evidence.highlights)
    outer = [node for node in evidence.outer_pieces if node in shown]
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
        main = [plain("because of "), *_listed(sentence, support)]
    return [*main, plain("; "), *turn] if turn else main


def _why_neutral(sentence: SentenceText, pieces: Sequence[int]) -> list[Run]:
    """Why a sentence is on neither side of its scale."""
    evidence = sentence.evidence
    if not pieces:
        return [plain(f"no phrase is {_clearly_on_a_side(evidence.tree.label_set)}")]
    first = pieces[0]
    other = next((node for node in pieces if evidence.sides[node] != evidence.sides[first]), None)
    if other is not None:
        return [
            *sentence.named(first),
            plain(" and "),
            *sentence.named(other),
            plain(" balance each other"),
        ]
    return [
        sentence.quote(first),
        plain(f" is {evidence.tree.labels[first]}, but the sentence as a whole is not"),
    ]


def _why_only_whole(sentence: SentenceText, against: Sequence[int]) -> list[Run]:
    """Why a sentence has a label that no part of it has."""
    evidence = sentence.evidence
    if evidence.is_reversal(0):
        return turn_clause(sentence, 0)
    if against:
        label = evidence.tree.labels[against[0]]
        return [plain("all words together; "), sentence.quote(against[0]), plain(f" alone is {label}")]
    return [plain(f"all words together; no phrase alone is {_clearly_on_a_side(evidence.tree.label_set)}")]


def _clearly_on_a_side(labels: LabelSet) -> str:
    if labels.polarity is None:
        return "clear"
    is_sentiment = set(labels.names) <= set(SENTIMENTS)
    return "clearly positive or negative" if is_sentiment else f"clearly above or below {_MIDDLE}"


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
            plain(" turns "),
            *sentence.named(turned),
            plain(" into "),
            *sentence.named(node),
        ]
    return [*sentence.named(turned), plain(" turns into "), *sentence.named(node)]


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
        plain(verb),
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
    node = int(tree.source.leaves[token])
    # In a dependency tree, the phrase of a word may be wider than the word.
    return [] if tree.source.arity[node] else [plain(before), sentence.quote(node)]


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
        return [plain("no words, so there is no label")]
    if len(sentences) == 1:
        return sentence_reason(sentences[0])
    labels = sentences[0].evidence.tree.label_set
    if label is None:
        counts = Counter(sentence.evidence.tree.labels[0] for sentence in sentences)
        parts = ", ".join(f"{counts[name]:,} {name}" for name in labels.names if counts[name])
        return [plain(f"{len(sentences):,} sentences: {parts}")]
    sides = dict(zip(labels.names, label_sides(labels), strict=True))
    side = sides[label]
    likeliest_other = max(
        (share for name, share in probabilities.items() if sides[name] != side), default=0.0
    )
    narrowly = "narrowly " if probabilities[label] - likeliest_other < CLEAR_MARGIN else ""
    agreeing = [sentence for sentence in sentences if sentence.evidence.sides[0] == side]
    opposed = [sentence for sentence in sentences if sentence.evidence.sides[0] not in (side, NO_SIDE)]
    counted = _counted(labels, side, [sentence.evidence.sides[0] for sentence in sentences])
    named = (
        []
        if side == NO_SIDE
        else [*_strongest(agreeing, "; strongest: "), *_strongest(opposed, "; against it: ")]
    )
    return [plain(f"{narrowly}{label}: {counted}"), *named]


def _counted(labels: LabelSet, side: int, sides: Sequence[int]) -> str:
    """`7 of 9 sentences are positive, 1 negative`; sentences are counted by side."""
    number, names = sides.count(side), _side_names(labels)
    parts = [f"{number:,} of {len(sides):,} sentences {'is' if number == 1 else 'are'} {names[side]}"]
    if labels.polarity is not None:
        others = (each for each in (POSITIVE, NEGATIVE) if each != side and each in sides)
        parts += [f"{sides.count(other):,} {names[other]}" for other in others]
    return ", ".join(parts)


def _side_names(labels: LabelSet) -> dict[int, str]:
    """How sentences of each side are called."""
    if labels.polarity is None:
        return dict(zip(label_sides(labels), labels.names, strict=True))
    if set(labels.names) <= set(SENTIMENTS):
        return {NEGATIVE: "negative", NO_SIDE: "neutral", POSITIVE: "positive"}
    return {NEGATIVE: f"below {_MIDDLE}", NO_SIDE: f"in {_MIDDLE}", POSITIVE: f"above {_MIDDLE}"}


def _strongest(sentences: Sequence[SentenceText], before: str) -> list[Run]:
    """What the sentence that counts most, by label and number of words, has for its label."""
    if not sentences:
        return []
    strongest = max(sentences, key=lambda each: each.evidence.weights[0] * len(each.token_spans))
    evidence = strongest.evidence
    own = [node for node in evidence.highlights if evidence.sides[node] == evidence.sides[0]]
    return [plain(before), strongest.quote(max(own, key=evidence.weights.__getitem__, default=0))]


def _listed(sentence: SentenceText, nodes: Sequence[int]) -> list[Run]:
    return _joined([[sentence.quote(node)] for node in sorted(nodes[:MOST_NAMED])])


def _joined(parts: Sequence[list[Run]]) -> list[Run]:
    return [run for place, part in enumerate(parts) for run in ([plain(" and ")] * (place > 0) + part)]


def _merged(runs: Iterable[Run]) -> list[Run]:
    """The runs with neighbours of plain text joined."""
    merged: list[Run] = []
    for run in runs:
        if merged and "node" not in run and "node" not in merged[-1]:
            merged[-1] = plain(merged[-1]["text"] + run["text"])
        else:
            merged.append(run)
    return merged
