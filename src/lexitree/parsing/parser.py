"""What every parser is: the words of sentences in, a constituency tree for each of them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from lexitree.trees.tree import Tree


class Parser(Protocol):
    """A parser of our own or an adapter for another one."""

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """A tree for each sentence, in their order, as a stream.

        Phrases and words carry Penn labels (`NP`, `NN`), phrases may have any number of parts, and the words of a
        tree are those of its sentence, one to one.
        """
        ...
