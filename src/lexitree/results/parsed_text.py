"""A parsed text: its sentences and their trees, with places in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lexitree.arrays import rounded
from lexitree.results.sentence import PlacedSentence, written_tree
from lexitree.text.tokens import Token
from lexitree.trees.jsonl import tree_to_json
from lexitree.trees.tree import Tree
from lexitree.views.outline import draw_tree
from lexitree.views.svg import draw_svg


@dataclass(frozen=True, eq=False)
class ParsedSentence(PlacedSentence):
    """A sentence of a text with its tree, or with its most probable trees."""

    document_text: str
    tokens: tuple[Token, ...]
    trees: tuple[Tree, ...]
    """The most probable first; a single one unless more were asked for."""
    log_probabilities: tuple[float, ...] = ()
    """The log probability of each tree; none unless they were asked for."""

    @property
    def tree(self) -> Tree:
        """The most probable tree, with Penn labels."""
        return self.trees[0]

    def as_dict(self) -> dict[str, Any]:
        """The sentence as plain values for JSON.

        Without probabilities, it is a tree that `tree_from_json` reads. With them, it has a list `parses` of such
        trees, each with its `log_probability`, which `read_lists` reads. `start` and `end` of the sentence and of its
        tokens count characters of the text, those of phrases count words.
        """
        values = {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "tokens": [{"start": token.start, "end": token.end, "text": token.text} for token in self.tokens],
        }
        if not self.log_probabilities:
            return {**values, **tree_to_json(self.tree)}
        scored = zip(self.trees, self.log_probabilities, strict=True)
        parses = [{**tree_to_json(tree), "log_probability": rounded(score)} for tree, score in scored]
        return {**values, "parses": parses}

    def brackets(self) -> list[str]:
        """The trees in brackets."""
        return list(map(written_tree, self.trees))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class ParsedText:
    """A text and its parsed sentences; none for a text without words."""

    text: str
    sentences: tuple[ParsedSentence, ...]
    notes: tuple[str, ...] = ()
    """What was cut to keep the text within limits (`Limits(beyond="cut")`)."""

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The most probable tree of each sentence."""
        return tuple(sentence.tree for sentence in self.sentences)

    def brackets(self) -> list[str]:
        """The most probable tree of each sentence in brackets."""
        return list(map(written_tree, self.trees))

    def draw(self) -> Iterator[str]:
        """The most probable trees as lines of text."""
        for tree in self.trees:
            yield from draw_tree(tree)
            yield ""

    def svg(self) -> str:
        """The most probable trees as one SVG picture."""
        return draw_svg(self.trees)

    def _repr_svg_(self) -> str:
        """How a notebook shows it."""
        return self.svg()

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.sentences)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"ParsedText({len(self.sentences)} sentences: {self.text[:60]!r})"
