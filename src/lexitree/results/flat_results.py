"""Many labelled sentences as flat arrays, and sentences that are made of them when they are asked for.

A `FlatSentence` is a `Sentence` in every respect. It holds its part of the arrays; the trees, which are Python
objects with a label for each node, are made only for who asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any
from weakref import ref

import numpy as np

from lexitree.arrays import FloatArray, IndexArray, NodeArray
from lexitree.labels import LabelSet
from lexitree.results.json_writing import WrittenNumbers
from lexitree.results.labelled_tree import WordWeigher
from lexitree.results.sentence import Sentence
from lexitree.text.tokens import Token, Tokens
from lexitree.trees.flat_parses import FlatParses, SentenceParse
from lexitree.trees.flat_trees import FlatTrees
from lexitree.trees.tree import Tree

Weigh = Callable[[Tree], WordWeigher]
"""Gives what computes the head weights of a tree that the model has just labelled."""


@dataclass(frozen=True, eq=False)
class FlatResults:
    """The sentences of a batch as their model has labelled them; `sentence` puts one into its place in a text."""

    label_set: LabelSet
    parses: FlatParses
    trees: FlatTrees
    """The binary trees that the model has read."""
    probabilities: FloatArray
    """[nodes, labels], or [sentences, labels] where only whole sentences were asked for."""
    head_index: IndexArray | None
    """[nodes]: the position of each phrase's head word in its sentence; None for a model without heads."""
    head_weight: FloatArray | None
    """[nodes]: the head word's share of the phrase's head vector."""
    weigh: Weigh | None

    @property
    def num_sentences(self) -> int:
        return self.trees.num_trees

    @cached_property
    def _borders(self) -> list[int]:
        """Where the nodes of each sentence begin, and where the last one's end."""
        return self.trees.first_node.tolist()

    @cached_property
    def _rows(self) -> list[int]:
        """Where the probabilities of each sentence begin, and where the last one's end."""
        has_all = len(self.probabilities) == self._borders[-1]
        return self._borders if has_all else list(range(self.trees.num_trees + 1))

    @cached_property
    def _shape(self) -> NodeArray:
        """[nodes, 3]: as a `FlatSentence` has it, words counted from the sentence's first."""
        shift = np.repeat(self.trees.first_word[:-1], self.trees.sizes)
        columns = (self.trees.starts - shift, self.trees.ends - shift, self.trees.label_index)
        return np.stack(columns, 1).astype(np.int32)

    def sentence(self, number: int, document_text: str, tokens: Tokens) -> FlatSentence:
        """One of the sentences, in its place in a text; it keeps nothing of the others."""
        first, last = self._borders[number], self._borders[number + 1]
        rows = slice(self._rows[number], self._rows[number + 1])
        heads, weights = self.head_index, self.head_weight
        return FlatSentence(
            document_text,
            tokens,
            self.label_set,
            self.probabilities[rows].copy(),
            None if heads is None else heads[first:last].copy(),
            None if weights is None else weights[first:last].copy(),
            self.parses.sentence(number),
            self._shape[first:last].copy(),
            self.trees.names,
            self.weigh,
            partial(_numbers_of, ref(self), rows),
        )

    @cached_property
    def written_numbers(self) -> WrittenNumbers:
        """The numbers of all nodes as JSON has them."""
        return WrittenNumbers(self.probabilities, self.head_weight, self.label_set)


NumbersOfBatch = tuple[WrittenNumbers, slice]
"""The numbers of a batch, and which of them belong to a sentence."""


def _numbers_of(results: ref[FlatResults], rows: slice) -> NumbersOfBatch | None:
    """The numbers of a sentence among those of its batch, while the batch is there."""
    batch = results()
    return None if batch is None else (batch.written_numbers, rows)


class FlatSentence(Sentence):
    """A sentence whose trees are made when they are asked for."""

    def __init__(
        self,
        document_text: str,
        tokens: Tokens,
        label_set: LabelSet,
        node_probabilities: FloatArray,
        head_index: IndexArray | None,
        head_weight: FloatArray | None,
        parse: SentenceParse,
        shape: NodeArray,
        names: tuple[str, ...],
        weigh: Weigh | None,
        batch_numbers: Callable[[], NumbersOfBatch | None],
    ) -> None:
        # The class is frozen, and setting the attributes one by one takes as long as finding the tokens.
        self.__dict__.update(
            document_text=document_text,
            flat_tokens=tokens,
            label_set=label_set,
            node_probabilities=node_probabilities,
            head_index=head_index,
            head_weight=head_weight,
            flat_parse=parse,
            shape=shape,
            _names=names,
            _weigh=weigh,
            _batch_numbers=batch_numbers,
        )

    flat_tokens: Tokens
    """The tokens, of which `tokens` are made."""
    flat_parse: SentenceParse
    """The parse, of which `parse` is made."""
    shape: NodeArray
    """[nodes, 3]: first word of each phrase, the word after its last, and the number of its name."""
    _names: tuple[str, ...]
    _weigh: Weigh | None
    _batch_numbers: Callable[[], NumbersOfBatch | None]

    @cached_property
    def tokens(self) -> tuple[Token, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(self.flat_tokens)

    @property
    def start(self) -> int:
        return self.flat_tokens.starts[0]

    @property
    def end(self) -> int:
        return self.flat_tokens.ends[-1]

    @property
    def has_all_phrases(self) -> bool:
        return len(self.node_probabilities) == 2 * len(self.flat_tokens) - 1

    @cached_property
    def source(self) -> Tree:  # pyright: ignore[reportIncompatibleVariableOverride]
        arity = np.where(self.shape[:, 1] - self.shape[:, 0] == 1, 0, 2)
        names: list[int] = self.shape[:, 2].tolist()
        return Tree(arity, [self._names[name] for name in names], self.flat_tokens.forms)

    @cached_property
    def parse(self) -> Tree:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.flat_parse.tree(self.flat_tokens.forms)

    @cached_property
    def weigher(self) -> WordWeigher | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return None if self._weigh is None else self._weigh(self.source)

    @cached_property
    def _shares(self) -> dict[str, float]:
        return super().probabilities

    @property
    def probabilities(self) -> dict[str, float]:
        return dict(self._shares)

    @property
    def probability(self) -> float:
        return max(self._shares.values())

    @cached_property
    def score(self) -> float | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().score

    def written_numbers(self) -> NumbersOfBatch:
        """Its numbers as JSON has them; those of a batch, as long as it is there, are made in one go."""
        own = self._batch_numbers()
        if own is not None:
            return own
        return WrittenNumbers(self.node_probabilities, self.head_weight, self.label_set), slice(None)

    def __reduce__(self) -> tuple[object, ...]:
        """Sent to another process, it is a plain sentence."""
        return _plain_sentence, ({each.name: getattr(self, each.name) for each in fields(Sentence)},)


def _plain_sentence(values: dict[str, Any]) -> Sentence:
    return Sentence(**values)
