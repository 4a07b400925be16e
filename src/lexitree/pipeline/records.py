"""Documents in, plain values for JSON and for tables out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree

if TYPE_CHECKING:
    from lexitree.pipeline.document import Document
    from lexitree.pipeline.sentence import Phrase, Sentence

DIGITS = 6
"""Probabilities are rounded to so many decimals: a model's last bits mean nothing, and files stay small."""

_NOT_IN_BRACKETS = re.compile(r"\s+")


def document_record(document: Document, *, head_weights: bool = False) -> dict[str, Any]:
    """A document as an object for JSON."""
    return {
        "text": document.text,
        "label": document.label,
        "probability": _rounded(document.probability),
        "probabilities": _rounded_all(document.probabilities),
        "sentences": [
            sentence_record(sentence, head_weights=head_weights) for sentence in document.sentences
        ],
    }


def sentence_record(sentence: Sentence, *, head_weights: bool = False) -> dict[str, Any]:
    """A sentence with its tokens, its parse and its phrases in pre-order."""
    phrases = list(map(phrase_record, plain_phrases(sentence), sentence.prediction.source.children))
    if head_weights:
        for record, phrase in zip(phrases, sentence.phrases, strict=True):
            _add_head_weights(record, phrase)
    return {
        "start": sentence.start,
        "end": sentence.end,
        "text": sentence.text,
        "label": sentence.label,
        "probability": _rounded(sentence.probability),
        "tokens": [{"start": token.start, "end": token.end, "text": token.text} for token in sentence.tokens],
        "parse": written_tree(sentence.tree),
        "phrases": phrases,
    }


class PlainPhrase(NamedTuple):
    """What is written of a phrase, in plain numbers and texts."""

    start: int
    end: int
    text: str
    label: str
    probability: float
    probabilities: dict[str, float]
    head: int | None
    head_word: str | None
    head_weight: float | None


def plain_phrases(sentence: Sentence) -> Iterator[PlainPhrase]:
    """The phrases in pre-order, taken from the arrays as a whole: one by one, writing took as long as labelling."""
    prediction, tokens, names = sentence.prediction, sentence.tokens, sentence.label_names
    tree = prediction.source
    starts = [tokens[first].start for first, _ in tree.spans]
    ends = [tokens[last - 1].end for _, last in tree.spans]
    likeliest: list[int] = prediction.probabilities.argmax(1).tolist()
    shares = _rounded_rows(prediction.probabilities)
    heads, weights = prediction.head_index, prediction.head_weight
    nothing: list[Any] = [None] * tree.num_nodes
    for start, end, label, row, head, weight in zip(
        starts,
        ends,
        likeliest,
        shares,
        nothing if heads is None else heads.tolist(),
        nothing if weights is None else _rounded_rows(weights),
        strict=True,
    ):
        yield PlainPhrase(
            start,
            end,
            sentence.document_text[start:end],
            names[label],
            row[label],
            dict(zip(names, row, strict=True)),
            head,
            None if head is None else tokens[head].text,
            weight,
        )


def _rounded_rows(values: npt.NDArray[np.float32]) -> list[Any]:
    # In single precision, what is rounded would still be written with all its digits.
    return values.astype(np.float64).round(DIGITS).tolist()


def phrase_record(phrase: PlainPhrase, children: Sequence[int]) -> dict[str, Any]:
    """A phrase; its parts are numbers of phrases, its head is the number of a token, both of the same sentence."""
    record: dict[str, Any] = {
        "start": phrase.start,
        "end": phrase.end,
        "text": phrase.text,
        "label": phrase.label,
        "probability": phrase.probability,
        "probabilities": phrase.probabilities,
        "children": list(children),
    }
    if phrase.head is not None:
        record["head"] = phrase.head
        record["head_word"] = phrase.head_word
        record["head_weight"] = phrase.head_weight
    return record


def _add_head_weights(record: dict[str, Any], phrase: Phrase) -> None:
    weights = phrase.head_weights
    if weights is not None:
        record["head_weights"] = [round(weight, DIGITS) for weight in weights]


def phrase_rows(document: Document) -> list[dict[str, Any]]:
    """One flat row a phrase; all rows have the same keys."""
    return [
        {
            "sentence": number,
            "phrase": node,
            "depth": int(sentence.prediction.source.depths[node]),
            "start": phrase.start,
            "end": phrase.end,
            "text": phrase.text,
            "label": phrase.label,
            "probability": phrase.probability,
            "head_word": phrase.head_word,
            "head_weight": phrase.head_weight,
        }
        for number, sentence in enumerate(document.sentences)
        for node, phrase in enumerate(plain_phrases(sentence))
    ]


def short_phrases(document: Document) -> list[dict[str, Any]]:
    """The phrases of all sentences with what fits into one cell of a table."""
    kept = ("start", "end", "text", "label", "probability", "head_word")
    return [{key: row[key] for key in kept} for row in phrase_rows(document)]


def written_tree(tree: Tree) -> str:
    """The tree in brackets; white space inside a word, which brackets cannot hold, becomes `_`."""
    if any(_NOT_IN_BRACKETS.search(word) for word in tree.words):
        tree = Tree(tree.arity, tree.labels, [_NOT_IN_BRACKETS.sub("_", word) for word in tree.words])
    return tree_to_brackets(tree)


def to_json(record: object, *, indent: int | None = None) -> str:
    """JSON in which text stays readable; line separators of JavaScript are escaped, so one line stays one line."""
    written = json.dumps(record, ensure_ascii=False, indent=indent, allow_nan=False)
    if not _has_whole_characters(written):
        return json.dumps(record, indent=indent, allow_nan=False)
    return written.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def _has_whole_characters(text: str) -> bool:
    """Half a surrogate pair, which JSON can hold and files cannot, has to stay escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _rounded_all(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in values.items()}
