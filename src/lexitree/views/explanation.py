"""The explanation of a labelled text as plain values: what the page, its static copy and notebooks show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

from lexitree.arrays import rounded
from lexitree.labels import LabelSet
from lexitree.text.tokens import Token
from lexitree.trees.tree import NO_LABEL
from lexitree.views.colors import label_looks
from lexitree.views.evidence import find_evidence
from lexitree.views.quotes import SentenceText, shorten_quote
from lexitree.views.reason import document_reason, sentence_reason
from lexitree.views.shown_tree import ShownTree, head_of, node_words, shown_label, span_of
from lexitree.views.visible import shorten_text

VERSION = 1
"""Of the keys and their meaning; described in `docs/guide/explanation.md`."""


@runtime_checkable
class PlacedTree(Protocol):
    """A tree with its place in a text; `lexitree.results.Sentence` is one."""

    @property
    def document_text(self) -> str: ...
    @property
    def tokens(self) -> Sequence[Token]: ...


def explain_trees(
    trees: Sequence[ShownTree],
    *,
    text: str | None = None,
    probabilities: Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
    model: str | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The labels of sentences, the phrases that matter and the reason, as plain values for JSON.

    Args:
        trees: The sentences, of one label set.
        text: The text that all of them were taken from; by default, their own texts one after the other.
        probabilities: The probability of each label, by its name, for the text as a whole; by default a single
            sentence's own, and none for several.
        names: The headings of the sentences, such as `Row 7`.
        model: The name of the model.
        notes: What the reader should know of the text, such as what was cut.
    """
    labels = trees[0].label_set if trees else LabelSet(())
    if probabilities is None:
        rows: list[list[float]] = trees[0].node_probabilities[:1].tolist() if len(trees) == 1 else []
        probabilities = dict(zip(labels.names, rows[0], strict=True)) if rows else {}
    text, placed = _join(trees) if text is None else (text, list(map(_place, trees)))
    sentences = [
        SentenceText(number, each.text, each.spans, find_evidence(each.tree))
        for number, each in enumerate(placed)
    ]
    label = max(probabilities, key=probabilities.__getitem__, default=None)
    if label is None and len(trees) == 1:
        label = trees[0].labels[0] or None
    return {
        "version": VERSION,
        "model": model,
        "text": text,
        "labels": list(_label_records(labels)),
        "label": label,
        "probability": rounded(max(probabilities.values(), default=None)),
        "probabilities": rounded(list(probabilities.values())),
        "reason": document_reason(label, probabilities, sentences),
        "notes": list(notes),
        "sentences": [
            {
                **({"name": names[number]} if names is not None else {}),
                **_sentence_record(sentence, placed[number]),
            }
            for number, sentence in enumerate(sentences)
        ],
    }


class _Placed(NamedTuple):
    """A tree and where its words are."""

    tree: ShownTree
    text: str
    """The text that it was taken from."""
    spans: list[tuple[int, int]]
    """The first character of each token in that text, and the one after its last."""
    shift: int
    """How much further back they stand in the text of the explanation."""

    @property
    def end(self) -> int:
        """Where it ends in the text of the explanation."""
        return self.spans[-1][1] + self.shift


def _place(tree: ShownTree) -> _Placed:
    if isinstance(tree, PlacedTree):
        return _Placed(tree, tree.document_text, [(token.start, token.end) for token in tree.tokens], 0)
    ends = list(accumulate((len(word) + 1 for word in tree.words), initial=0))
    return _Placed(tree, " ".join(tree.words), [(start, end - 1) for start, end in pairwise(ends)], 0)


def _join(trees: Sequence[ShownTree]) -> tuple[str, list[_Placed]]:
    """Trees of any number of texts, what they cover of each text on lines of its own."""
    placed: list[_Placed] = []
    parts: list[str] = []
    for each in map(_place, trees):
        start, last = each.spans[0][0], placed[-1] if placed else None
        if last is not None and last.text == each.text and last.spans[-1][1] <= start:
            parts.append(each.text[last.spans[-1][1] : each.spans[-1][1]])
            placed.append(each._replace(shift=last.shift))
        else:
            parts.append(("\n" if placed else "") + each.text[start : each.spans[-1][1]])
            placed.append(each._replace(shift=(last.end + 1 if last else 0) - start))
    return "".join(parts), placed


def _label_records(labels: LabelSet) -> Iterator[dict[str, Any]]:
    looks, scores = label_looks(labels), labels.scores
    for place, name in enumerate(labels.names):
        yield {
            "name": name,
            "id": labels.ids[place],
            "mark": looks.mark(name),
            "polarity": None if scores is None else rounded(scores[place]),
            "light": looks.light[name]._asdict(),
            "dark": looks.dark[name]._asdict(),
        }


def _sentence_record(sentence: SentenceText, placed: _Placed) -> dict[str, Any]:
    tree, spans = placed.tree, [(start + placed.shift, end + placed.shift) for start, end in placed.spans]
    nodes = list(_node_records(sentence, spans))
    return {
        "start": spans[0][0],
        "end": spans[-1][1],
        "label": tree.labels[0] or None,
        "probability": nodes[0]["probability"],
        "score": _score(tree),
        "reason": sentence_reason(sentence),
        "tokens": [
            {"text": sentence.text[start:end], "start": start + placed.shift, "end": end + placed.shift}
            for start, end in placed.spans
        ],
        "nodes": nodes,
    }


def _score(tree: ShownTree) -> float | None:
    """Where the sentence stands on the scale of its labels, from -1 to 1: the mean by their probabilities."""
    if len(tree.node_probabilities):
        return rounded(tree.label_set.mean_score(tree.node_probabilities[0].tolist()))
    return dict(zip(tree.label_set.names, tree.label_set.scores or (), strict=False)).get(tree.labels[0])


def _node_records(sentence: SentenceText, spans: Sequence[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    evidence = sentence.evidence
    tree, source = evidence.tree, evidence.tree.source
    rows: list[list[float]] = rounded(tree.node_probabilities)
    words = [shorten_text(word) for word in tree.words]
    heads: list[int] | None = None if tree.head_index is None else tree.head_index.tolist()
    head_weights = None if tree.head_weight is None else rounded(tree.head_weight)
    own_words = node_words(tree) if source.has_inner_words else None
    penn = source.labels if isinstance(tree, PlacedTree) else None
    highlights = set(evidence.highlights)
    parents: list[int] = source.parents.tolist()
    weights: list[float] = rounded(evidence.weights)
    for node, (first, last) in enumerate(source.spans):
        row = rows[node] if node < len(rows) else []
        record: dict[str, Any] = {
            "first": first,
            "last": last,
            "start": spans[first][0],
            "end": spans[last - 1][1],
            "parent": parents[node],
            "children": list(source.children[node]),
            "label": tree.labels[node] or None,
            "probability": max(row, default=None),
            "probabilities": row,
            "head": None if heads is None else words[heads[node]],
            "head_index": None if heads is None else heads[node],
            "head_weight": None if head_weights is None else head_weights[node],
            "word": None if own_words is None else own_words[node],
            "turn": evidence.turns[node],
            "weight": weights[node],
            "highlight": node in highlights,
        }
        if penn is not None and penn[node] != NO_LABEL:
            record["penn"] = penn[node]
        record["says"] = _says(sentence, node, record["probability"])
        yield record


def _says(sentence: SentenceText, node: int, probability: float | None) -> str:
    """`“a bad film”: very negative 77%, head “bad”`, for tooltips and screen readers."""
    evidence = sentence.evidence
    tree = evidence.tree
    share = "" if probability is None else f" {probability:.0%}"
    parts = [f"{shown_label(tree.labels[node])}{share}"]
    head = head_of(tree, node)
    if head is not None:
        parts.append(f"head “{shorten_quote(head)}”")
    if evidence.turns[node]:
        parts.append("the label turns here")
    return f"“{sentence.text_of(*span_of(tree, node))}”: {', '.join(parts)}"
