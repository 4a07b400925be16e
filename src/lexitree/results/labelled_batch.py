"""The labelled sentences of a batch as arrays, of which each `Sentence` gets its part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from weakref import ref

import numpy as np

from lexitree.arrays import FloatArray, IndexArray, NodeArray
from lexitree.labels import LabelSet
from lexitree.lazy import cached_property
from lexitree.results.json_writing import WrittenNumbers
from lexitree.results.sentence import NumbersOfBatch, Sentence, Weigh
from lexitree.text.tokens import Tokens
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.flat_trees import FlatTrees


@dataclass(frozen=True, eq=False)
class LabelledBatch:
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
        """[nodes, 3]: as a `Sentence` has it, words counted from the sentence's first."""
        shift = np.repeat(self.trees.first_word[:-1], self.trees.sizes)
        columns = (self.trees.starts - shift, self.trees.ends - shift, self.trees.label_index)
        return np.stack(columns, 1).astype(np.int32)

    def sentence(self, number: int, document_text: str, tokens: Tokens) -> Sentence:
        """One of the sentences, in its place in a text; it keeps nothing of the others."""
        first, last = self._borders[number], self._borders[number + 1]
        rows = slice(self._rows[number], self._rows[number + 1])
        heads, weights = self.head_index, self.head_weight
        return Sentence(
            document_text,
            tokens,
            label_set=self.label_set,
            node_probabilities=self.probabilities[rows].copy(),
            head_index=None if heads is None else heads[first:last].copy(),
            head_weight=None if weights is None else weights[first:last].copy(),
            parse=self.parses.sentence(number),
            shape=self._shape[first:last].copy(),
            names=self.trees.names,
            weigh=self.weigh,
            batch_numbers=partial(_numbers_of, ref(self), rows),
        )

    @cached_property
    def written_numbers(self) -> WrittenNumbers:
        """The numbers of all nodes as JSON has them."""
        return WrittenNumbers(self.probabilities, self.head_weight, self.label_set)


def _numbers_of(results: ref[LabelledBatch], rows: slice) -> NumbersOfBatch | None:
    """The numbers of a sentence among those of its batch, while the batch is there."""
    batch = results()
    return None if batch is None else (batch.written_numbers, rows)
