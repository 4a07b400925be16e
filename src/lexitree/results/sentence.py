"""A labelled sentence of a text and its phrases, with their positions in the text.

Positions (`start`, `end`) count characters of the document's text, so `document.text[phrase.start:phrase.end]` is
always `phrase.text`. A phrase is a view of its sentence's arrays, made when it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexitree.arrays import NO_INDEX, FloatArray, IndexArray, NodeArray, rounded
from lexitree.errors import ConfigError
from lexitree.labels import LabelSet
from lexitree.lazy import cached_property
from lexitree.results.json_writing import WrittenNumbers, write_sentence
from lexitree.results.labelled_tree import LabelledTree, WordWeigher, short_text
from lexitree.text.tokens import Token, Tokens
from lexitree.trees.brackets import written_tree
from lexitree.trees.flat_parses import SentenceParse
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of a sentence, from a single word to the whole."""

    sentence: Sentence
    node: int
    """Its number in pre-order; the whole sentence is 0."""

    @property
    def label(self) -> str:
        """The likeliest label."""
        return self.sentence.labels[self.node]

    @property
    def label_id(self) -> str:
        """The id of that label, as it stands in treebanks."""
        return self.sentence.label_ids[self.node]

    @property
    def probability(self) -> float:
        """The probability of that label."""
        return float(self._row.max())

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label."""
        return dict(zip(self.sentence.label_set.names, self._row.tolist(), strict=True))

    @property
    def score(self) -> float | None:
        """Where it stands on the scale of its labels, from -1 to 1; see `Document.score`."""
        scores = self.sentence.node_scores
        return scores[self.node] if scores else None

    @property
    def head(self) -> str | None:
        """The word that stands for the phrase, as it stands in the document; None for a model without heads."""
        return self.sentence.head(self.node)

    @property
    def head_index(self) -> int | None:
        """The position of the head word among the tokens of the sentence; None for a model without heads."""
        heads = self.sentence.head_index
        return None if heads is None else int(heads[self.node])

    @property
    def head_weight(self) -> float | None:
        """The head word's share of the phrase's head vector, from 0 to 1."""
        weights = self.sentence.head_weight
        return None if weights is None else float(weights[self.node])

    @property
    def head_weights(self) -> tuple[float, ...] | None:
        """The share of each token in the phrase's head vector; see `LabelledTree.head_weights`."""
        return self.sentence.head_weights(self.node)

    @property
    def tokens(self) -> tuple[Token, ...]:
        first, last = self.span
        return self.sentence.tokens[first:last]

    @property
    def span(self) -> tuple[int, int]:
        """The number of its first token in the sentence, and of the one after its last."""
        tree = self.sentence.source
        return int(tree.starts[self.node]), int(tree.ends[self.node])

    @property
    def start(self) -> int:
        """The position of its first character in the document."""
        return self.sentence.tokens[self.span[0]].start

    @property
    def end(self) -> int:
        """The position after its last character."""
        return self.sentence.tokens[self.span[1] - 1].end

    @property
    def text(self) -> str:
        """The phrase exactly as it stands in the document."""
        return self.sentence.document_text[self.start : self.end]

    @property
    def is_word(self) -> bool:
        return not self.sentence.source.arity[self.node]

    @property
    def depth(self) -> int:
        """The number of phrases that contain it; 0 for the whole sentence."""
        return int(self.sentence.source.depths[self.node])

    @property
    def parent(self) -> Phrase | None:
        """The phrase that it is a part of; None for the whole sentence."""
        parent = int(self.sentence.source.parents[self.node])
        return None if parent == NO_INDEX else Phrase(self.sentence, parent)

    @property
    def children(self) -> tuple[Phrase, ...]:
        """Its parts from left to right; none for a word."""
        return tuple(Phrase(self.sentence, part) for part in self.sentence.source.children[self.node])

    @property
    def _row(self) -> FloatArray:
        return self.sentence.node_probabilities[self.node]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Phrase({short_text(self.text)!r}, {self.label!r} {self.probability:.2f})"


class PlacedSentence:
    """Where a sentence stands in its text."""

    document_text: str
    tokens: tuple[Token, ...]

    @property
    def start(self) -> int:
        """The position of its first character in the text."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """The position after its last character."""
        return self.tokens[-1].end

    @property
    def text(self) -> str:
        """The sentence exactly as it stands in the text."""
        return self.document_text[self.start : self.end]


Weigh = Callable[[Tree], WordWeigher]
"""Gives what computes the head weights of a tree that the model has just labelled."""

NumbersOfBatch = tuple[WrittenNumbers, slice]
"""The numbers of a batch as JSON has them, and which of them belong to a sentence."""


class Sentence(PlacedSentence, LabelledTree):
    """A sentence of a document: the labelled binary tree that the model has read, with positions in the text.

    It holds its part of the arrays of a batch. Its trees and tokens, which are Python objects, are made when they are
    asked for.
    """

    def __init__(
        self,
        document_text: str,
        tokens: Tokens,
        *,
        label_set: LabelSet,
        node_probabilities: FloatArray,
        head_index: IndexArray | None,
        head_weight: FloatArray | None,
        parse: SentenceParse,
        shape: NodeArray,
        names: tuple[str, ...],
        weigh: Weigh | None = None,
        batch_numbers: Callable[[], NumbersOfBatch | None] | None = None,
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
    _batch_numbers: Callable[[], NumbersOfBatch | None] | None

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
    def source(self) -> Tree:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The binary tree that the model has read."""
        return self._source

    @cached_property
    def _source(self) -> Tree:
        arity = np.where(self.shape[:, 1] - self.shape[:, 0] == 1, 0, 2)
        names: list[int] = self.shape[:, 2].tolist()
        return Tree(arity, [self._names[name] for name in names], self.flat_tokens.forms)

    @cached_property
    def parse(self) -> Tree:
        """The tree that the parser gave, with Penn labels, over the sentence's own words."""
        return self.flat_parse.tree(self.flat_tokens.forms)

    @cached_property
    def weigher(self) -> WordWeigher | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return None if self._weigh is None else self._weigh(self.source)

    @cached_property
    def _shares(self) -> dict[str, float]:
        return super().probabilities

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of every label for the sentence."""
        return dict(self._shares)

    @property
    def probability(self) -> float:
        """The probability of its label."""
        return max(self._shares.values())

    @cached_property
    def score(self) -> float | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Where the sentence stands on the scale of its labels, from -1 to 1; see `Document.score`."""
        return super().score

    def written_numbers(self) -> NumbersOfBatch:
        """Its numbers as JSON has them; those of a batch, as long as it is there, are made in one go."""
        own = None if self._batch_numbers is None else self._batch_numbers()
        if own is not None:
            return own
        return WrittenNumbers(self.node_probabilities, self.head_weight, self.label_set), slice(None)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy keeps the arrays; one in another process leaves the model behind (see `weigher`)."""
        kept = ("label_set", "node_probabilities", "head_index", "head_weight", "shape")
        values = {name: getattr(self, name) for name in kept} | {
            "parse": self.flat_parse,
            "names": self._names,
        }
        return _copied_sentence, (self.document_text, self.flat_tokens, values, self.weigher)

    @cached_property
    def _words(self) -> tuple[str, ...]:
        """As they stand in the document, not as the parser reads them."""
        return tuple(self.flat_tokens.texts)

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """All phrases, single words included, in pre-order: the whole sentence first, a phrase before its parts."""
        return tuple(Phrase(self, node) for node in range(self.source.num_nodes))

    @property
    def has_all_phrases(self) -> bool:
        """Whether all phrases are labelled, and not the sentence only."""
        return len(self.node_probabilities) == 2 * len(self.flat_tokens) - 1

    @property
    def whole(self) -> Phrase:
        """The phrase that is the sentence."""
        return Phrase(self, 0)

    def find(
        self,
        label: str | Collection[str] | None = None,
        *,
        minimal: bool = True,
        min_probability: float = 0.0,
    ) -> list[Phrase]:
        """Find phrases, single words included, by their labels.

        Args:
            label: The name or the id of a label, or several, which then count as one; by default, all labels.
            minimal: Whether to leave out phrases with another one of those found, of the same label, inside: what is
                left are the smallest phrases that the label comes from.
            min_probability: How likely the label of a phrase must be.

        Returns:
            The phrases in pre-order.

        Raises:
            ConfigError: The model has no such label.
        """
        groups = self._label_groups(label)
        found = [
            groups.get(own, NO_INDEX) if sure else NO_INDEX
            for own, sure in zip(self.labels, self._is_likely(min_probability), strict=True)
        ]
        if minimal:
            found = smallest(self.source, found)
        return [Phrase(self, node) for node, group in enumerate(found) if group != NO_INDEX]

    def _label_groups(self, label: str | Collection[str] | None) -> dict[str, int]:
        """The names of labels to look for, each with the number of those that count as one label."""
        names = self.label_set.names
        if label is None:
            return {name: place for place, name in enumerate(names)}
        wanted = {label} if isinstance(label, str) else set(label)
        if unknown := sorted(wanted - {*names, *self.label_set.ids}):
            raise ConfigError(
                f"there is no label {', '.join(map(repr, unknown))}",
                remedy=f"The labels are {', '.join(map(repr, names))}.",
            )
        ids = self.label_set.ids
        return {name: 0 for name, each in zip(names, ids, strict=True) if name in wanted or each in wanted}

    def _is_likely(self, min_probability: float) -> list[bool]:
        return (self.node_probabilities.max(1) >= min_probability).tolist()

    def as_dict(self, *, head_weights: bool = False) -> dict[str, Any]:
        """The sentence as plain values for JSON, with its tokens, its parse and its phrases in pre-order.

        Of a phrase, `children` are numbers of phrases, and `head_index` is the number of a token, both of the
        sentence. A text or head word of more than `MAX_SHOWN_CHARACTERS` is shortened, since all phrases around it
        repeat it.

        Args:
            head_weights: Whether to give the weights of all words of each phrase, and not the head's only.
        """
        values: dict[str, Any] = json.loads(write_sentence(self))
        if head_weights and self.head_index is not None:
            for node, phrase in enumerate(values.get("phrases", ())):
                phrase["head_weights"] = rounded(self.head_weights(node))
        return values

    def brackets(self) -> str:
        """The tree in brackets, with the ids of its labels, as treebanks have them."""
        return written_tree(self.tree)

    def __repr__(self) -> str:
        return f"Sentence({short_text(self.text)!r}, {self._verdict()})"

    def __str__(self) -> str:
        return self.text


def _copied_sentence(
    document_text: str, tokens: Tokens, values: dict[str, Any], weigher: WordWeigher | None
) -> Sentence:
    sentence = Sentence(document_text, tokens, **values)
    sentence.__dict__["weigher"] = weigher
    return sentence


def smallest(tree: Tree, groups: Sequence[int]) -> list[int]:
    """Leave the smallest phrases of each group: `NO_INDEX` wherever one of the same group is inside.

    Args:
        tree: The tree.
        groups: The group of each node, `NO_INDEX` for none.
    """
    parents: list[int] = tree.parents.tolist()
    inside: list[set[int]] = [set() for _ in parents]
    kept = list(groups)
    # Backwards, parts come before the whole.
    for node in range(len(kept) - 1, -1, -1):
        below = inside[node]
        if kept[node] in below:
            kept[node] = NO_INDEX
        if parents[node] != NO_INDEX:
            inside[parents[node]] |= below if groups[node] == NO_INDEX else below | {groups[node]}
        inside[node] = set()
    return kept
