"""Texts whose sentences and tokens are known, because another tool has found them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from lexitree.errors import TextError
from lexitree.text.scanner import tokens_at
from lexitree.text.tokens import TokenizedSentence, Tokens

Span = tuple[int, int]
"""The position of a token's first character in the text, and the one after its last."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text with its sentences and tokens, as another tool has split it; a pipeline labels it like a string.

    pipe = lexitree.load("sentiment")
    pipe(lexitree.TokenizedText.from_spans("Not bad.", [[(0, 3), (4, 7), (7, 8)]]))
    """

    text: str
    sentences: tuple[TokenizedSentence, ...]

    @classmethod
    def from_spans(cls, text: str, sentences: Iterable[Iterable[Span]]) -> Self:
        """Take the tokens at these positions; parser and model read them in the form that treebanks give them.

        The form of a token depends on its sentence only. White space is no token: tokens are trimmed, and those
        of nothing else are left out, as are sentences without other tokens.

        Args:
            text: The text.
            sentences: The first position of each token of a sentence, and the one after its last, in their order.

        Raises:
            TextError: A token is outside of the text, or not after the one before it.
        """
        found = [[_trim(text, *span) for span in sentence] for sentence in sentences]
        kept = [[(start, end) for start, end in spans if start < end] for spans in found]
        _check_order([span for spans in kept for span in spans])
        tokens = (tuple(tokens_at(text, spans)) for spans in kept if spans)
        return cls(text, tuple(map(TokenizedSentence, tokens)))

    def tokens_within(self, beginning: str) -> list[Tokens]:
        """The tokens of each sentence, as far as they are in the beginning of the text that is kept."""
        tokens = [sentence.tokens for sentence in self.sentences]
        if len(beginning) < len(self.text):
            tokens = [[token for token in row if token.end <= len(beginning)] for row in tokens]
        return [Tokens.of(row) for row in tokens if row]


AnyText = str | TokenizedText
"""A text that is to be split, or that comes with its sentences and tokens."""


def _trim(text: str, start: int, end: int) -> Span:
    if not 0 <= start <= end <= len(text):
        raise TextError(f"has no token from {start} to {end}: it has {len(text):,} characters")
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, start + len(piece.strip())


def _check_order(spans: list[Span]) -> None:
    for (_, end), (start, _) in pairwise(spans):
        if start < end:
            raise TextError(f"has tokens that overlap or are out of order at character {start}")
