"""Trees as a parser would give them in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lexitree.parsers.penn_spans import spans_from_tree
from lexitree.trees.flat_parses import FlatParses, ParseLabels
from lexitree.trees.tree import Tree


def flat_parses(trees: Sequence[Tree]) -> FlatParses:
    """The phrases of some trees, with labels numbered as they come."""
    sentences = [spans_from_tree(tree) for tree in trees]
    phrases = {span.label: None for sentence in sentences for span in sentence.spans}
    tags = {tag: None for sentence in sentences for tag in sentence.tags}
    phrase_numbers = {label: number for number, label in enumerate(phrases)}
    tag_numbers = {tag: number for number, tag in enumerate(tags)}
    num_words = np.array([len(sentence.words) for sentence in sentences], dtype=np.int64)
    first_word = (np.cumsum(num_words) - num_words).tolist()
    rows = [
        (first + span.start, first + span.end, phrase_numbers[span.label])
        for sentence, first in zip(sentences, first_word, strict=True)
        for span in sentence.spans
    ]
    spans = np.array(rows, dtype=np.int64).reshape(-1, 3)
    numbers = [tag_numbers[tag] for sentence in sentences for tag in sentence.tags]
    labels = ParseLabels(tuple(phrases), tuple(tags))
    return FlatParses(labels, num_words, np.array(numbers, dtype=np.int64), *spans.T)
