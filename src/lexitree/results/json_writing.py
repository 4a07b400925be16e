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

from lexitree.arrays import DIGITS, DoubleArray, FloatArray, IndexArray, rounded_number
from lexitree.labels import LabelSet
from lexitree.views.visible import MAX_SHOWN_CHARACTERS, shorten_text

if TYPE_CHECKING:
    from lexitree.results.flat_results import FlatSentence

_HALF = 10 ** (DIGITS // 2)
"""Numbers are written in two halves of so many values each."""


def write_sentence(sentence: FlatSentence) -> str:
    """A sentence as JSON, with its phrases if they were labelled; see `Sentence.as_dict`."""
    tokens = sentence.flat_tokens
    starts = [f'{{"start": {start}' for start in tokens.starts]
    ends = [f', "end": {end}, "text": ' for end in tokens.ends]
    texts = [quote(text) for text in tokens.texts]
    cells = [f"{start}{end}{text}}}" for start, end, text in zip(starts, ends, texts, strict=True)]
    parse = quote(sentence.flat_parse.brackets(tokens.forms))
    probability, score = rounded_number(sentence.probability), rounded_number(sentence.score)
    whole = (
        f'{starts[0]}{ends[-1]}{quote(sentence.text)}, "label": {quote(sentence.label)}, "probability":'
        f' {probability!r}, "score": {"null" if score is None else repr(score)}, "tokens": [{", ".join(cells)}],'
        f' "parse": {parse}'
    )
    if not sentence.has_all_phrases:
        return whole + "}"
    return f'{whole}, "phrases": [{", ".join(_phrases(sentence, starts, ends, texts))}]}}'


def _phrases(
    sentence: FlatSentence, starts: Sequence[str], ends: Sequence[str], texts: Sequence[str]
) -> list[str]:
    """Each phrase as JSON: all of its pieces have their keys already.

    Args:
        sentence: The sentence.
        starts: Where each token starts, with its key.
        ends: Where it ends, and the key of the text.
        texts: The tokens themselves, in quotes.
    """
    firsts: list[int] = sentence.shape[:, 0].tolist()
    lasts: list[int] = (sentence.shape[:, 1] - 1).tolist()
    numbers = sentence.written_numbers()
    columns = zip(
        firsts,
        lasts,
        _phrase_texts(sentence, firsts, lasts),
        numbers.labels,
        _children(firsts, lasts),
        _head_words(sentence, texts),
        numbers.ends,
        strict=True,
    )
    return [
        f"{starts[first]}{ends[last]}{text}{label}{children}{head}{end}"
        for first, last, text, label, children, head, end in columns
    ]


def _phrase_texts(sentence: FlatSentence, firsts: Sequence[int], lasts: Sequence[int]) -> list[str]:
    """The text of each phrase in quotes."""
    text, starts, ends = sentence.document_text, sentence.flat_tokens.starts, sentence.flat_tokens.ends
    places = zip(firsts, lasts, strict=True)
    if ends[-1] - starts[0] > MAX_SHOWN_CHARACTERS:
        return [quote(shorten_text(text, starts[first], ends[last])) for first, last in places]
    if len(quote(sentence.text)) == len(sentence.text) + 2:
        # No character has to be escaped, as in most sentences.
        return [f'"{text[starts[first] : ends[last]]}"' for first, last in places]
    return [quote(text[starts[first] : ends[last]]) for first, last in places]


def _children(firsts: Sequence[int], lasts: Sequence[int]) -> list[str]:
    """The numbers of the parts of each phrase: of a binary tree in pre-order, they follow from where words end.

    The left part comes right after its phrase; it has two nodes less one for each of its words.
    """
    return [
        ', "children": []'
        if first == last
        else f', "children": [{node}, {node + 2 * (lasts[node] - first) + 1}]'
        for node, (first, last) in enumerate(zip(firsts, lasts, strict=True), 1)
    ]


def _head_words(sentence: FlatSentence, texts: Sequence[str]) -> Sequence[str]:
    """The head word of each phrase; nothing for a model without heads."""
    if sentence.head_index is None:
        return [""] * len(sentence.shape)
    if sentence.end - sentence.start > MAX_SHOWN_CHARACTERS:
        texts = [quote(shorten_text(text)) for text in sentence.flat_tokens.texts]
    words = [f', "head": {place}, "head_word": {text}' for place, text in enumerate(texts)]
    heads: list[int] = sentence.head_index.tolist()
    return [words[head] for head in heads]


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
