"""Writes labelled sentences as JSON straight from their arrays.

The result is what `to_json(sentence.as_dict())` gives, character by character, in a third of the time. Most of a
document are numbers and keys. Numbers are looked up and not computed digit by digit; they are written side by side
with their keys into a table of characters, for all nodes of a batch at once, and what fills it up is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import DIGITS, DoubleArray, FloatArray, IndexArray, NodeArray, rounded_number
from lexitree.labels import LabelSet
from lexitree.views.visible import MAX_SHOWN_CHARACTERS, shorten_text

if TYPE_CHECKING:
    from lexitree.results.flat_results import FlatSentence

_HALF = 10 ** (DIGITS // 2)
"""Numbers are written in two halves of so many values each."""


def write_sentence(sentence: FlatSentence) -> str:
    """A sentence as JSON, with its phrases if they were labelled; see `Sentence.as_dict`."""
    tokens = sentence.tokens
    starts, ends = (
        [f'{{"start": {token.start}' for token in tokens],
        [f', "end": {token.end}' for token in tokens],
    )
    texts = [quote(token.text) for token in tokens]
    cells = [f'{start}{end}, "text": {text}}}' for start, end, text in zip(starts, ends, texts, strict=True)]
    parse = quote(sentence.flat_parse.brackets([token.form for token in tokens]))
    probability, score = rounded_number(sentence.probability), rounded_number(sentence.score)
    whole = (
        f'{starts[0]}{ends[-1]}, "text": {quote(sentence.text)}, "label": {quote(sentence.label)}, "probability":'
        f' {probability!r}, "score": {"null" if score is None else repr(score)}, "tokens": [{", ".join(cells)}],'
        f' "parse": {parse}'
    )
    if not sentence.has_all_phrases:
        return whole + "}"
    return f'{whole}, "phrases": [{", ".join(_phrases(sentence, starts, ends, texts))}]}}'


def _phrases(
    sentence: FlatSentence, starts: Sequence[str], ends: Sequence[str], texts: Sequence[str]
) -> map[str]:
    """Each phrase as JSON: all of its pieces have their keys already.

    Args:
        sentence: The sentence.
        starts: Where each token starts, with its key.
        ends: Where it ends.
        texts: The tokens themselves, in quotes.
    """
    shape, numbers = sentence.shape, sentence.written_numbers()
    firsts: list[int] = shape[:, 0].tolist()
    lasts: list[int] = (shape[:, 1] - 1).tolist()
    columns: list[Sequence[str]] = [
        [starts[first] for first in firsts],
        [ends[last] for last in lasts],
        _phrase_texts(sentence, firsts, lasts),
        numbers.labels,
        _children(shape),
    ]
    if sentence.head_index is not None:
        if sentence.end - sentence.start > MAX_SHOWN_CHARACTERS:
            texts = [quote(shorten_text(token.text)) for token in sentence.tokens]
        words = [f', "head": {place}, "head_word": {text}' for place, text in enumerate(texts)]
        heads: list[int] = sentence.head_index.tolist()
        columns.append([words[head] for head in heads])
    return map("".join, zip(*columns, numbers.ends, strict=True))


def _phrase_texts(sentence: FlatSentence, firsts: Sequence[int], lasts: Sequence[int]) -> list[str]:
    text, tokens = sentence.document_text, sentence.tokens
    starts, ends = [token.start for token in tokens], [token.end for token in tokens]
    if ends[-1] - starts[0] > MAX_SHOWN_CHARACTERS:
        return [
            f', "text": {quote(shorten_text(text, starts[first], ends[last]))}'
            for first, last in zip(firsts, lasts, strict=True)
        ]
    return [
        f', "text": {quote(text[starts[first] : ends[last]])}'
        for first, last in zip(firsts, lasts, strict=True)
    ]


def _children(shape: NodeArray) -> list[str]:
    """The numbers of the parts of each phrase: of a binary tree in pre-order, they follow from the widths."""
    widths: list[int] = (shape[:, 1] - shape[:, 0]).tolist()
    return [
        ', "children": []' if width == 1 else f', "children": [{node}, {node + 2 * widths[node] - 1}]'
        for node, width in enumerate(widths, 1)
    ]


class WrittenNumbers(NamedTuple):
    """The labels and numbers of some nodes as JSON, with their keys."""

    labels: list[str]
    """The likeliest label of each node, its probability, all probabilities, and the score."""
    ends: list[str]
    """The head word's share, if there are heads, and the bracket that ends the phrase."""

    @classmethod
    def of(cls, rows: FloatArray, head_weight: FloatArray | None, label_set: LabelSet) -> WrittenNumbers:
        """Write the numbers of some nodes.

        Args:
            rows: [nodes, labels]: the probabilities.
            head_weight: [nodes]: the shares of the head words; None without heads.
            label_set: The labels.
        """
        names, likeliest = label_set.names, rows.argmax(1)
        numbers = np.zeros((len(rows), len(names) + 3), dtype=np.float64)
        numbers[:, 0] = rows[np.arange(len(rows)), likeliest]
        numbers[:, 1:-2] = rows
        if label_set.scores is not None:
            # As `LabelledTree.node_scores` has them.
            numbers[:, -2] = (numbers[:, 1:-2].round(DIGITS) * label_set.scores).sum(1)
        if head_weight is not None:
            numbers[:, -1] = head_weight
        table = _CharacterTable(numbers)
        table.add_choice(_label_cells(names), likeliest)
        table.add_numbers(0)
        for number, key in enumerate(_share_keys(names), 1):
            table.add_text(key)
            table.add_numbers(number)
        table.add_text('}, "score": ')
        if label_set.scores is None:
            table.add_text("null")
        else:
            table.add_numbers(-2)
        table.add_text(_SEPARATOR)
        if head_weight is not None:
            table.add_text(', "head_weight": ')
            table.add_numbers(-1)
        table.add_text("}" + _SEPARATOR)
        cells = table.text().split(_SEPARATOR)
        return cls(cells[:-1:2], cells[1::2])

    def part(self, rows: slice) -> WrittenNumbers:
        """Those of some of the nodes."""
        return WrittenNumbers(self.labels[rows], self.ends[rows])


_SEPARATOR = "\n"
"""Between cells; JSON on one line does not hold it."""


@cache
def _label_cells(names: tuple[str, ...]) -> npt.NDArray[np.uint8]:
    return _characters([f', "label": {quote(name)}, "probability": ' for name in names])


@cache
def _share_keys(names: tuple[str, ...]) -> list[str]:
    """What stands before the probability of each label."""
    keys = [f"{quote(name)}: " for name in names]
    return [f', "probabilities": {{{keys[0]}', *(f", {key}" for key in keys[1:])]


class _CharacterTable:
    """Rows of characters of equal width, in UTF-8; zeros fill up what is narrower.

    Args:
        numbers: [rows, columns]: numbers from -1 to 1, to be written as JSON has them, rounded as by
            `arrays.rounded`.
    """

    def __init__(self, numbers: DoubleArray) -> None:
        self._num_rows = len(numbers)
        self._columns: list[npt.NDArray[np.uint8]] = []
        integers = np.rint(numbers * 10.0**DIGITS).astype(np.int32)
        high, low = np.divmod(np.abs(integers), _HALF)
        is_small = high == 0
        left = high + (_HALF + 1) * ((low == 0) > is_small) + 2 * (_HALF + 1) * (integers < 0)
        first, second = _halves()
        self._digits = first[left], second[low + _HALF * is_small]

    def add_text(self, text: str) -> None:
        """The same characters in all rows."""
        characters = np.frombuffer(text.encode(), dtype=np.uint8)
        self._columns.append(np.broadcast_to(characters, (self._num_rows, len(characters))))

    def add_choice(self, texts: npt.NDArray[np.uint8], chosen: IndexArray) -> None:
        """One of several texts in each row."""
        self._columns.append(texts[chosen])

    def add_numbers(self, column: int) -> None:
        """A column of the numbers."""
        self._columns += [digits[:, column] for digits in self._digits]

    def text(self) -> str:
        """All rows, one after the other."""
        return np.concatenate(self._columns, axis=1).tobytes().translate(None, b"\0").decode()


@cache
def _halves() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The characters of the first and of the last digits of numbers.

    0.123456 is `0.123` and `456`, and 0.12 is `0.12` and nothing. A number that begins with three zeros is written as
    a whole: 0.000123 is nothing and `0.000123`.
    """
    width = DIGITS // 2
    going_on = ["", *(f"{high / _HALF:.{width}f}" for high in range(1, _HALF + 1))]
    whole = [repr(high / _HALF) for high in range(_HALF + 1)]
    last = ["", *(f"{low:0{width}}".rstrip("0") for low in range(1, _HALF))]
    small = [repr(low / 10**DIGITS) for low in range(_HALF)]
    positive = [*going_on, *whole]
    first = [*positive, *(f"-{number}" for number in positive)]
    return _characters(first), _characters([*last, *small])


def _characters(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    """[texts, width]: the characters of each text in UTF-8."""
    rows = np.array([text.encode() for text in texts])
    return rows.view(np.uint8).reshape(len(texts), -1)
