"""JSON is written by the kernel, by Python and by way of plain values alike, character by character."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.arrays import FloatArray, rounded
from lexitree.files import to_json
from lexitree.kernels.library import find_sentence_writer, why_absent
from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.results import json_writing
from lexitree.results.document import Document
from lexitree.results.json_writing import WrittenNumbers, write_sentence
from lexitree.results.sentence import Phrase, Sentence
from lexitree.text.tokens import Token, Tokens
from lexitree.trees.brackets import read_trees, surface_form
from lexitree.trees.flat_parses import ParseLabels, SentenceParse
from lexitree.views.visible import MAX_SHOWN_CHARACTERS, shorten_text
from tests.parsers.random_parser import random_parser
from tests.pipeline.stubs import tiny_pipeline

TEXTS = (
    "The film is good. A plot and not a bad film!",
    "word",
    "",
    'a "film" (a \\bad\\ one) \u2028 is\t10% “good” é 日本 😀 \x85 and/or not',
    "the film is not good and " * 60,
)
SCALE = LabelSet(SENTIMENTS)
NO_SCALE = LabelSet(("a 10%", 'b "é"'))
TREEBANK = Path(os.environ.get("LEXITREE_DATA") or "nowhere") / "sst" / "dev.txt"

needs_kernels = pytest.mark.skipif(why_absent() is not None, reason=str(why_absent()))


@pytest.fixture(params=["kernel", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of writing, one after the other."""
    if request.param == "python":
        monkeypatch.setattr(json_writing, "find_sentence_writer", lambda: None)
    elif why_absent() is not None:
        pytest.skip(str(why_absent()))


def both_ways(sentence: Sentence) -> tuple[str | None, str]:
    """What the kernel writes, and what Python does."""
    parse = json_writing.quote(sentence.flat_parse.brackets(sentence.flat_tokens.forms))
    text = json_writing.quote(sentence.text)
    return json_writing._write_natively(sentence, text, parse), json_writing._write_parts(sentence, parse)


def make_sentence(
    words: list[str],
    gap: str,
    splits: Callable[[int, int], int],
    probabilities: FloatArray,
    labels: LabelSet,
    *,
    has_heads: bool,
) -> Sentence:
    """A sentence of some words, with so much between them, as a tree that is split where it is asked to be."""
    tokens, text = Tokens([], [], [], []), gap
    for word in words:
        tokens.add(Token(word, len(text), len(text) + len(word), word))
        text += word + gap
    shape: list[tuple[int, int, int]] = []
    waiting = [(0, len(words))]
    while waiting:
        start, end = waiting.pop()
        shape.append((start, end, 0))
        if end - start > 1:
            middle = splits(start, end)
            waiting += [(middle, end), (start, middle)]
    rows = np.resize(probabilities, (len(shape), len(labels))).astype(np.float32)
    parse = ParseLabels.joined(["S"], ["NN"])
    return Sentence(
        text,
        tokens,
        label_set=labels,
        node_probabilities=rows,
        head_index=np.array([end - 1 for _, end, _ in shape]) if has_heads else None,
        head_weight=rows[:, 0].copy() if has_heads else None,
        parse=SentenceParse(parse, np.zeros(len(words), np.int32), np.array([[0, len(words), 0]], np.int32)),
        shape=np.array(shape, np.int32),
        names=("",),
    )


def plain_values(sentence: Sentence, *, phrases: bool) -> dict[str, Any]:
    """What a sentence says, property by property."""

    def values(phrase: Phrase) -> dict[str, Any]:
        heads = sentence.head_index
        return {
            "start": phrase.start,
            "end": phrase.end,
            "text": shorten_text(phrase.text),
            "label": phrase.label,
            "probability": rounded(phrase.probability),
            "probabilities": {name: rounded(share) for name, share in phrase.probabilities.items()},
            "score": rounded(phrase.score),
            "children": [part.node for part in phrase.children],
        } | (
            {}
            if heads is None
            else {
                "head": shorten_text(phrase.head or ""),
                "head_index": int(heads[phrase.node]),
                "head_weight": rounded(phrase.head_weight),
            }
        )

    return {
        "start": sentence.start,
        "end": sentence.end,
        "text": sentence.text,
        "label": sentence.label,
        "probability": rounded(sentence.probability),
        "score": rounded(sentence.score),
        "tokens": [{"start": token.start, "end": token.end, "text": token.text} for token in sentence.tokens],
        "parse": str(sentence.parse),
        **({"phrases": [values(phrase) for phrase in sentence.phrases]} if phrases else {}),
    }


characters = st.characters(exclude_categories=["Zs", "Zl", "Zp"])
"""Half surrogate pairs, quotes and control characters among them."""


@needs_kernels
@given(
    words=st.lists(st.text(characters, min_size=1, max_size=5), min_size=1, max_size=12),
    gap=st.sampled_from([" ", "", "\n", "é", '"']),
    numbers=st.lists(st.floats(0, 1, width=32) | st.floats(0, 2**-13, width=32), min_size=1, max_size=40),
    labels=st.sampled_from([SCALE, NO_SCALE]),
    has_heads=st.booleans(),
    data=st.data(),
)
def test_the_kernel_writes_what_python_writes(
    words: list[str], gap: str, numbers: list[float], labels: LabelSet, has_heads: bool, data: st.DataObject
) -> None:
    def split(start: int, end: int) -> int:
        return data.draw(st.integers(start + 1, end - 1))

    # Scores stay between -1 and 1.
    row = np.array(numbers) / (len(labels) if labels.scores else 1)
    sentence = make_sentence(words, gap, split, row, labels, has_heads=has_heads)
    kernel, python = both_ways(sentence)
    assert kernel == python
    assert json.loads(write_sentence(sentence))["phrases"][0]["text"] == sentence.text


@needs_kernels
def test_every_number_is_written_by_the_kernel_as_by_python() -> None:
    """All millionths from 0 to 1; of two labels on a scale, the scores are all numbers from -1 to 1 in steps of two."""
    labels = LabelSet(("-", "+"), {"-": "negative", "+": "positive"})
    numbers = np.arange(1_000_001) / 1e6
    rows = np.stack([numbers, 1 - numbers], 1).astype(np.float32)
    for first in range(0, len(rows), 999):
        part = rows[first : first + 999]
        sentence = make_sentence(["a"] * 500, " ", lambda start, end: start + 1, part, labels, has_heads=True)
        kernel, python = both_ways(sentence)
        assert kernel == python, first


@needs_kernels
def test_the_kernel_writes_all_but_long_sentences() -> None:
    for num_words, is_written in ((MAX_SHOWN_CHARACTERS // 2, True), (MAX_SHOWN_CHARACTERS // 2 + 1, False)):
        row = np.array([0.25, 0.75])
        sentence = make_sentence(
            ["b"] * num_words, " ", lambda _, end: end - 1, row, NO_SCALE, has_heads=True
        )
        kernel, python = both_ways(sentence)
        assert kernel == (python if is_written else None)


@needs_kernels
@pytest.mark.parametrize("value", [np.nan, 2.0, -1.5])
def test_the_kernel_refuses_what_is_no_probability(value: float) -> None:
    sentence = make_sentence(
        ["a", "b"], " ", lambda start, _: start + 1, np.array([value]), NO_SCALE, has_heads=False
    )
    parse = '""'
    with np.errstate(invalid="ignore"):
        assert json_writing._write_natively(sentence, f'"{sentence.text}"', parse) is None


@needs_kernels
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("shape", [[0, 3, 0], [0, 1, 0], [1, 2, 0]]),
        ("shape", [[0, 2, 0], [-1, 1, 0], [1, 2, 0]]),
        ("shape", [[0, 2, 0], [1, 1, 0], [1, 2, 0]]),
        ("shape", [[0, 2, 0], [0, 1, 0], [0, 2, 0]]),
        ("head_index", [0, 0, 2]),
        ("head_index", [-1, 0, 1]),
    ],
)
def test_the_kernel_refuses_what_lies_outside(name: str, values: list[int]) -> None:
    sentence = make_sentence(
        ["a", "b"], " ", lambda start, _: start + 1, np.array([0.5]), NO_SCALE, has_heads=True
    )
    sentence.__dict__[name] = np.array(values)
    assert json_writing._write_natively(sentence, '"a b"', '""') is None


@needs_kernels
def test_the_kernel_refuses_tokens_outside_the_text() -> None:
    row = np.array([0.5])
    sentence = make_sentence(["a", "b"], " ", lambda start, _: start + 1, row, NO_SCALE, has_heads=True)
    for written in ('""', '"'):
        assert json_writing._write_natively(sentence, written, '""') is None


@needs_kernels
def test_arrays_of_different_lengths_are_refused() -> None:
    row = np.array([0.5])
    sentence = make_sentence(["a", "b"], " ", lambda start, _: start + 1, row, NO_SCALE, has_heads=True)
    sentence.__dict__["head_index"] = np.array([0])
    with pytest.raises(ValueError, match="head word"):
        write_sentence(sentence)


@needs_kernels
def test_the_kernel_never_writes_beyond_its_room() -> None:
    row = np.array([0.123456, 0.876544])
    sentence = make_sentence(["é", '"'], " ", lambda start, _: start + 1, row, NO_SCALE, has_heads=True)
    write = find_sentence_writer()
    assert write is not None
    asked: list[int] = []

    def write_into_less(*arguments: int) -> int:
        for room in range(0, arguments[-1], 16):
            memory = np.full(arguments[-1], 7, dtype=np.uint8)
            size = write(*arguments[:-2], memory.ctypes.data, room)
            assert size <= room
            assert (memory[room:] == 7).all()
            asked.append(size)
        return -1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_writing, "find_sentence_writer", lambda: write_into_less)
        both_ways(sentence)
    assert asked[0] == -1
    assert asked[-1] > 0


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["bicontree", "contree"])
@pytest.mark.parametrize("nodes", ["all", "root"])
def test_json_is_written_as_by_the_plain_way(name: str, nodes: str) -> None:
    def documents() -> list[Document]:
        return list(tiny_pipeline(name, parser=random_parser()).stream(TEXTS, nodes=nodes))  # type: ignore[arg-type]

    pipe = tiny_pipeline(name, parser=random_parser())
    for document in pipe.stream(TEXTS, nodes=nodes):  # type: ignore[arg-type]
        # While the batch is there, its numbers are rounded in one go.
        assert document.to_json() == to_json(plain_document(document, nodes))
    for document in documents():
        gc.collect()
        assert document.to_json() == to_json(plain_document(document, nodes)) == to_json(document.as_dict())
        assert json.loads(document.to_json(indent=1)) == document.as_dict()


def plain_document(document: Document, nodes: str) -> dict[str, Any]:
    sentences = [
        plain_values(each, phrases=nodes == "all" or len(each.tokens) == 1) for each in document.sentences
    ]
    return {**document.summary(), "sentences": sentences}


@needs_kernels
@pytest.mark.skipif(not TREEBANK.is_file(), reason="needs the treebank under $LEXITREE_DATA")
def test_sentences_of_the_treebank() -> None:
    texts = [" ".join(map(surface_form, tree.words)) for tree in islice(read_trees(TREEBANK), 300)]
    sentences: list[Sentence] = []
    for document in tiny_pipeline("bicontree", parser=random_parser()).stream(texts):
        for sentence in document.sentences:
            sentences.append(sentence)
            kernel, python = both_ways(sentence)
            assert kernel == python
    assert len(sentences) >= 300


def test_every_number_is_written_as_json_has_it() -> None:
    numbers = np.concatenate([np.arange(0, 1_000_001, 397), [99, 100, 999, 1_000, 999_999, 1_000_000]]) / 1e6
    rows = np.stack([numbers, 1 - numbers], 1).astype(np.float32)
    labels = LabelSet(("-", "+ 10%"), {"-": "negative", "+ 10%": "positive"})
    written = WrittenNumbers(rows, rows[:, 1], labels)
    scores = (rows.astype(float).round(6) * labels.scores).sum(1)
    for label, end, row, score in zip(written.labels, written.ends, rows, scores, strict=True):
        shares = dict(zip(labels.names, rounded(row), strict=True))
        best = labels.names[int(row.argmax())]
        told = {"label": best, "probability": shares[best], "probabilities": shares, "score": rounded(score)}
        assert "{" + label[2:] == to_json(told)[:-1]
        assert end == f', "head_weight": {to_json(rounded(row[1]))}}}'
