"""The parts of a search pattern: each finds the nodes of a tree that it matches, as a Boolean array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lexitree.arrays import BoolArray, NodeArray
from lexitree.errors import PatternError, Place
from lexitree.tree_search.node_facts import NodeFacts, lower_case
from lexitree.tree_search.relations import RELATIONS
from lexitree.trees.brackets import without_function_tags
from lexitree.trees.tree import CHAIN_JOINT, Tree

ANY = "*"
"""In a name or word, any number of characters."""


class Expression(Protocol):
    """A pattern, or a part of one."""

    def nodes(self, facts: NodeFacts) -> BoolArray:
        """Which nodes it matches."""
        ...


@dataclass(frozen=True, slots=True)
class Glob:
    """A name or word, or `V*` for all that begin with V."""

    pieces: tuple[str, ...]
    """What stands between the asterisks."""

    def matches(self, text: str) -> bool:
        """Whether a whole text matches, in time linear in the text for each piece."""
        if len(self.pieces) == 1:
            return text == self.pieces[0]
        first, *middle, last = self.pieces
        if not text.startswith(first) or not text.endswith(last):
            return False
        place, end = len(first), len(text) - len(last)
        for piece in middle:
            # The leftmost place leaves the most room for the others.
            found = text.find(piece, place, end)
            if found < 0:
                return False
            place = found + len(piece)
        return place <= end


@dataclass(frozen=True, slots=True)
class NameTest:
    """The label that a model gives, the category that a treebank or parser gives, or either."""

    glob: Glob
    label: bool = True
    category: bool = True

    def nodes(self, facts: NodeFacts) -> BoolArray:
        found = np.zeros(facts.tree.num_nodes, dtype=np.bool_)
        if self.category or facts.model is None:
            found |= _each(facts.categories, self._is_category)
        if self.label and facts.model is not None:
            found |= _each(facts.model.labels, self.glob.matches)
        return found

    def _is_category(self, label: str) -> bool:
        """`NP` is found in `NP`, `NP-SBJ` and the chain `S+NP`."""
        chain = (label, *label.split(CHAIN_JOINT)) if CHAIN_JOINT in label else (label,)
        return any(self.glob.matches(form) for each in chain for form in (each, without_function_tags(each)))


@dataclass(frozen=True, slots=True)
class WordTest:
    """A single word; in lower case, as are all words that are compared."""

    glob: Glob

    def nodes(self, facts: NodeFacts) -> BoolArray:
        return (facts.tree.arity == 0) & _each(facts.words.words, self.glob.matches)[facts.tree.starts]


@dataclass(frozen=True, slots=True)
class HeadTest:
    """The head word of a phrase, or a word itself."""

    glob: Glob
    place: Place

    def nodes(self, facts: NodeFacts) -> BoolArray:
        if facts.head_index is None:
            raise PatternError(
                self.place, "the model has no head words", remedy="Choose another model, or omit head=."
            )
        return _each(facts.words.words, self.glob.matches)[facts.head_index]


@dataclass(frozen=True, slots=True)
class TextTest:
    """The text of a phrase, or a part of it."""

    text: str
    is_whole: bool

    def nodes(self, facts: NodeFacts) -> BoolArray:
        find = facts.words.phrases_that_are if self.is_whole else facts.words.phrases_with
        return find(lower_case(self.text), facts.tree)


_COMPARISONS: dict[str, Callable[..., BoolArray]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
COMPARISONS = tuple(_COMPARISONS)


@dataclass(frozen=True, slots=True)
class ProbabilityTest:
    """The probability of the node's own label, or of a given one."""

    sign: str
    number: float
    place: Place
    label: str | None = None

    def nodes(self, facts: NodeFacts) -> BoolArray:
        if facts.model is None or not len(facts.model.probabilities):
            raise PatternError(
                self.place,
                "these trees have no probabilities",
                remedy="Label them: name a model with --model, or search what lexitree.load(model) returns.",
            )
        names = facts.model.label_names
        if self.label is not None and self.label not in names:
            raise PatternError(
                self.place,
                f"the model has no label {self.label!r}",
                remedy=f"Its labels are {', '.join(map(repr, names))}.",
            )
        return _COMPARISONS[self.sign](facts.probabilities(self.label), np.float32(self.number))


COUNTS: dict[str, Callable[[Tree], NodeArray]] = {
    "words": lambda tree: tree.ends - tree.starts,
    "children": lambda tree: tree.arity,
    "depth": lambda tree: tree.depths,
}
"""What is counted: the words and the parts of a phrase, and the phrases around it."""


@dataclass(frozen=True, slots=True)
class CountTest:
    """A number of words, parts or surrounding phrases."""

    what: str
    sign: str
    number: float

    def nodes(self, facts: NodeFacts) -> BoolArray:
        return _COMPARISONS[self.sign](COUNTS[self.what](facts.tree), self.number)


@dataclass(frozen=True, slots=True)
class KindTest:
    """`root`, `leaf` or `phrase`."""

    kind: str

    def nodes(self, facts: NodeFacts) -> BoolArray:
        return KINDS[self.kind](facts.tree)


KINDS: dict[str, Callable[[Tree], BoolArray]] = {
    "root": lambda tree: tree.depths == 0,
    "leaf": lambda tree: tree.arity == 0,
    "phrase": lambda tree: tree.arity > 0,
}


@dataclass(frozen=True, slots=True)
class Related:
    """Nodes that stand in a relation to others."""

    sign: str
    other: Expression

    def nodes(self, facts: NodeFacts) -> BoolArray:
        return RELATIONS[self.sign](facts.tree, self.other.nodes(facts))


@dataclass(frozen=True, slots=True)
class Not:
    """Nodes that something does not match."""

    part: Expression

    def nodes(self, facts: NodeFacts) -> BoolArray:
        return ~self.part.nodes(facts)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Nodes that all parts match."""

    parts: tuple[Expression, ...]

    def nodes(self, facts: NodeFacts) -> BoolArray:
        return np.logical_and.reduce([part.nodes(facts) for part in self.parts])


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Nodes that at least one part matches."""

    parts: tuple[Expression, ...]

    def nodes(self, facts: NodeFacts) -> BoolArray:
        return np.logical_or.reduce([part.nodes(facts) for part in self.parts])


def _each(texts: Sequence[str], test: Callable[[str], bool]) -> BoolArray:
    """Whether each text passes a test, which is made once for equal texts."""
    known = {text: test(text) for text in set(texts)}
    return np.fromiter(map(known.__getitem__, texts), dtype=np.bool_, count=len(texts))
