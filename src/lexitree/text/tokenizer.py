"""Text in, its tokens out, cut as in the Penn Treebank, with their places in the text."""

from __future__ import annotations

from lexitree.text.sentences import Layout, split_sentences
from lexitree.text.tokens import Token


def tokenize(text: str, layout: Layout = "text") -> list[Token]:
    """The tokens of a text: those of its sentences, one after the other.

    In their order, they hold every character that is not white space exactly once.
    """
    return [token for sentence in split_sentences(text, layout) for token in sentence.tokens]
