"""Finds the phrases of a text that say why it has its label: the smallest ones whose head word explains something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from lexitree.analysis.driver_report import Mention
from lexitree.arrays import DIGITS, NO_INDEX
from lexitree.labels import LabelSet
from lexitree.results.document import Document
from lexitree.results.sentence import Sentence, smallest

NEGATIVE, NEUTRAL, POSITIVE = "negative", "neutral", "positive"
"""The two ends of a scale, and its middle, which has no drivers."""

CLOSED_CLASS_TAGS = frozenset(
    [
        *("CC", "DT", "EX", "IN", "LS", "MD", "PDT", "POS", "PRP", "PRP$"),
        *("RP", "SYM", "TO", "UH", "WDT", "WP", "WP$", "WRB"),
    ]
)
"""Penn tags of words that explain nothing by themselves: articles, prepositions, pronouns, modals and such."""
FUNCTION_WORDS = frozenset(
    [
        *("be", "am", "is", "are", "was", "were", "been", "being", "'m", "'s", "'re", "ai"),
        *("have", "has", "had", "having", "'ve", "'d", "do", "does", "did", "doing", "done"),
        *("wo", "ca", "'ll", "not", "n't", "no"),
        *("very", "too", "so", "quite", "really", "just", "more", "most", "much"),
    ]
)
"""Words of open classes, by their tags, that explain nothing either: auxiliaries, negation and degree."""


def explains(word: str, tag: str = "") -> bool:
    """Whether a head word says what a text is about: it has letters and is no word of a closed class.

    Args:
        word: The word.
        tag: Its Penn tag, as the parser gave it.
    """
    is_word = any(map(str.isalpha, word))
    return is_word and tag not in CLOSED_CLASS_TAGS and folded(word) not in FUNCTION_WORDS


def kinds_of_labels(labels: LabelSet) -> dict[str, str]:
    """The kind of drivers that each label, by its name, counts for: an end of the scale, or the label itself."""
    if labels.polarity is None:
        return {name: name for name in labels.names}
    ends = {True: POSITIVE, False: NEGATIVE}
    return {
        name: NEUTRAL if place == 0.5 else ends[place > 0.5]
        for name, place in zip(labels.names, labels.polarity, strict=True)
    }


class ReadText(NamedTuple):
    """What is counted of a text."""

    text: str
    label: str | None
    """The kind of the text's own label; None for an empty text."""
    labels: tuple[str, ...]
    """All kinds that its model knows, in their order."""
    mentions: tuple[Mention, ...]


def read_document(document: Document) -> ReadText:
    """Find the phrases of a text that are counted."""
    if not document.sentences or document.label is None:
        return ReadText(document.text, None, (), ())
    kinds = kinds_of_labels(document.sentences[0].label_set)
    mentions = [mention for sentence in document.sentences for mention in _mentions(sentence, kinds)]
    return ReadText(document.text, kinds[document.label], _in_scale_order(kinds), tuple(mentions))


def _in_scale_order(kinds: Mapping[str, str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(kinds.values()))
    scale = (NEGATIVE, NEUTRAL, POSITIVE)
    return tuple(kind for kind in scale if kind in found) if set(found) <= set(scale) else found


def _mentions(sentence: Sentence, kinds: Mapping[str, str]) -> Iterator[Mention]:
    """The smallest phrases of each kind whose head word explains something."""
    names, tokens, spans = sentence.label_set.names, sentence.tokens, sentence.source.spans
    order = [kind for kind in dict.fromkeys(kinds.values()) if kind != NEUTRAL]
    numbers = {name: order.index(kind) for name, kind in kinds.items() if kind != NEUTRAL}
    found = [
        numbers.get(label, NO_INDEX) if is_counted else NO_INDEX
        for label, is_counted in zip(sentence.labels, _says_something(sentence), strict=True)
    ]
    for node, number in enumerate(smallest(sentence.source, found)):
        if number == NO_INDEX:
            continue
        first, last = spans[node]
        start, end = tokens[first].start, tokens[last - 1].end
        heads = sentence.head_index
        word = sentence.document_text[start:end] if heads is None else sentence.words[int(heads[node])]
        of_kind = [place for place, name in enumerate(names) if kinds[name] == order[number]]
        probability = float(sentence.node_probabilities[node, of_kind].sum())
        yield Mention(order[number], folded(word), start, end, round(probability, DIGITS))


def _says_something(sentence: Sentence) -> list[bool]:
    """For each phrase, whether its head word, or any of its words if it has no head, explains something."""
    tree, parse = sentence.source, sentence.parse
    leaves: list[int] = parse.leaves.tolist()
    content = [explains(word, parse.labels[leaf]) for word, leaf in zip(sentence.words, leaves, strict=True)]
    if sentence.head_index is None:
        num_before = np.concatenate([[0], np.cumsum(content)])
        return (num_before[tree.ends] > num_before[tree.starts]).tolist()
    heads: list[int] = sentence.head_index.tolist()
    return [content[head] for head in heads]


def folded(text: str) -> str:
    """As drivers are told apart: in lower case, with plain apostrophes and single spaces."""
    return " ".join(text.lower().replace("’", "'").split())
