"""How large a tree in a file may be: a small file must not fill the memory, be it of trees or of text."""

from __future__ import annotations

from lexitree.errors import TreeError

MAX_WORDS = 50_000
"""As many as a tree of any shape can have and still be labelled in less than a gigabyte."""
MAX_NODES = 250_000
"""A binary tree has two for each word; the others are for phrases of a single part, which could go on for ever."""

TOO_LARGE = 'Divide the sentence, or leave such trees out: --on-error skip, or on_error="skip".'
"""The remedy."""


def too_many(limit: int, what: str) -> str:
    """The problem of a tree beyond a limit."""
    return f"tree has more than {limit:,} {what}"


def check_tree_size(num_words: int, num_nodes: int = 0) -> None:
    """Refuse a tree of a file before it is made.

    Raises:
        TreeError: It has too many words or nodes.
    """
    for found, limit, what in ((num_words, MAX_WORDS, "words"), (num_nodes, MAX_NODES, "nodes")):
        if found > limit:
            raise TreeError(too_many(limit, what), remedy=TOO_LARGE)
