"""Quotes: phrases as they stand in the text, on one line, without what only links them to others."""

from __future__ import annotations

from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.tree import Tree
from lexitree.views.quotes import shorten_quote
from tests.tiny import chain
from tests.views.labelled import STARS, sentence_text, sure


def test_long_quotes_are_cut() -> None:
    assert shorten_quote("a\n b") == "a b"
    assert shorten_quote("x" * 40 + "y" * 60) == "x" * 40 + "…" + "y" * 40
    tree = chain(400, "right")
    labels = ["3", *["2"] * (tree.num_nodes - 1)]
    quote = sentence_text(LabelledTree.from_tree(tree.with_labels(labels), label_set=STARS)).quote(0)
    assert len(quote["text"]) <= 81
    assert "…" in quote["text"]
    spaced = Tree.flat(["a" + "\u00a0" * 300 + "b", "c"])
    assert sentence_text(LabelledTree.from_tree(spaced)).quote(0)["text"] == "a … b c"


def test_linking_words_at_the_ends_are_not_quoted() -> None:
    quote = sentence_text(sure("(3 (2 ,) (3 (2 but) (3 (3 fun) (2 .))))", STARS)).quote(0)
    assert quote["text"] == "fun"
