"""A labelled sentence of a text and its phrases, with their positions in the text.

Positions (`start`, `end`) count characters of the document's text, so `document.text[phrase.start:phrase.end]` is
always `phrase.text`. A phrase is a view of its sentence's arrays, made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

from lexitree.arrays import NO_INDEX, FloatArray, rounded
from lexitree.errors import ConfigError
from lexitree.results.labelled_tree import LabelledTree, short_text
from lexitree.text.tokens import Token, Tokens
from lexitree.trees.brackets import written_tree
from lexitree.trees.tree import Tree
from lexitree.views.visible import shorten_text


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
    def head(self) -> Token | None:
        """The word that stands for the phrase; None for a model without heads."""
        heads = self.sentence.head_index
        return None if heads is None else self.sentence.tokens[int(heads[self.node])]

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


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sentence(PlacedSentence, LabelledTree):
    """A sentence of a document: the labelled binary tree that the model has read, with positions in the text."""

    document_text: str
    tokens: tuple[Token, ...]
    parse: Tree
    """The tree as the parser gave it, with Penn labels."""

    @classmethod
    def placed(cls, labelled: LabelledTree, parse: Tree, document_text: str, tokens: Tokens) -> Self:
        """The labelled tree of a sentence, put in its place in a text."""
        values = {each.name: getattr(labelled, each.name) for each in fields(LabelledTree)}
        return cls(**values, document_text=document_text, tokens=tuple(tokens), parse=parse)

    @cached_property
    def _words(self) -> tuple[str, ...]:
        """As they stand in the document, not as the parser reads them."""
        return tuple(token.text for token in self.tokens)

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """All phrases, single words included, in pre-order: the whole sentence first, a phrase before its parts."""
        return tuple(Phrase(self, node) for node in range(self.source.num_nodes))

    @property
    def has_all_phrases(self) -> bool:
        """Whether all phrases are labelled, and not the sentence only."""
        return len(self.node_probabilities) == 2 * len(self.tokens) - 1

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

    def phrase_records(self) -> Iterator[dict[str, Any]]:
        """The phrases in pre-order as plain values, all with the same keys.

        `children` are numbers of phrases, and `head` is the number of a token, both of the sentence. A text or head
        word of more than `MAX_SHOWN_CHARACTERS` is shortened, since all phrases around it repeat it.
        """
        # Taken from the arrays at once: phrase by phrase, writing took as long as labelling.
        tree, names, tokens = self.source, self.label_set.names, self.tokens
        starts = [tokens[first].start for first, _ in tree.spans]
        ends = [tokens[last - 1].end for _, last in tree.spans]
        nothing: list[Any] = [None] * tree.num_nodes
        words = [shorten_text(word) for word in self.words]
        for start, end, label, row, likeliest, score, children, head, weight in zip(
            starts,
            ends,
            self.labels,
            rounded(self.node_probabilities),
            self.node_probabilities.argmax(1).tolist(),
            rounded(list(self.node_scores)) or nothing,
            tree.children,
            nothing if self.head_index is None else self.head_index.tolist(),
            nothing if self.head_weight is None else rounded(self.head_weight),
            strict=True,
        ):
            yield {
                "start": start,
                "end": end,
                "text": shorten_text(self.document_text, start, end),
                "label": label,
                "probability": row[likeliest],
                "probabilities": dict(zip(names, row, strict=True)),
                "score": score,
                "children": list(children),
                "head": head,
                "head_word": None if head is None else words[head],
                "head_weight": weight,
            }

    def as_dict(self, *, head_weights: bool = False) -> dict[str, Any]:
        """The sentence as plain values for JSON, with its tokens, its parse and its phrases in pre-order.

        Args:
            head_weights: Whether to give the weights of all words of each phrase, and not the head's only.
        """
        phrases = list(self.phrase_records()) if self.has_all_phrases else []
        for node, phrase in enumerate(phrases):
            if self.head_index is None:
                del phrase["head"], phrase["head_word"], phrase["head_weight"]
            elif head_weights:
                phrase["head_weights"] = rounded(self.head_weights(node))
        return {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "label": self.label,
            "probability": rounded(self.probability),
            "score": rounded(self.score),
            "tokens": [{"start": token.start, "end": token.end, "text": token.text} for token in self.tokens],
            "parse": written_tree(self.parse),
            **({"phrases": phrases} if self.has_all_phrases else {}),
        }

    def brackets(self) -> str:
        """The tree in brackets, with the ids of its labels, as treebanks have them."""
        return written_tree(self.tree)

    def __repr__(self) -> str:
        return f"Sentence({short_text(self.text)!r}, {self._verdict()})"

    def __str__(self) -> str:
        return self.text


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
