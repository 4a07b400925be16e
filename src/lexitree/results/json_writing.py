"""Writes labelled sentences as JSON straight from their arrays.

`Sentence.as_dict` reads what is written here. Where the kernels run, one of them writes tokens and phrases
(json_writing.c).

Elsewhere, and for very long sentences, they are written here. Most of a document are numbers and keys. Numbers are
looked up and not computed digit by digit; they are written side by side with their keys into a table of characters,
for all nodes of a batch at once, and what fills it up is left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from ctypes import byref, c_char
from functools import cache
from itertools import accumulate
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.arrays import DIGITS, FloatArray, IndexArray, NodeArray, rounded_number
from lexitree.kernels.library import find_sentence_writer
from lexitree.labels import LabelSet
from lexitree.lazy import cached_property
from lexitree.views.visible import MAX_SHOWN_CHARACTERS, shorten_text

if TYPE_CHECKING:
    from lexitree.results.sentence import Sentence

_HALF = 10 ** (DIGITS // 2)
"""Numbers are written in two halves of so many values each."""
_ROOM, _NUMBER_ROOM = 256, 16
"""FIXED_ROOM and NUMBER_ROOM of json_writing.c, which refuses to write where there is less."""
_AS_IT_IS = "surrogatepass"
"""Half a surrogate pair, which a Python string may hold, stays what it is."""


def write_sentence(sentence: Sentence) -> str:
    """A sentence as JSON, with its phrases if they were labelled; see `Sentence.as_dict`."""
    text = quote(sentence.text)
    parse = quote(sentence.flat_parse.brackets(sentence.flat_tokens.forms))
    probability, score = rounded_number(sentence.probability), rounded_number(sentence.score)
    parts = _write_natively(sentence, text, parse) or _write_parts(sentence, parse)
    return (
        f'{{"start": {sentence.start}, "end": {sentence.end}, "text": {text}, "label": {quote(sentence.label)},'
        f' "probability": {probability!r}, "score": {"null" if score is None else repr(score)}, {parts}}}'
    )


def _write_natively(sentence: Sentence, written: str, parse: str) -> str | None:
    """What `_write_parts` gives, by a kernel; None if it does not run here, or if phrases have to be shortened.

    Args:
        sentence: The sentence.
        written: Its text as JSON.
        parse: Its parse as JSON.
    """
    write, length = find_sentence_writer(), sentence.end - sentence.start
    if write is None or length > MAX_SHOWN_CHARACTERS:
        return None
    tokens, labels = sentence.flat_tokens, sentence.label_set
    pieces, num_labels = _pieces(labels.names), len(labels)
    text, brackets = written.encode(errors=_AS_IT_IS), parse.encode(errors=_AS_IT_IS)
    positions = array("q", tokens.starts + tokens.ends).tobytes()
    # The quote comes before the first character.
    places, shift = positions, sentence.start - 1
    if len(text) > length + 2:
        places, shift = _written_places(sentence).tobytes(), -1
    nodes = _packed_nodes(sentence) if sentence.has_all_phrases else _PackedNodes(b"", None, b"", 0)
    room = (len(tokens) + 2) * (_ROOM + len(text)) + len(brackets)
    room += nodes.num_nodes * (_ROOM + 2 * len(text) + len(pieces.text) + (num_labels + 3) * _NUMBER_ROOM)
    out = np.empty(room, dtype=np.uint8).data
    size = write(
        *(positions, places, len(tokens), shift, text, len(text), brackets, len(brackets)),
        *(*nodes, *pieces, num_labels, labels.scores is not None),
        *(byref(c_char.from_buffer(out)), room),
    )
    return None if size < 0 else str(out[:size], "utf-8", _AS_IT_IS)


class _PackedNodes(NamedTuple):
    """The phrases of a sentence as the kernel reads them."""

    shape: bytes
    heads: bytes | None
    numbers: bytes
    num_nodes: int


def _packed_nodes(sentence: Sentence) -> _PackedNodes:
    numbers, rows = sentence.written_numbers()
    shape, heads, millionths = sentence.shape, sentence.head_index, numbers.millionths[rows]
    num_phrases, num_columns = len(shape), len(sentence.label_set) + 4
    if millionths.shape != (num_phrases, num_columns) or shape.shape[1] != 3:
        raise ValueError(
            f"{num_phrases} phrases need as many rows of {num_columns} numbers, not {millionths.shape}"
        )
    if heads is not None and len(heads) != num_phrases:
        raise ValueError("every phrase has its head word")
    return _PackedNodes(
        shape.astype(np.int32, copy=False).tobytes(),
        None if heads is None else heads.astype(np.int64, copy=False).tobytes(),
        millionths.tobytes(),
        len(shape),
    )


def _written_places(sentence: Sentence) -> IndexArray:
    """[2 * tokens]: where the tokens start and end in the sentence's text as JSON, counted in bytes."""
    codes = np.frombuffer(sentence.text.encode("utf-32-le", _AS_IT_IS), dtype=np.uint32)
    widths = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    is_ascii = codes < 0x80
    widths[is_ascii] = _ascii_widths()[codes[is_ascii]]
    tokens = sentence.flat_tokens
    return np.append(0, np.cumsum(widths, dtype=np.int64))[
        np.array(tokens.starts + tokens.ends) - sentence.start
    ]


@cache
def _ascii_widths() -> IndexArray:  # [128]
    """How many characters JSON takes for each ASCII character: two for a quote."""
    return np.array([len(quote(chr(code))) - 2 for code in range(0x80)])


class _Pieces(NamedTuple):
    """What the kernel writes before numbers, one piece after the other, and where each begins."""

    text: bytes
    borders: bytes


@cache
def _pieces(names: tuple[str, ...]) -> _Pieces:
    """Before the probability of each label as the likeliest, before each of all probabilities, before the score."""
    pieces = [each.encode() for each in (*_label_keys(names), *_share_keys(names), _SCORE_KEY)]
    return _Pieces(b"".join(pieces), array("q", accumulate(map(len, pieces), initial=0)).tobytes())


def _write_parts(sentence: Sentence, parse: str) -> str:
    """The tokens, the parse, and the phrases if they were labelled, with their keys."""
    tokens = sentence.flat_tokens
    starts = [f'{{"start": {start}' for start in tokens.starts]
    ends = [f', "end": {end}, "text": ' for end in tokens.ends]
    texts = [quote(text) for text in tokens.texts]
    cells = [f"{start}{end}{text}}}" for start, end, text in zip(starts, ends, texts, strict=True)]
    parts = f'"tokens": [{", ".join(cells)}], "parse": {parse}'
    if not sentence.has_all_phrases:
        return parts
    return f'{parts}, "phrases": [{", ".join(_phrases(sentence, starts, ends, texts))}]'


def _phrases(
    sentence: Sentence, starts: Sequence[str], ends: Sequence[str], texts: Sequence[str]
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
    numbers, rows = sentence.written_numbers()
    columns = zip(
        firsts,
        lasts,
        _phrase_texts(sentence, firsts, lasts),
        numbers.labels[rows],
        _children(firsts, lasts),
        _head_words(sentence, texts),
        numbers.ends[rows],
        strict=True,
    )
    return [
        f"{starts[first]}{ends[last]}{text}{label}{children}{head}{end}"
        for first, last, text, label, children, head, end in columns
    ]


def _phrase_texts(sentence: Sentence, firsts: Sequence[int], lasts: Sequence[int]) -> list[str]:
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


def _head_words(sentence: Sentence, texts: Sequence[str]) -> Sequence[str]:
    """The head word of each phrase; nothing for a model without heads."""
    if sentence.head_index is None:
        return [""] * len(sentence.shape)
    if sentence.end - sentence.start > MAX_SHOWN_CHARACTERS:
        texts = [quote(shorten_text(text)) for text in sentence.flat_tokens.texts]
    words = [f', "head": {text}, "head_index": {place}' for place, text in enumerate(texts)]
    heads: list[int] = sentence.head_index.tolist()
    return [words[head] for head in heads]


class WrittenNumbers:
    """The labels and numbers of some nodes as JSON has them.

    Args:
        rows: [nodes, labels]: the probabilities.
        head_weight: [nodes]: the shares of the head words; None without heads.
        label_set: The labels.
    """

    def __init__(self, rows: FloatArray, head_weight: FloatArray | None, label_set: LabelSet) -> None:
        self._label_set = label_set
        self._has_heads = head_weight is not None
        likeliest = rows.argmax(1)
        numbers = np.zeros((len(rows), len(label_set) + 4), dtype=np.float64)
        numbers[:, 1] = rows[np.arange(len(rows)), likeliest]
        numbers[:, 2:-2] = rows
        if label_set.scores is not None:
            # As `LabelledTree.node_scores` has them.
            numbers[:, -2] = (numbers[:, 2:-2].round(DIGITS) * label_set.scores).sum(1)
        if head_weight is not None:
            numbers[:, -1] = head_weight
        self.millionths: NodeArray = np.rint(numbers * 10.0**DIGITS).astype(np.int32)
        """[nodes, labels + 4]: the number of the likeliest label and, in millionths, its probability, all
        probabilities, the score and the head word's share."""
        self.millionths[:, 0] = likeliest

    @cached_property
    def labels(self) -> list[str]:
        """The likeliest label of each node, its probability, all probabilities, and the score, with their keys."""
        return self._cells[:-1:2]

    @cached_property
    def ends(self) -> list[str]:
        """The head word's share, if there are heads, and the bracket that ends the phrase."""
        return self._cells[1::2]

    @cached_property
    def _cells(self) -> list[str]:
        names = self._label_set.names
        table = _CharacterTable(self.millionths)
        table.add_choice(_characters(_label_keys(names)), self.millionths[:, 0])
        table.add_numbers(1)
        for number, key in enumerate(_share_keys(names), 2):
            table.add_text(key)
            table.add_numbers(number)
        table.add_text(_SCORE_KEY)
        if self._label_set.scores is None:
            table.add_text("null")
        else:
            table.add_numbers(-2)
        table.add_text(_SEPARATOR)
        if self._has_heads:
            table.add_text(', "head_weight": ')
            table.add_numbers(-1)
        table.add_text("}" + _SEPARATOR)
        return table.text().split(_SEPARATOR)


_SEPARATOR = "\n"
"""Between cells; JSON on one line does not hold it."""


_SCORE_KEY = '}, "score": '


@cache
def _label_keys(names: tuple[str, ...]) -> list[str]:
    """What stands before the probability of the likeliest label."""
    return [f', "label": {quote(name)}, "probability": ' for name in names]


@cache
def _share_keys(names: tuple[str, ...]) -> list[str]:
    """What stands before the probability of each label."""
    keys = [f"{quote(name)}: " for name in names]
    return [f', "probabilities": {{{keys[0]}', *(f", {key}" for key in keys[1:])]


class _CharacterTable:
    """Rows of characters of equal width, in UTF-8; zeros fill up what is narrower.

    Args:
        integers: [rows, columns]: numbers from -1 to 1 in millionths, to be written as JSON has them.
    """

    def __init__(self, integers: NodeArray) -> None:
        self._num_rows = len(integers)
        self._columns: list[npt.NDArray[np.uint8]] = []
        high, low = np.divmod(np.abs(integers), _HALF)
        is_small = high == 0
        left = high + (_HALF + 1) * ((low == 0) > is_small) + 2 * (_HALF + 1) * (integers < 0)
        first, second = _halves()
        self._digits = first[left], second[low + _HALF * is_small]

    def add_text(self, text: str) -> None:
        """The same characters in all rows."""
        characters = np.frombuffer(text.encode(), dtype=np.uint8)
        self._columns.append(np.broadcast_to(characters, (self._num_rows, len(characters))))

    def add_choice(self, texts: npt.NDArray[np.uint8], chosen: NodeArray) -> None:
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
