"""Rows of pieces: every word counts once, with all of its pieces and as much context as there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import ConfigError
from lexitree.lexicon import pieces
from lexitree.lexicon.pieces import PieceLayout, RowFormat, SplitSentence, Unit
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.strategies import trees
from tests.tiny import chain

BEFORE, AFTER, FILLING = (900,), (901, 902), 999


def make_format(max_pieces: int, unit: Unit = "word") -> RowFormat:
    return RowFormat(BEFORE, AFTER, FILLING, max_pieces, unit)


def make_sentence(counts: list[int], row_format: RowFormat, first: int = 0) -> SplitSentence:
    """A sentence whose words have so many pieces, numbered one after the other."""
    ends = np.cumsum(counts)
    return SplitSentence(np.arange(first, first + int(ends[-1])), ends - counts, ends, row_format)


counts = st.lists(st.integers(1, 9), min_size=1, max_size=40)


def rows_of(layout: PieceLayout) -> list[list[int]]:
    return [
        row[:length]
        for ids, lengths in zip(layout.ids, layout.lengths, strict=True)
        for row, length in zip(ids.tolist(), lengths.tolist(), strict=True)
    ]


def counted(layout: PieceLayout) -> list[list[int]]:
    """By vector: the pieces that it is the mean of."""
    flat = np.concatenate([ids.ravel() for ids in layout.ids])
    found: list[list[int]] = [[] for _ in layout.count.tolist()]
    for place, owner in zip(layout.place.tolist(), layout.owner.tolist(), strict=True):
        found[owner].append(int(flat[place]))
    assert [len(part) for part in found] == layout.count.tolist()
    return found


@given(st.lists(counts, min_size=1, max_size=4), st.integers(2, 12))
def test_every_word_has_all_its_pieces_once(sizes: list[list[int]], max_pieces: int) -> None:
    row_format = make_format(max_pieces)
    sentences = [make_sentence(each, row_format, 100 * number) for number, each in enumerate(sizes)]
    layout = PieceLayout.from_trees([], sentences)
    expected = [
        sentence.ids[start : min(end, start + row_format.max_word_pieces)].tolist()
        for sentence in sentences
        for start, end in zip(sentence.starts.tolist(), sentence.ends.tolist(), strict=True)
    ]
    assert counted(layout) == expected
    for row in rows_of(layout):
        assert len(row) <= max_pieces + 3
        assert (*row[:1], *row[-2:]) == (*BEFORE, *AFTER)
        # What stands between is a stretch of one sentence.
        assert row[1:-2] == list(range(row[1], row[1] + len(row) - 3))


@given(counts, st.integers(8, 12))
def test_words_in_the_middle_have_context_on_both_sides(sizes: list[int], max_pieces: int) -> None:
    row_format = make_format(max_pieces)
    sizes = [min(size, 2) for size in sizes]
    layout = PieceLayout.from_trees([], [make_sentence(sizes, row_format)])
    num_pieces = sum(sizes)
    ids, (place, owner) = layout.ids[0], (layout.place, layout.owner)
    width = ids.shape[1]
    for word in range(len(sizes)):
        places = place[owner == word]
        row, columns = ids[places[0] // width], places % width
        piece = int(row[columns[0]])
        left = int(columns.min()) - 1
        right = int((row[int(columns.max()) + 1 :] < 900).sum())
        # A quarter of a row at least, or all that there is.
        enough = max_pieces // 4 - 1
        assert left >= min(enough, piece)
        assert right >= min(enough, num_pieces - piece - len(columns))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=25), st.integers(2, 12))
def test_a_word_counts_where_it_has_most_context(sizes: list[int], max_pieces: int) -> None:
    """Every window against every word, as the definition has it."""
    row_format = make_format(max_pieces)
    sentence = make_sentence(sizes, row_format)
    last = max(0, len(sentence.ids) - max_pieces)
    firsts = sorted({min(first, last) for first in range(0, last + max_pieces, max(1, max_pieces // 2))})
    found = {row.ids[1]: set(row.owners.tolist()) for row in pieces._windows(sentence, row_format, 0)}
    for word, start in enumerate(sentence.starts.tolist()):
        end = start + min(sizes[word], row_format.max_word_pieces)
        contexts = [min(start - first, first + max_pieces - end) for first in firsts]
        (chosen,) = [first for first, words in found.items() if word in words]
        assert contexts[firsts.index(chosen)] == max(contexts) >= 0


def test_words_that_share_a_piece() -> None:
    """`don ' t` for `do` and `n't`: the first piece is part of both."""
    sentence = SplitSentence(np.array([5, 6, 7]), np.array([0, 0]), np.array([1, 3]), make_format(8))
    assert counted(PieceLayout.from_trees([], [sentence])) == [[5], [5, 6, 7]]


def test_a_sentence_of_a_hundred_thousand_words() -> None:
    layout = PieceLayout.from_trees([], [make_sentence([1] * 100_000, make_format(510))])
    assert len(layout.count) == 100_000
    assert max(rows * width for rows, width in layout.shapes) <= pieces.MAX_PLACES


def test_the_layout_that_the_docstring_shows() -> None:
    row_format = RowFormat((1,), (2,), 0, 8)
    sentences = [
        SplitSentence(np.array([7, 8, 9]), np.array([0, 1]), np.array([1, 3]), row_format),
        SplitSentence(np.array([6]), np.array([0]), np.array([1]), row_format),
    ]
    layout = PieceLayout.from_trees([], sentences, [np.array([3, 4]), np.array([5])])
    (ids,), (lengths,) = layout.ids, layout.lengths
    assert ids.tolist() == [[1, 7, 8, 9, 2], [1, 6, 2, 0, 0]]
    assert lengths.tolist() == [5, 3]
    assert layout.place.tolist() == [1, 2, 3, 6]
    assert layout.owner.tolist() == [0, 1, 1, 2]
    assert layout.count.tolist() == [1, 2, 1]
    assert layout.table_index.tolist() == [3, 4, 5]


@given(st.lists(trees(max_words=9), min_size=1, max_size=4), st.data())
def test_each_phrase_is_read_for_itself_and_the_same_once(forest: list[Tree], data: st.DataObject) -> None:
    row_format = make_format(data.draw(st.integers(2, 9)), "phrase")
    sentences = []
    for tree in forest:
        sizes = data.draw(st.lists(st.integers(1, 3), min_size=tree.num_words, max_size=tree.num_words))
        sentences.append(make_sentence(sizes, row_format, data.draw(st.sampled_from([0, 0, 50]))))
    layout = PieceLayout.from_trees(forest, sentences)
    expected: list[list[int]] = []
    for tree, sentence in zip(forest, sentences, strict=True):
        for start, end in tree.spans:
            own = sentence.ids[sentence.starts[start] : sentence.ends[end - 1]].tolist()
            rows = [own[k : k + row_format.max_pieces] for k in range(0, len(own), row_format.max_pieces)]
            expected.append([piece for row in rows for piece in (*BEFORE, *row, *AFTER)])
    by_vector = counted(layout)
    found = [by_vector[vector] for vector in layout.vector_of.tolist()]
    assert [sorted(part) for part in found] == [sorted(part) for part in expected]
    assert len(by_vector) == len({tuple(part) for part in expected})
    assert max(len(row) for row in rows_of(layout)) <= row_format.max_pieces + 3


def test_phrases_that_nobody_wants_are_not_read() -> None:
    tree = tree_from_brackets("(1 (_ a) (0 (_ b) (_ c)))")
    sentence = make_sentence([1, 1, 1], make_format(8, "phrase"))
    wanted = np.array([True, False, True, False, False])
    layout = PieceLayout.from_trees([tree], [sentence], wanted=[wanted])
    assert sorted(map(len, rows_of(layout))) == [3 + 2, 3 + 3]
    assert layout.vector_of.tolist() == [0, 0, 1, 0, 0]


def test_phrases_of_a_deep_tree_are_refused_but_not_its_sentence() -> None:
    tree, row_format = chain(4_000), make_format(510, "phrase")
    sentence = make_sentence([1] * 4_000, row_format)
    with pytest.raises(ConfigError, match="too long to be read one by one"):
        PieceLayout.from_trees([tree], [sentence])
    root = np.arange(tree.num_nodes) == 0
    assert len(PieceLayout.from_trees([tree], [sentence], wanted=[root]).count) == 1


def test_blocks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [make_sentence([2, 1], make_format(9), 10 * number) for number in range(7)]
    whole = PieceLayout.from_trees([], sentences)
    monkeypatch.setattr(pieces, "MAX_PLACES", 13)
    cut = PieceLayout.from_trees([], sentences)
    assert [rows for rows, _ in cut.shapes] == [2, 2, 2, 1]
    assert rows_of(cut) == rows_of(whole)
    assert counted(cut) == counted(whole)
