"""Parses many sentences into flat arrays: one transfer a batch, and no loop over the phrases of a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from lexitree.arrays import IndexArray
from lexitree.errors import NotFiniteError
from lexitree.limits import Check
from lexitree.ops.openmp import one_thread
from lexitree.parsers.best_trees import best_labels, search_trees
from lexitree.parsers.host_search import search_on_host
from lexitree.parsers.native_network import runs_natively
from lexitree.parsers.network import ParserModel, SentenceBatch
from lexitree.parsers.penn_spans import NO_PHRASE
from lexitree.parsers.pointers import ChartOrder, LabelledSpan, Pointers, follow_pointers
from lexitree.parsers.word_features import SENTENCE_END, SENTENCE_START
from lexitree.text.bounded_text import cut_sentence
from lexitree.trees.flat_parses import FlatParses, ParseLabels

JOINED_LABEL = "S"
"""The label above the trees of a sentence's pieces."""

MAX_JOINED = 64
"""How many trees are joined under one node."""

SPANS_AT_ONCE = {"cpu": 8_000, "cuda": 400_000}
"""Largest number of spans per batch; more would only cost memory, and on a CPU time to allocate it."""

_FEW_PIECES = 4
"""The trees of so few are found by NumPy on the host, and followed one by one: that takes fewer and cheaper calls."""


def parse_labels(model: ParserModel) -> ParseLabels:
    """The labels of a parser's trees; those of phrases in the order of their numbers, less 1."""
    labels = model.config.labels
    return ParseLabels(labels if JOINED_LABEL in labels else (*labels, JOINED_LABEL), model.config.tags)


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
    packed: Tensor
    """Whether the scores are finite, then the best tag of each word, then the pointers of each span. Of a few pieces,
    instead of the pointers, what they are found by: each span's best label, and two scores as the bits of floats."""
    arrived: torch.cuda.Event | None
    """When the numbers are on the host; None if they have been there from the start."""
    has_pointers: bool

    def numbers(self) -> _Found:
        if self.arrived is not None:
            self.arrived.synchronize()
        numbers: npt.NDArray[np.int32] = self.packed.numpy()
        num_words, num_pieces = self.num_words, len(self.pieces)
        tags, rest = np.split(numbers[1:], [num_words * num_pieces])
        if not self.has_pointers:
            labels, phrase, part = rest.reshape(3, -1, num_pieces)
            rest = search_on_host(phrase.view(np.float32), part.view(np.float32), labels).reshape(-1)
        return _Found(bool(numbers[0]), tags.reshape(num_words, num_pieces), rest)


class _Found(NamedTuple):
    """What the network and the search have found for a batch."""

    is_finite: bool
    tags: npt.NDArray[np.int32]  # [words, pieces]
    pointers: npt.NDArray[np.int32]  # [spans * pieces]


@dataclass(frozen=True, eq=False)
class StartedParses:
    """Sentences that are being parsed; a GPU may still be at work until `finish`."""

    labels: ParseLabels
    pieces: list[Sequence[str]]
    """What is parsed: sentences, and the pieces of those that are too long."""
    num_pieces: IndexArray  # [sentences]
    num_words: IndexArray  # [pieces]
    searched: list[_Searched]

    def finish(self) -> FlatParses:
        """The parses of all sentences.

        Raises:
            NotFiniteError: The parser's scores are not finite.
        """
        first_word = np.cumsum(self.num_words) - self.num_words
        tags = np.zeros(int(self.num_words.sum()), dtype=np.int64)
        charts = _Charts.of(self.searched, len(self.pieces))
        for batch, found in zip(self.searched, charts.found, strict=True):
            if not found.is_finite:
                raise NotFiniteError(
                    "the parser's scores are not finite",
                    remedy="Its weights are damaged: train or copy it again.",
                )
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
        label = self.labels.phrases.index(JOINED_LABEL)
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


@torch.inference_mode()
@one_thread()
def start_parses(
    model: ParserModel, labels: ParseLabels, style: int, sentences: Sequence[Sequence[str]], check: Check
) -> StartedParses:
    """Begin to parse sentences; on a GPU, the host does not wait for it.

    Args:
        model: The network.
        labels: Its labels.
        style: The number of the treebank whose conventions the trees follow.
        sentences: The words of each sentence.
        check: Called before each batch of the network; may raise an error to end the work.
    """
    groups = [cut_sentence(words, model.config.max_words) for words in sentences]
    pieces = [piece for group in groups for piece in group]
    num_words = np.array([len(piece) for piece in pieces], dtype=np.int64)
    rows = model.features.rows(word for piece in pieces for word in (SENTENCE_START, *piece, SENTENCE_END))
    places = num_words + 2
    first_place = np.cumsum(places) - places
    limit = SPANS_AT_ONCE.get(model.device.type, SPANS_AT_ONCE["cpu"])
    searched: list[_Searched] = []
    for batch in batches_by_spans(num_words, limit):
        check()
        styles = np.full(len(batch), style)
        padded = SentenceBatch.pad(rows, first_place[batch], places[batch], styles, model.device)
        searched.append(_search(model, padded, batch))
    num_pieces = np.array([len(group) for group in groups], dtype=np.int64)
    return StartedParses(labels, pieces, num_pieces, num_words, searched)


def _search(model: ParserModel, batch: SentenceBatch, pieces: IndexArray) -> _Searched:
    scores, tag_scores = model(batch)
    parts = [scores.sum().isfinite().int().view(1), tag_scores.argmax(2).int().view(-1)]
    has_pointers = len(pieces) > _FEW_PIECES or runs_natively(scores)
    if not has_pointers:
        phrase_scores, labels = best_labels(scores)
        chart = torch.stack([phrase_scores, scores[:, :, NO_PHRASE]]).float()
        parts += [labels.int().view(-1), chart.view(torch.int32).view(-1)]
    else:
        parts.append(search_trees(scores, batch.lengths)[0].view(-1))
    packed = torch.cat(parts)
    if packed.device.type != "cuda":
        return _Searched(pieces, batch.num_words, packed.cpu(), None, has_pointers)
    on_host = torch.empty(packed.shape, dtype=packed.dtype, pin_memory=True)
    on_host.copy_(packed, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record(torch.cuda.current_stream(packed.device))
    return _Searched(pieces, batch.num_words, on_host, arrived, has_pointers)


class _Charts(NamedTuple):
    """The pointers of all batches in one row, and where those of each piece are."""

    found: list[_Found]
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
        found = [batch.numbers() for batch in searched]
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
        if len(lengths) <= _FEW_PIECES:
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
