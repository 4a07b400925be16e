"""What every parser offers: one tree, or the k best, for each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

from lexitree.limits import Check
from lexitree.pending import Pending
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.tree import Tree


class Candidate(NamedTuple):
    """A tree and the log of its probability among all trees over the same words."""

    tree: Tree
    log_probability: float


class Parser(Protocol):
    """The built-in parser, or an adapter for another one."""

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """Parse a stream of sentences.

        Args:
            sentences: The words of each sentence.

        Yields:
            A tree for each sentence, in order. Phrases and words carry Penn labels (`NP`, `NN`), phrases have any
            number of children, and the words are those of the sentence, one to one.
        """
        ...


class FlatParser(Parser, Protocol):
    """A parser that gives the parses of many sentences as arrays; each call stands alone."""

    def start_parses(self, sentences: Sequence[Sequence[str]], check: Check) -> Pending[FlatParses]:
        """Begin to parse some sentences; `check` is called now and then, and may raise an error to end it."""
        ...


def gives_arrays(parser: Parser) -> TypeGuard[FlatParser]:
    """Whether a parser gives arrays; asked for each text, so it looks for one method only."""
    return hasattr(parser, "start_parses")


@runtime_checkable
class KBestParser(Parser, Protocol):
    """A parser that can rank several trees for a sentence."""

    def parse_all_k_best(self, sentences: Iterable[Sequence[str]], k: int) -> Iterator[list[Candidate]]:
        """Yield up to k trees for each sentence, best first, with their log probabilities."""
        ...
