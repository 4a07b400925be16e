"""What the service tells about a labelled or parsed text: what was asked for, with the keys of `Document.as_dict`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from lexitree.arrays import FloatArray, rounded
from lexitree.results.document import Document
from lexitree.results.parsed_text import ParsedText
from lexitree.results.sentence import PlacedSentence, Sentence
from lexitree.trees.brackets import written_tree

_PHRASE_KEYS = {
    "offsets": ("start", "end"),
    "probabilities": ("probabilities",),
    "heads": ("head", "head_index", "head_weight"),
}
"""What a phrase has besides its text, label, probability and parts, by what was asked for."""


def document_values(document: Document, include: Collection[str]) -> dict[str, Any]:
    """The document as plain values for JSON.

    Args:
        document: The labelled text.
        include: What to tell besides the labels of the text and its sentences; see `Included`.
    """
    return {
        "label": document.label,
        "probability": rounded(document.probability),
        "score": rounded(document.score),
        **({"probabilities": _rounded_values(document.probabilities)} if "probabilities" in include else {}),
        "sentences": [_sentence_values(sentence, include) for sentence in document.sentences],
        **({"notes": list(document.notes)} if document.notes else {}),
    }


def _sentence_values(sentence: Sentence, include: Collection[str]) -> dict[str, Any]:
    # From the arrays: the labels of all phrases are made only if they are asked for.
    row: FloatArray = sentence.node_probabilities[0]
    likeliest = int(row.argmax())
    values: dict[str, Any] = {
        "text": sentence.text,
        "label": sentence.label_set.names[likeliest],
        "probability": rounded(row[likeliest]),
        "score": rounded(sentence.label_set.mean_score(row.tolist())),
    }
    if "probabilities" in include:
        values["probabilities"] = _rounded_values(sentence.probabilities)
    if "offsets" in include:
        values |= _offsets(sentence)
    if sentence.head_index is not None and "heads" in include:
        whole = sentence.whole
        values |= {"head": whole.head, "head_weight": rounded(whole.head_weight)}
    if "trees" in include:
        values |= {"parse": written_tree(sentence.parse), "tree": sentence.brackets()}
    if "phrases" in include:
        values["phrases"] = _phrases(sentence, include)
    elif "head_weights" in include and sentence.head_index is not None:
        values["head_weights"] = rounded(sentence.head_weights())
    return values


def _offsets(sentence: PlacedSentence) -> dict[str, Any]:
    tokens = [{"start": token.start, "end": token.end, "text": token.text} for token in sentence.tokens]
    return {"start": sentence.start, "end": sentence.end, "tokens": tokens}


def _phrases(sentence: Sentence, include: Collection[str]) -> list[dict[str, Any]]:
    keys = ["text", "label", "probability", "score", "children"]
    for asked, more in _PHRASE_KEYS.items():
        if asked in include and (asked != "heads" or sentence.head_index is not None):
            keys += more
    phrases = [{key: phrase[key] for key in keys} for phrase in sentence.as_dict()["phrases"]]
    if "head_weights" in include and sentence.head_index is not None:
        for node, phrase in enumerate(phrases):
            phrase["head_weights"] = rounded(sentence.head_weights(node))
    return phrases


def _rounded_values(probabilities: dict[str, float]) -> dict[str, float]:
    return dict(zip(probabilities, rounded(list(probabilities.values())), strict=True))


def parse_values(parsed: ParsedText) -> dict[str, Any]:
    """The parsed text as plain values for JSON: each sentence with its tokens and its tree in brackets."""
    return {
        "sentences": [
            {"text": sentence.text, **_offsets(sentence), "parse": sentence.brackets()[0]}
            for sentence in parsed.sentences
        ],
        **({"notes": list(parsed.notes)} if parsed.notes else {}),
    }
