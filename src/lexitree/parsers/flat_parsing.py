"""Parses many sentences into flat arrays: one transfer a batch, and no loop over the phrases of a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import IndexArray
from lexitree.limits import Check
from lexitree.parsers.host_search import FEW_TREES
from lexitree.parsers.numbered_sentences import NumberedSentences
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.penn_spans import NO_PHRASE
from lexitree.parsers.pointers import ChartOrder, LabelledSpan, Pointers, follow_pointers
from lexitree.parsers.span_network import FoundParses, SpanNetwork, require_finite
from lexitree.pending import Pending
from lexitree.text.bounded_text import cut_sentence
from lexitree.trees.flat_parses import FlatParses, ParseLabels

JOINED_LABEL = "S"
"""The label above the trees of a sentence's pieces."""

MAX_JOINED = 64
"""How many trees are joined under one node."""

SPANS_AT_ONCE = {"cpu": 8_000, "cuda": 400_000}
"""Largest number of spans per batch; more would only cost memory, and on a CPU time to allocate it."""


def parse_labels(config: ParserConfig) -> ParseLabels:
    """The labels of a parser's trees; those of phrases in the order of their numbers, less 1."""
    labels = config.labels
    return ParseLabels.joined(labels if JOINED_LABEL in labels else (*labels, JOINED_LABEL), config.tags)


def max_spans(network: SpanNetwork) -> int:
    """The largest number of spans that a network takes at once."""
    return SPANS_AT_ONCE.get(network.device_type, SPANS_AT_ONCE["cpu"])


def batches_by_spans(num_words: npt.NDArray[np.integer], limit: int) -> Iterator[IndexArray]:
    """Batch sentences by length, the longest first, up to a number of spans; yields their numbers."""
    order = np.argsort(-num_words, kind="stable")
    first = 0
    while first < len(order):
        longest = int(num_words[order[first]])
        batch = order[first : first + max(1, limit // (longest * (longest + 1) // 2))]
        yield batch
        first += len(batch)


class _Searched(NamedTuple):
    """A batch of the network, on its way to the host."""

    pieces: IndexArray
    num_words: int
    """Number of words of the longest piece."""
    found: Pending[FoundParses]


@dataclass(frozen=True, eq=False)
class _Started:
    """Sentences that are being parsed."""

    labels: ParseLabels
    pieces: list[Sequence[str]]
    """What is parsed: sentences, and the pieces of those that are too long."""
    num_pieces: IndexArray  # [sentences]
    num_words: IndexArray  # [pieces]
    searched: list[_Searched]

    def parses(self) -> FlatParses:
        """The parses of all sentences.

        Raises:
            NotFiniteError: The parser's scores are not finite.
        """
        first_word = np.cumsum(self.num_words) - self.num_words
        tags = np.zeros(int(self.num_words.sum()), dtype=np.int64)
        charts = _Charts.of(self.searched, len(self.pieces))
        for batch, found in zip(self.searched, charts.found, strict=True):
            require_finite(found.is_finite)
            words = np.arange(batch.num_words)[:, None]
            is_word = words < self.num_words[batch.pieces]
            tags[(first_word[batch.pieces] + words)[is_word]] = found.tags[is_word]
        phrases = np.concatenate([charts.phrases(self.num_words, first_word), self._joints(first_word)])
        # In pre-order: by start, and of those that start together, the widest first.
        phrases = phrases[np.lexsort((-phrases[:, 1], phrases[:, 0]))]
        first_piece = np.cumsum(self.num_pieces) - self.num_pieces
        num_words = np.add.reduceat(self.num_words, first_piece) if len(first_piece) else self.num_words
        return FlatParses(self.labels, num_words, tags, phrases[:, 0], phrases[:, 1], phrases[:, 2])

    def _joints(self, first_word: IndexArray) -> IndexArray:  # [phrases, 3]
        """The phrases above the pieces of long sentences; see `neural.join_trees`."""
        label = self.labels.chains.index((JOINED_LABEL,))
        borders = np.append(first_word, first_word[-1:] + self.num_words[-1:])
        joints: list[tuple[int, int, int]] = []
        ends = np.cumsum(self.num_pieces)
        for sentence in np.flatnonzero(self.num_pieces > 1).tolist():
            first = int(ends[sentence] - self.num_pieces[sentence])
            parts: list[int] = borders[first : int(ends[sentence]) + 1].tolist()
            while len(parts) > 2:
                groups = parts[:-1:MAX_JOINED]
                last = [*groups[1:], parts[-1]]
                joints += [
                    (start, end, label)
                    for number, (start, end) in enumerate(zip(groups, last, strict=True))
                    if len(parts[number * MAX_JOINED : -1]) > 1
                ]
                parts = [*groups, parts[-1]]
        return np.array(joints, dtype=np.int64).reshape(-1, 3)


def start_parses(
    network: SpanNetwork, labels: ParseLabels, style: int, sentences: Sequence[Sequence[str]], check: Check
) -> Pending[FlatParses]:
    """Begin to parse sentences; on a GPU, the host does not wait for it.

    Args:
        network: The network.
        labels: Its labels.
        style: The number of the treebank whose conventions the trees follow.
        sentences: The words of each sentence.
        check: Called before each batch of the network; may raise an error to end the work.
    """
    groups = [cut_sentence(words, network.config.max_words) for words in sentences]
    pieces = [piece for group in groups for piece in group]
    numbered = NumberedSentences.of(network.features, pieces)
    num_words = numbered.places - 2
    searched: list[_Searched] = []
    for batch in batches_by_spans(num_words, max_spans(network)):
        check()
        padded = numbered.pad(batch, np.full(len(batch), style))
        searched.append(_Searched(batch, padded.num_words, network.start_search(padded)))
    num_pieces = np.array([len(group) for group in groups], dtype=np.int64)
    return Pending(_Started(labels, pieces, num_pieces, num_words, searched).parses)


class _Charts(NamedTuple):
    """The pointers of all batches in one row, and where those of each piece are."""

    found: list[FoundParses]
    """What each batch has sent."""
    pointers: npt.NDArray[np.int32]
    first: IndexArray  # [pieces]
    """Where the first span of each piece is."""
    step: IndexArray  # [pieces]
    """How far it is from one of its spans to the next."""
    num_words: IndexArray  # [pieces]
    """Number of words that its chart is sized for."""

    @classmethod
    def of(cls, searched: Sequence[_Searched], num_pieces: int) -> _Charts:
        found = [batch.found.result() for batch in searched]
        first, step, num_words = (np.zeros(num_pieces, dtype=np.int64) for _ in range(3))
        begin = 0
        for batch, sent in zip(searched, found, strict=True):
            first[batch.pieces] = begin + np.arange(len(batch.pieces))
            step[batch.pieces] = len(batch.pieces)
            num_words[batch.pieces] = batch.num_words
            begin += len(sent.pointers)
        pointers = np.concatenate([np.zeros(0, dtype=np.int32), *(sent.pointers for sent in found)])
        return cls(found, pointers, first, step, num_words)

    def phrases(self, lengths: IndexArray, first_word: IndexArray) -> IndexArray:  # [phrases, 3]
        """Start, end and label of all phrases, in any order."""
        if len(lengths) <= FEW_TREES:
            return self._phrases_by_piece(lengths, first_word)
        found = [self._lone_words(lengths, first_word)]
        piece = np.flatnonzero(lengths > 1)
        start, width = np.zeros_like(piece), lengths[piece]
        closed = np.ones(len(piece), dtype=bool)
        # From the whole sentences down to pairs of words: all spans of one depth at a time.
        while len(piece):
            row = (width - 1) * self.num_words[piece] - (width - 1) * (width - 2) // 2 + start
            split, is_closed, label = Pointers.unpack(
                self.pointers[self.first[piece] + row * self.step[piece]]
            )
            shown = (closed | is_closed) & (label != NO_PHRASE)
            begin = (first_word[piece] + start)[shown]
            found.append(np.stack([begin, begin + width[shown], label[shown] - 1], 1))
            left = split + 1
            piece, start, width, closed = (
                np.concatenate(parts)
                for parts in (
                    (piece, piece),
                    (start, start + left),
                    (left, width - left),
                    (np.zeros(len(left), dtype=bool), np.ones(len(left), dtype=bool)),
                )
            )
            wide = width > 1
            piece, start, width, closed = piece[wide], start[wide], width[wide], closed[wide]
        return np.concatenate(found)

    def _lone_words(self, lengths: IndexArray, first_word: IndexArray) -> IndexArray:  # [phrases, 3]
        """The words that are phrases by themselves; the spans of single words come first in a chart."""
        piece = np.repeat(np.arange(len(lengths)), lengths)
        word = np.arange(len(piece))
        place = self.first[piece] + (word - first_word[piece]) * self.step[piece]
        label = Pointers.unpack(self.pointers[place]).labels
        shown = label != NO_PHRASE
        return np.stack([word[shown], word[shown] + 1, label[shown] - 1], 1)

    def _phrases_by_piece(self, lengths: IndexArray, first_word: IndexArray) -> IndexArray:
        found: list[LabelledSpan] = []
        for piece, (length, shift) in enumerate(zip(lengths.tolist(), first_word.tolist(), strict=True)):
            order = ChartOrder(int(self.num_words[piece]))
            own = slice(int(self.first[piece]), None, int(self.step[piece]))
            spans = follow_pointers(self.pointers[own][: order.num_spans], order, length)
            found += [(shift + start, shift + end, label - 1) for start, end, label in spans]
        return np.array(found, dtype=np.int64).reshape(-1, 3)
