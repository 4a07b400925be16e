"""The parses of many sentences as flat arrays: what a parser gives for a whole batch, without an object per node.

The trees of a parser that gives objects are packed by `FlatParses.of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from lexitree.arrays import IndexArray, NodeArray
from lexitree.errors import TreeError
from lexitree.lazy import cached_property
from lexitree.trees.brackets import written_label, written_word
from lexitree.trees.head_rules import STANFORD, HeadRules
from lexitree.trees.head_table import HeadTable
from lexitree.trees.tree import CHAIN_JOINT, INTERMEDIATE_MARK, NO_LABEL, Tree, refuse_inner_words


@dataclass(frozen=True, eq=False)
class ParseLabels:
    """The labels of a parser by their numbers, and what follows from them; made once for a parser."""

    chains: tuple[tuple[str, ...], ...]
    """The labels of each phrase by its number, from top to bottom; a unary chain is one phrase."""
    tags: tuple[str, ...]
    """The tags of words, by their numbers."""

    def __reduce__(self) -> tuple[object, ...]:
        """Copies leave out the cached tables."""
        return ParseLabels, (self.chains, self.tags)

    @classmethod
    def joined(cls, phrases: Sequence[str], tags: Sequence[str]) -> ParseLabels:
        """The labels of phrases in which those of unary chains are joined: `S+VP`."""
        return cls(tuple(tuple(label.split(CHAIN_JOINT)) for label in phrases), tuple(tags))

    @cached_property
    def phrases(self) -> tuple[str, ...]:
        """The label of each phrase as one text, those of a unary chain joined: `S+VP`.

        Raises:
            TreeError: A label holds the joint itself.
        """
        for label in chain.from_iterable(self.chains):
            if CHAIN_JOINT in label:
                raise TreeError(
                    f"the label {label!r} holds {CHAIN_JOINT!r}, which joins the labels of a chain"
                )
        return tuple(CHAIN_JOINT.join(labels) for labels in self.chains)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The labels that the nodes of a binary tree have: none, or those of chains' tops and of words."""
        return tuple(dict.fromkeys((NO_LABEL, *(labels[0] for labels in self.chains), *self.tags)))

    @cached_property
    def phrase_names(self) -> IndexArray:  # [phrase labels]
        """The number among `names` of the topmost label of each chain."""
        return self._numbers([labels[0] for labels in self.chains])

    @cached_property
    def tag_names(self) -> IndexArray:  # [tags]
        """The number among `names` of each tag."""
        return self._numbers(self.tags)

    @cached_property
    def written(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What stands in brackets before the first word of each chain, and after its last."""
        opening = ("".join(f"({written_label(label)} " for label in labels) for labels in self.chains)
        return tuple(opening), tuple(")" * len(labels) for labels in self.chains)

    @cached_property
    def written_tags(self) -> tuple[str, ...]:
        """The tags as brackets have them."""
        return tuple(map(written_label, self.tags))

    def _numbers(self, labels: Sequence[str]) -> IndexArray:
        number_of = {name: number for number, name in enumerate(self.names)}
        return np.array([number_of[label] for label in labels], dtype=np.int64)

    @cached_property
    def heads(self) -> HeadTable:
        """Finds heads among children with these names, as binarization around heads needs it."""
        return self.head_table(STANFORD)

    def head_table(self, rules: HeadRules) -> HeadTable:
        """Finds heads by any rules. A phrase follows the rule of the bottom of its chain."""
        return HeadTable.of([labels[-1] for labels in self.chains], self.names, rules)

    @cached_property
    def are_plain(self) -> bool:
        """Whether no label is empty or marks nodes that binarization has inserted.

        Other trees are binarized one by one: what their nodes are called depends on the nodes around them.
        """
        parts = chain.from_iterable((*self.chains, self.tags))
        return not any(part == NO_LABEL or part.startswith(INTERMEDIATE_MARK) for part in parts)


@dataclass(frozen=True, eq=False)
class FlatParses:
    """The phrases of many sentences, one sentence after the other, each in pre-order.

    Words are numbered through all sentences. `(S (NP (PRP it)) (VP (VBZ works)))` and `(INTJ (UH yes))` are

        num_words     2 1
        tags          PRP VBZ UH
        phrase_label  S  NP VP INTJ
        phrase_start  0  0  1  2
        phrase_end    2  1  2  3
    """

    labels: ParseLabels
    num_words: IndexArray  # [sentences]
    tags: IndexArray  # [words]
    phrase_start: IndexArray  # [phrases]
    phrase_end: IndexArray  # [phrases]
    phrase_label: IndexArray  # [phrases]

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> FlatParses:
        """Pack trees of phrases, of any labels.

        Raises:
            TreeError: One of them is a dependency tree.
        """
        chains: dict[tuple[str, ...], int] = {}
        tag_numbers: dict[str, int] = {}
        tags: list[int] = []
        rows: list[tuple[int, int, int]] = []
        first = 0
        for tree in trees:
            refuse_inner_words(tree, "taken as a parse")
            arity: list[int] = tree.arity.tolist()
            spans, top = tree.spans, 0
            for node, num_children in enumerate(arity):
                if not num_children:
                    tags.append(tag_numbers.setdefault(tree.labels[node], len(tag_numbers)))
                    top = node + 1
                # A chain ends above a word, or where there are several children.
                elif num_children > 1 or not arity[node + 1]:
                    number = chains.setdefault(tree.labels[top : node + 1], len(chains))
                    rows.append((first + spans[node][0], first + spans[node][1], number))
                    top = node + 1
            first += tree.num_words
        num_words = np.array([tree.num_words for tree in trees], dtype=np.int64)
        phrases = np.array(rows, dtype=np.int64).reshape(-1, 3)
        labels = ParseLabels(tuple(chains), tuple(tag_numbers))
        return cls(labels, num_words, np.array(tags, dtype=np.int64), *phrases.T)

    @property
    def num_sentences(self) -> int:
        return len(self.num_words)

    @cached_property
    def first_word(self) -> IndexArray:  # [sentences + 1]
        """Where each sentence begins, and where the last one ends."""
        return np.append(0, np.cumsum(self.num_words))

    @cached_property
    def first_phrase(self) -> IndexArray:  # [sentences + 1]
        """Where the phrases of each sentence begin, and where the last one's end."""
        return np.searchsorted(self.phrase_start, self.first_word)

    @cached_property
    def _borders(self) -> tuple[list[int], list[int]]:
        return self.first_word.tolist(), self.first_phrase.tolist()

    @cached_property
    def _local_phrases(self) -> NodeArray:
        """[phrases, 3]: start and end, counted from the sentence's first word, and label."""
        first = np.repeat(self.first_word[:-1], np.diff(self.first_phrase))
        columns = (self.phrase_start - first, self.phrase_end - first, self.phrase_label)
        return np.stack(columns, 1).astype(np.int32)

    def sentence(self, number: int) -> SentenceParse:
        """The parse of one sentence, in arrays of its own."""
        words, phrases = self._borders
        return SentenceParse(
            self.labels,
            self.tags[words[number] : words[number + 1]].astype(np.int32),
            self._local_phrases[phrases[number] : phrases[number + 1]].copy(),
        )


class SentenceParse(NamedTuple):
    """The parse of one sentence, whose words are numbered from 0; its tree is made when it is asked for."""

    labels: ParseLabels
    tags: NodeArray  # [words]
    phrases: NodeArray  # [phrases, 3]
    """Start, end and label of each phrase, in pre-order."""

    @classmethod
    def of(cls, tree: Tree) -> SentenceParse:
        """Pack a tree of phrases.

        Raises:
            TreeError: It is a dependency tree.
        """
        return FlatParses.of([tree]).sentence(0)

    def tree(self, words: Sequence[str]) -> Tree:
        """The parse as a tree with Penn labels."""
        chains, names = self.labels.chains, self.labels.tags
        nodes: list[tuple[int, int]] = []
        labels: list[str] = []
        phrases: list[list[int]] = self.phrases.tolist()
        tags: list[int] = self.tags.tolist()
        place = 0
        for word, tag in enumerate(tags):
            while place < len(phrases) and phrases[place][0] == word:
                start, end, number = phrases[place]
                nodes.extend([(start, end)] * len(chains[number]))
                labels.extend(chains[number])
                place += 1
            nodes.append((word, word + 1))
            labels.append(names[tag])
        return Tree.from_spans(words, nodes, labels)

    def brackets(self, words: Sequence[str]) -> str:
        """The parse in brackets, as `written_tree` writes its tree."""
        opening, closing = self.labels.written
        tags = self.labels.written_tags
        before, after = [""] * len(words), [""] * len(words)
        for start, end, number in self.phrases.tolist():
            before[start] += opening[number]
            after[end - 1] += closing[number]
        # Letters and digits are written as they are.
        written = [word if word.isalnum() else written_word(word) for word in words]
        return " ".join(
            [
                f"{before[place]}({tags[tag]} {written[place]}){after[place]}"
                for place, tag in enumerate(self.tags.tolist())
            ]
        )
