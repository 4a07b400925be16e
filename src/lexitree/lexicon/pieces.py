"""Words cut into a transformer's pieces in, a batch of rows of pieces out, and whose vector each piece is part of."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor

from lexitree.arrays import IndexArray
from lexitree.errors import ConfigError
from lexitree.trees.tree import Tree

Unit = Literal["word", "phrase"]
"""What gets a vector: each word, in its sentence, or each phrase, read for itself."""

WIDTHS = (16,)
"""Phrases are read in blocks: of rows up to each of these widths, and of all longer ones."""

MAX_PLACES = 1 << 16
"""A block has no more places for pieces than this."""

MAX_PHRASE_PLACES = 1 << 21
"""Trees whose phrases have more pieces together are refused: those of a deep tree are quadratically many."""


@dataclass(frozen=True, slots=True)
class PieceLayout:
    """How a transformer wants a row of pieces."""

    before: tuple[int, ...]
    """Special pieces at the beginning of a row ..."""
    after: tuple[int, ...]
    """... and at its end."""
    filling: int
    """The piece that fills up short rows; nothing looks at it."""
    max_pieces: int
    """How many pieces a row has room for, beside the special ones."""
    unit: Unit = "word"

    @property
    def max_word_pieces(self) -> int:
        """How many pieces of one word are read: windows overlap by so many, so that one of them has all of these."""
        return max(1, self.max_pieces // 2)


@dataclass(frozen=True, slots=True)
class SplitSentence:
    """The pieces of a sentence, and those of each word."""

    ids: IndexArray
    """[pieces]"""
    starts: IndexArray
    """[words]: the first piece of each word ..."""
    ends: IndexArray
    """[words]: ... and the one after its last. Each word has a piece at least; words that are written as one, such as
    `do` and `n't`, may share one."""
    layout: PieceLayout

    @property
    def num_words(self) -> int:
        return len(self.starts)


class Row(NamedTuple):
    """Pieces that a transformer reads together, and those of them that make up vectors."""

    ids: list[int]
    columns: IndexArray
    """The places in the row that count ..."""
    owners: IndexArray
    """... and the word or phrase that each counts for, by its number in the batch."""


@dataclass(frozen=True, slots=True)
class PieceBatch:
    """Rows of pieces in blocks of one width each, and what the vectors of words or phrases are means of.

    Two sentences whose words are cut into `a | b ##b` and `c`, with special pieces around them, are one block:

        [CLS]  a    b    ##b  [SEP]        place = [1  2  3  6], counted through all rows of all blocks
        [CLS]  c    [SEP]                  owner = [0  1  1  2], count = [1  2  1]

    All numbers are views of one buffer, so moving them to a device is one copy.
    """

    shapes: tuple[tuple[int, int], ...]
    """(rows, width) of each block."""
    sizes: tuple[int, ...]
    """How many numbers each of the tensors below has in the buffer; those of `ids` and `lengths` block by block."""
    buffer: Int[Tensor, " numbers"]

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        sentences: Sequence[SplitSentence],
        table_index: Sequence[IndexArray] | None = None,
        wanted: Sequence[npt.NDArray[np.bool_]] | None = None,
    ) -> PieceBatch:
        """The rows for some trees: of their sentences, or of each of their phrases, as the transformer reads them.

        Vectors are those of all words, sentence after sentence, or of all nodes, tree after tree in pre-order;
        `table_index` holds the rows of the static vectors that stand beside those of the words, if any do. `wanted`
        says which nodes' vectors are looked at: the other phrases are not read, and have that of their sentence.
        """
        layout = sentences[0].layout
        if layout.unit == "word":
            rows, owner_of = _sentence_rows(sentences, layout), None
            blocks = _cut(rows)
        else:
            rows, owner_of = _phrase_rows(trees, sentences, layout, wanted)
            blocks = _group_by_width(rows)
        count = np.bincount(np.concatenate([row.owners for block in blocks for row in block]))
        arrays = [
            *(_filled(block, layout.filling).ravel() for block in blocks),
            *(np.array([len(row.ids) for row in block]) for block in blocks),
            _places(blocks),
            np.concatenate([row.owners for block in blocks for row in block]),
            count,
            np.arange(len(count)) if owner_of is None else owner_of,
            np.zeros(0, np.int64) if table_index is None else np.concatenate(table_index),
        ]
        shapes = tuple((len(block), max(len(row.ids) for row in block)) for block in blocks)
        buffer = torch.from_numpy(np.concatenate(arrays).astype(np.int64, copy=False))
        return cls(shapes, tuple(len(array) for array in arrays), buffer)

    def to(self, device: torch.device) -> PieceBatch:
        """The same rows on another device."""
        if device == self.buffer.device:
            return self
        # A copy from pinned memory does not wait for the device.
        from_host = self.buffer.pin_memory() if device.type == "cuda" else self.buffer
        return PieceBatch(self.shapes, self.sizes, from_host.to(device, non_blocking=device.type == "cuda"))

    def _parts(self) -> tuple[Tensor, ...]:
        return torch.split(self.buffer, list(self.sizes))

    @property
    def blocks(self) -> list[tuple[Int[Tensor, "rows width"], Int[Tensor, " rows"]]]:
        """The pieces of each block and the lengths of its rows."""
        parts = self._parts()
        ids, lengths = parts[: len(self.shapes)], parts[len(self.shapes) : 2 * len(self.shapes)]
        return [
            (each.view(shape), length) for each, shape, length in zip(ids, self.shapes, lengths, strict=True)
        ]

    @property
    def place(self) -> Int[Tensor, " counted"]:
        """The pieces that count, by their places in all rows of all blocks, one after the other."""
        return self._parts()[-5]

    @property
    def owner(self) -> Int[Tensor, " counted"]:
        """What each of them is part of."""
        return self._parts()[-4]

    @property
    def count(self) -> Int[Tensor, " owners"]:
        """How many pieces each vector is the mean of."""
        return self._parts()[-3]

    @property
    def vector_of(self) -> Int[Tensor, " vectors"]:
        """For each word or phrase, the vector that is its own: phrases of the same words share one."""
        return self._parts()[-2]

    @property
    def table_index(self) -> Int[Tensor, " words"]:
        """The row of each word in a table of static vectors; empty where there is none."""
        return self._parts()[-1]


def _sentence_rows(sentences: Sequence[SplitSentence], layout: PieceLayout) -> list[Row]:
    rows: list[Row] = []
    num_words = 0
    for sentence in sentences:
        rows += _windows(sentence, layout, num_words)
        num_words += sentence.num_words
    return rows


def _windows(sentence: SplitSentence, layout: PieceLayout, first_word: int) -> list[Row]:
    """One row or, for a long sentence, several that overlap by half: each word counts where it has most context."""
    ids, starts = sentence.ids, sentence.starts
    num_read = np.minimum(sentence.ends - starts, layout.max_word_pieces)
    ends = starts + num_read
    size = layout.max_pieces
    last = max(0, len(ids) - size)
    firsts = np.unique(np.minimum(np.arange(0, last + size // 2 + 1, max(1, size // 2)), last))
    # A word has most context where it is nearest to the middle.
    window_of = _nearest(firsts, (starts + ends - size) / 2)
    rows: list[Row] = []
    for window, first in enumerate(firsts.tolist()):
        words = np.flatnonzero(window_of == window)
        if not len(words):  # inside of a word of absurd length
            continue
        pieces = np.repeat(starts[words], num_read[words]) + _within(num_read[words])
        row = [*layout.before, *ids[first : first + size].tolist(), *layout.after]
        rows.append(
            Row(row, pieces - first + len(layout.before), first_word + np.repeat(words, num_read[words]))
        )
    return rows


def _nearest(numbers: IndexArray, wanted: npt.NDArray[np.float64]) -> IndexArray:
    """For each wanted number, the place of the nearest of some in rising order; of two, the first."""
    above = np.searchsorted(numbers, wanted).clip(0, len(numbers) - 1)
    below = (above - 1).clip(0)
    return np.where(wanted - numbers[below] <= numbers[above] - wanted, below, above)


def _within(counts: IndexArray) -> IndexArray:
    """0, 1, ... for each of some groups of the given sizes."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _phrase_rows(
    trees: Sequence[Tree],
    sentences: Sequence[SplitSentence],
    layout: PieceLayout,
    wanted: Sequence[npt.NDArray[np.bool_]] | None,
) -> tuple[list[Row], IndexArray]:
    """The rows of each distinct phrase, and for each node of the trees, in pre-order, the phrase that it is.

    All pieces of a row count, the special ones too; a phrase that is too long for one row is read in several.
    """
    phrase_of: dict[bytes, int] = {}
    owners: list[int] = []
    num_pieces = 0
    for number, (tree, sentence) in enumerate(zip(trees, sentences, strict=True)):
        nodes = np.arange(tree.num_nodes)
        if wanted is not None:
            nodes = np.where(wanted[number], nodes, 0)
        first, end = sentence.starts[tree.starts[nodes]], sentence.ends[tree.ends[nodes] - 1]
        # The same place again costs nothing: a long sentence may be all that is wanted of a tree.
        phrase_at: dict[tuple[int, int], int] = {}
        for place in zip(first.tolist(), end.tolist(), strict=True):
            if place not in phrase_at:
                num_pieces = _check_size(num_pieces + place[1] - place[0])
                pieces = sentence.ids[slice(*place)].tobytes()
                phrase_at[place] = phrase_of.setdefault(pieces, len(phrase_of))
            owners.append(phrase_at[place])
    rows = [row for pieces, phrase in phrase_of.items() for row in _rows_of_phrase(pieces, phrase, layout)]
    return rows, np.array(owners, dtype=np.int64)


def _rows_of_phrase(pieces: bytes, phrase: int, layout: PieceLayout) -> Iterator[Row]:
    ids = np.frombuffer(pieces, dtype=np.int64).tolist()
    for first in range(0, len(ids), layout.max_pieces):
        row = [*layout.before, *ids[first : first + layout.max_pieces], *layout.after]
        yield Row(row, np.arange(len(row)), np.full(len(row), phrase))


def _check_size(num_pieces: int) -> int:
    if num_pieces > MAX_PHRASE_PLACES:
        raise ConfigError(
            "the phrases of these trees are too long to be read each for itself",
            remedy="Ask for whole sentences only (--nodes root), or use a tree model.",
        )
    return num_pieces


def _group_by_width(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Rows of about one length together: a block is as wide as its longest row."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(bisect.bisect_left(WIDTHS, len(row.ids)), []).append(row)
    return [block for width in sorted(groups) for block in _cut(groups[width])]


def _cut(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Rows in blocks of bounded size: what a transformer has in its hands at once is many times as large."""
    per_block = max(1, MAX_PLACES // max(len(row.ids) for row in rows))
    return [rows[first : first + per_block] for first in range(0, len(rows), per_block)]


def _filled(rows: Sequence[Row], filling: int) -> IndexArray:
    ids = np.full((len(rows), max(len(row.ids) for row in rows)), filling)
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = row.ids
    return ids


def _places(blocks: Sequence[Sequence[Row]]) -> IndexArray:
    places: list[IndexArray] = []
    first = 0
    for block in blocks:
        width = max(len(row.ids) for row in block)
        for row in block:
            places.append(first + row.columns)
            first += width
    return np.concatenate(places)
