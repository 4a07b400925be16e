"""What every parser is: the words of sentences in, a constituency tree for each of them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from lexitree.parsers.long_sentences import Candidate
from lexitree.trees.tree import Tree


class Parser(Protocol):
    """A parser of our own or an adapter for another one."""

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """A tree for each sentence, in their order, as a stream.

        Phrases and words carry Penn labels (`NP`, `NN`), phrases may have any number of parts, and the words of a
        tree are those of its sentence, one to one.
        """
        ...


class KBestParser(Parser, Protocol):
    """A parser that can name more than one tree."""

    def parse_all_k_best(self, sentences: Iterable[Sequence[str]], k: int) -> Iterator[list[Candidate]]:
        """The k best trees of each sentence, from the best on, with their log probabilities; fewer if there are no
        more."""
        ...
