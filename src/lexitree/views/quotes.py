"""Quote phrases of a text in sentences about them, so that each quote can be looked up in its tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lexitree.views.evidence import Evidence, is_linking
from lexitree.views.shown_tree import span_of

Run = dict[str, Any]
"""`{"text": ...}`, and for a phrase also `"sentence"`, `"node"` and `"label"`."""

LONGEST_QUOTE = 80


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
        # A long phrase is not read through: all phrases around it would do that again.
        return shorten_quote(
            f"{self.text[start : start + LONGEST_QUOTE]} … {self.text[end - LONGEST_QUOTE : end]}"
        )

    def named(self, node: int) -> list[Run]:
        """`*a bad film* (negative)`."""
        return [self.quote(node), plain(f" ({self.evidence.tree.labels[node]})")]


def shorten_quote(text: str) -> str:
    """A text on one line; of a long one, its beginning and its end."""
    text = " ".join(text.split())
    if len(text) <= LONGEST_QUOTE:
        return text
    half = LONGEST_QUOTE // 2
    return f"{text[:half].rstrip()}…{text[len(text) - half :].lstrip()}"


def plain(text: str) -> Run:
    """A run of text that quotes nothing."""
    return {"text": text}
