"""Lay out sentences for a transformer: rows of word pieces, and which word or phrase each piece counts for."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lexitree.arrays import BoolArray, DoubleArray, IndexArray
from lexitree.errors import ConfigError

Unit = Literal["word", "phrase"]
"""What gets a vector: each word in its sentence, or each phrase on its own."""

WIDTHS = (16,)
"""Phrases are read in blocks: rows up to each of these widths, and all longer ones."""

MAX_PLACES = 1 << 16
"""The maximum number of positions in a block."""

_MAX_PHRASE_PLACES = 1 << 21
"""The maximum number of pieces of all phrases: those of a deep tree are quadratically many."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """What a row of pieces looks like for one transformer."""

    before: tuple[int, ...]
    """Special pieces at the start of a row."""
    after: tuple[int, ...]
    """Special pieces at the end of a row."""
    padding: int
    """The piece that pads short rows; it is masked."""
    max_pieces: int
    """How many pieces fit into a row, not counting the special ones."""
    unit: Unit = "word"

    @property
    def max_word_pieces(self) -> int:
        """How many pieces of a word are read; windows overlap by as many, so that one contains them all."""
        return max(1, self.max_pieces // 2)


@dataclass(frozen=True, slots=True)
class SplitSentence:
    """The pieces of a sentence and of each of its words."""

    ids: IndexArray  # [pieces]
    starts: IndexArray  # [words]
    """The first piece of each word."""
    ends: IndexArray  # [words]
    """The piece after the last one of each word. Every word has at least one piece; words that are written as one,
    such as `do` and `n't`, may share a piece."""
    row_format: RowFormat

    @property
    def num_words(self) -> int:
        return len(self.starts)


class Spans(Protocol):
    """The first word of each phrase of a tree, and the word after its last; a `Tree` has them."""

    @property
    def starts(self) -> npt.NDArray[np.integer]: ...

    @property
    def ends(self) -> npt.NDArray[np.integer]: ...


class Row(NamedTuple):
    """Pieces that a transformer reads together, and those of them that make up vectors."""

    ids: list[int]
    columns: IndexArray
    """The positions in the row that count."""
    owners: IndexArray
    """The word or phrase that each of them counts for, by its number in the batch."""


@dataclass(frozen=True, slots=True)
class PieceLayout:
    """Rows of pieces in blocks of one width each; the vector of a word or phrase is the mean over its pieces.

    Two sentences whose words are split into `a | b ##b` and `c`, with special pieces around them, are one block:

        [CLS]  a    b    ##b  [SEP]        place = [1  2  3  6], counted through all rows of all blocks
        [CLS]  c    [SEP]                  owner = [0  1  1  2], count = [1  2  1]
    """

    ids: tuple[IndexArray, ...]
    """The pieces of each block, [rows, width]."""
    lengths: tuple[IndexArray, ...]
    """The length of each row, block by block."""
    place: IndexArray  # [counted]
    """The pieces that count, as positions in all rows of all blocks, one after the other."""
    owner: IndexArray  # [counted]
    """The vector that each of them is part of."""
    count: IndexArray  # [owners]
    """How many pieces each vector is the mean of."""
    vector_of: IndexArray  # [words or nodes]
    """The vector of each word or phrase; phrases of the same words share one."""
    table_index: IndexArray  # [words]
    """The row of each word in a table of static vectors; empty if there is none."""

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Spans],
        sentences: Sequence[SplitSentence],
        table_index: Sequence[IndexArray] | None = None,
        wanted: Sequence[BoolArray] | None = None,
    ) -> PieceLayout:
        """Make the rows for some trees: one per sentence, or one per phrase, as the transformer's unit says.

        Args:
            trees: The phrases of each tree, for a transformer that reads phrases.
            sentences: The pieces of each tree's words.
            table_index: Rows of the static vectors that stand beside those of the words, if any.
            wanted: By node of each tree, whether its vector is asked for. Other phrases are not read, and get the
                vector of their sentence.

        Raises:
            ConfigError: If the phrases of a deep tree have too many pieces together.
        """
        row_format = sentences[0].row_format
        if row_format.unit == "word":
            rows, owner_of = _sentence_rows(sentences, row_format), None
            blocks = _cut(rows)
        else:
            rows, owner_of = _phrase_rows(trees, sentences, row_format, wanted)
            blocks = _group_by_width(rows)
        owner = np.concatenate([row.owners for block in blocks for row in block])
        count = np.bincount(owner)
        return cls(
            ids=tuple(_padded(block, row_format.padding) for block in blocks),
            lengths=tuple(np.array([len(row.ids) for row in block]) for block in blocks),
            place=_places(blocks),
            owner=owner,
            count=count,
            vector_of=np.arange(len(count)) if owner_of is None else owner_of,
            table_index=np.zeros(0, np.int64) if table_index is None else np.concatenate(table_index),
        )

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """(rows, width) of each block."""
        return tuple(ids.shape for ids in self.ids)

    def arrays(self) -> list[IndexArray]:
        """All arrays, flat, in the order of the fields."""
        ids = [block.ravel() for block in self.ids]
        return [*ids, *self.lengths, self.place, self.owner, self.count, self.vector_of, self.table_index]


def _sentence_rows(sentences: Sequence[SplitSentence], row_format: RowFormat) -> list[Row]:
    rows: list[Row] = []
    num_words = 0
    for sentence in sentences:
        rows += _windows(sentence, row_format, num_words)
        num_words += sentence.num_words
    return rows


def _windows(sentence: SplitSentence, row_format: RowFormat, first_word: int) -> list[Row]:
    """Make one row or, for a long sentence, several overlapping ones; each word counts where it has most context."""
    ids, starts = sentence.ids, sentence.starts
    num_read = np.minimum(sentence.ends - starts, row_format.max_word_pieces)
    ends = starts + num_read
    size = row_format.max_pieces
    last = max(0, len(ids) - size)
    firsts = np.unique(np.minimum(np.arange(0, last + size // 2 + 1, max(1, size // 2)), last))
    # A word has most context where it is closest to the middle.
    window_of = _nearest(firsts, (starts + ends - size) / 2)
    rows: list[Row] = []
    for window, first in enumerate(firsts.tolist()):
        words = np.flatnonzero(window_of == window)
        if not len(words):  # inside of an extremely long word
            continue
        pieces = np.repeat(starts[words], num_read[words]) + _within(num_read[words])
        row = [*row_format.before, *ids[first : first + size].tolist(), *row_format.after]
        rows.append(
            Row(row, pieces - first + len(row_format.before), first_word + np.repeat(words, num_read[words]))
        )
    return rows


def _nearest(numbers: IndexArray, wanted: DoubleArray) -> IndexArray:
    """Return the index of the number nearest to each wanted one, among ascending numbers; of two, the first."""
    above = np.searchsorted(numbers, wanted).clip(0, len(numbers) - 1)
    below = (above - 1).clip(0)
    return np.where(wanted - numbers[below] <= numbers[above] - wanted, below, above)


def _within(counts: IndexArray) -> IndexArray:
    """Return 0, 1, ... within each of some groups of the given sizes."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _phrase_rows(
    trees: Sequence[Spans],
    sentences: Sequence[SplitSentence],
    row_format: RowFormat,
    wanted: Sequence[BoolArray] | None,
) -> tuple[list[Row], IndexArray]:
    """Make the rows of each distinct phrase, and assign the nodes of the trees, in pre-order, to phrases.

    All pieces of a row count, including special ones; a phrase that is too long for one row takes several.
    """
    phrase_of: dict[bytes, int] = {}
    owners: list[int] = []
    num_pieces = 0
    for number, (tree, sentence) in enumerate(zip(trees, sentences, strict=True)):
        nodes = np.arange(len(tree.starts))
        if wanted is not None:
            nodes = np.where(wanted[number], nodes, 0)
        first, end = sentence.starts[tree.starts[nodes]], sentence.ends[tree.ends[nodes] - 1]
        # A repeated position costs nothing: a long sentence may be all that is wanted of a tree.
        phrase_at: dict[tuple[int, int], int] = {}
        for place in zip(first.tolist(), end.tolist(), strict=True):
            if place not in phrase_at:
                num_pieces = _check_size(num_pieces + place[1] - place[0])
                pieces = sentence.ids[slice(*place)].tobytes()
                phrase_at[place] = phrase_of.setdefault(pieces, len(phrase_of))
            owners.append(phrase_at[place])
    rows = [
        row for pieces, phrase in phrase_of.items() for row in _rows_of_phrase(pieces, phrase, row_format)
    ]
    return rows, np.array(owners, dtype=np.int64)


def _rows_of_phrase(pieces: bytes, phrase: int, row_format: RowFormat) -> Iterator[Row]:
    ids = np.frombuffer(pieces, dtype=np.int64).tolist()
    for first in range(0, len(ids), row_format.max_pieces):
        row = [*row_format.before, *ids[first : first + row_format.max_pieces], *row_format.after]
        yield Row(row, np.arange(len(row)), np.full(len(row), phrase))


def _check_size(num_pieces: int) -> int:
    if num_pieces > _MAX_PHRASE_PLACES:
        raise ConfigError(
            "the phrases of these trees are too long to be read one by one",
            remedy="Predict whole sentences only (--nodes root), or use a tree model.",
        )
    return num_pieces


def _group_by_width(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Group rows of similar length, since a block is as wide as its longest row."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(bisect.bisect_left(WIDTHS, len(row.ids)), []).append(row)
    return [block for width in sorted(groups) for block in _cut(groups[width])]


def _cut(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Split rows into blocks of bounded size, as a transformer's activations are many times as large."""
    per_block = max(1, MAX_PLACES // max(len(row.ids) for row in rows))
    return [rows[first : first + per_block] for first in range(0, len(rows), per_block)]


def _padded(rows: Sequence[Row], padding: int) -> IndexArray:
    ids = np.full((len(rows), max(len(row.ids) for row in rows)), padding)
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
