"""Systems that judge how positive a text is: models of this package, and the word lists they are compared with."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

import lexitree
from lexitree import Document, TextPipeline
from lexitree.arrays import BoolArray, DoubleArray, IndexArray
from lexitree.corpora.text_tables import LabelledText
from lexitree.labels import LabelSet
from lexitree.learning.provenance import checksum, source_digest
from lexitree.results.document import mean_probabilities
from lexitree.saving.shipped import is_shipped, shipped_folder
from peer_environments import AbsentPeerError, Peer, default_cache, prepare, worker_environment

Polarity = Literal["negative", "neutral", "positive"]
SIDES: tuple[Polarity, ...] = get_args(Polarity)
NEGATIVE, NEUTRAL, POSITIVE = range(3)

Span = tuple[int, int]
"""The first character, and the one after the last."""
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Judged:
    """What a system says of some texts: one row for each."""

    labels: IndexArray
    """Of three: `SIDES`."""
    scores: DoubleArray
    """From -1 to 1."""
    leanings: DoubleArray
    """Which side has more: above 0 the positive one, below 0 the negative one, 0 neither."""
    probabilities: DoubleArray | None = None
    """Of three, where the system has any."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def names(self) -> list[Polarity]:
        """The labels by their names."""
        return [SIDES[label] for label in self.labels]

    def rows(self, numbers: IndexArray) -> Judged:
        """Those of some texts."""
        shares = None if self.probabilities is None else self.probabilities[numbers]
        return Judged(self.labels[numbers], self.scores[numbers], self.leanings[numbers], shares)

    def is_right_side(self, gold: IndexArray) -> BoolArray:
        """Whether the side is that of gold labels none of which is neutral.

        Texts with no side at all (no word of the list) are taken to be all negative or all positive, whichever is
        better: a threshold of the word list, chosen in its favour.
        """
        guesses = [self.leanings > 0, self.leanings >= 0]
        return max(((guess == (gold == POSITIVE)) for guess in guesses), key=np.sum)


class PolaritySystem(Protocol):
    """Anything that can stand in a column of the tables."""

    name: str

    def judge(self, texts: Sequence[str], *, one_sentence: bool) -> Judged: ...

    def judge_spans(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Judged:
        """Spans of the texts, in a row."""
        ...


@dataclass(frozen=True)
class SentenceOutputs:
    """The sentences of some texts: label probabilities, numbers of words, and how many sentences each text has."""

    probabilities: DoubleArray
    lengths: IndexArray
    counts: IndexArray

    def by_text(self) -> Iterable[tuple[DoubleArray, IndexArray]]:
        ends = np.cumsum(self.counts)
        for start, end in zip(ends - self.counts, ends, strict=True):
            yield self.probabilities[start:end], self.lengths[start:end]


class ModelSystem:
    """A model of this package, shipped or in a folder, on the parser that comes with the package.

    Args:
        model: The name or the folder of the model, or `NAME=FOLDER` to call it otherwise in the tables.
        cache: A folder in which the model's outputs are kept, to compute figures again without running it.
    """

    def __init__(self, model: str, cache: Path | None = None) -> None:
        name, _, folder = model.rpartition("=")
        self.name = name or Path(folder).name
        self.model = folder
        self.cache = cache

    @cached_property
    def pipe(self) -> TextPipeline:
        return lexitree.load(self.model, parser="builtin")

    @cached_property
    def digest(self) -> str:
        """Of everything that the outputs depend on: the weights of model and parser, and the code."""
        folders = [shipped_folder(self.model) if is_shipped(self.model) else Path(self.model)]
        folders.append(shipped_folder("parser"))
        files = [file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file()]
        return " ".join([*map(checksum, files), source_digest()])

    @property
    def label_set(self) -> LabelSet:
        return self.pipe.predictor.model.config.label_set

    @cached_property
    def label_scores(self) -> DoubleArray:
        assert self.label_set.scores is not None, "the labels of this model have no order"
        return np.array(self.label_set.scores)

    def judge(self, texts: Sequence[str], *, one_sentence: bool) -> Judged:
        rows = [
            mean_probabilities(list(rows), lengths.tolist(), self.label_set) if len(rows) else self._nothing
            for rows, lengths in self.sentences(texts, one_sentence=one_sentence).by_text()
        ]
        return self.judged(np.array(rows))

    def judge_spans(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Judged:
        """By the smallest phrase that covers each span."""
        return self.judged(self._span_rows("smallest", covering_row, texts, spans))

    def judge_about(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Judged:
        """By `Document.about`."""
        return self.judged(self._span_rows("about", about_row, texts, spans))

    def _span_rows(
        self,
        name: str,
        rule: Callable[[Document, Span], DoubleArray],
        texts: Sequence[str],
        spans: Sequence[Sequence[Span]],
    ) -> DoubleArray:
        def compute() -> Arrays:
            documents = self.pipe.stream(texts, one_sentence=True)
            pairs = zip(documents, spans, strict=True)
            return {
                "probabilities": np.array([rule(document, span) for document, own in pairs for span in own])
            }

        return self._remember([name, *texts, repr(spans)], compute)["probabilities"]

    def sentences(self, texts: Sequence[str], *, one_sentence: bool) -> SentenceOutputs:
        """The outputs for every sentence of the texts."""

        def compute() -> Arrays:
            rows: list[DoubleArray] = []
            lengths: list[int] = []
            counts: list[int] = []
            for document in self.pipe.stream(texts, one_sentence=one_sentence):
                rows += [sentence.node_probabilities[0].astype(float) for sentence in document.sentences]
                lengths += [len(sentence.tokens) for sentence in document.sentences]
                counts.append(len(document.sentences))
            return {"probabilities": np.array(rows), "lengths": np.array(lengths), "counts": np.array(counts)}

        found = self._remember(["sentences", str(one_sentence), *texts], compute)
        return SentenceOutputs(found["probabilities"], found["lengths"], found["counts"])

    def judged(self, probabilities: DoubleArray) -> Judged:
        """What rows of label probabilities amount to."""
        three = by_side(probabilities, self.label_scores)
        return Judged(
            labels=three.argmax(axis=1),
            scores=probabilities @ self.label_scores,
            leanings=three[:, POSITIVE] - three[:, NEGATIVE],
            probabilities=three,
        )

    @property
    def _nothing(self) -> DoubleArray:
        """The probabilities of a text without words: neutral, or nothing known."""
        neutral = (self.label_scores == 0).astype(float)
        return neutral if neutral.any() else np.full(len(self.label_scores), 1 / len(self.label_scores))

    def _remember(self, key: Iterable[str], compute: Callable[[], Arrays]) -> Arrays:
        if self.cache is None:
            return compute()
        digest = hashlib.sha256("\0".join([self.digest, *key]).encode()).hexdigest()
        path = self.cache / f"{digest[:24]}.npz"
        if not path.exists():
            self.cache.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(path, allow_pickle=False, **compute())
        with np.load(path) as found:
            return dict(found)


def by_side(probabilities: DoubleArray, label_scores: DoubleArray) -> DoubleArray:
    """The mass of negative, neutral and positive labels in each row."""
    sides = [label_scores < 0, label_scores == 0, label_scores > 0]
    return np.stack([probabilities[:, side].sum(axis=1) for side in sides], axis=1)


def covering_row(document: Document, span: Span) -> DoubleArray:
    """The label probabilities of the smallest phrase that covers a span of a text of one sentence."""
    sentence = document.sentences[0]
    tokens = sentence.tokens
    touched = [number for number, token in enumerate(tokens) if token.end > span[0] and token.start < span[1]]
    tree = sentence.source
    covers = (tree.starts <= touched[0]) & (tree.ends > touched[-1])
    # Pre-order: of the phrases that cover the span, each is inside of the one before.
    return sentence.node_probabilities[np.flatnonzero(covers)[-1]].astype(float)


def about_row(document: Document, span: Span) -> DoubleArray:
    return np.array(list(document.about(*span).probabilities.values()))


@dataclass
class WordList:
    """VADER, TextBlob or AFINN: a score for every text, and a band around 0 that counts as neutral."""

    name: str
    band: float
    scores: Callable[[Sequence[str]], Mapping[str, list[float]]]

    def judge(self, texts: Sequence[str], *, one_sentence: bool) -> Judged:
        del one_sentence  # word lists know no sentences
        scores = np.array(self.scores(texts)[self.name])
        labels = np.where(scores > self.band, POSITIVE, np.where(scores < -self.band, NEGATIVE, NEUTRAL))
        return Judged(labels, scores, scores)

    def judge_spans(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> Judged:
        """By the words of each span."""
        words = [text[start:end] for text, wanted in zip(texts, spans, strict=True) for start, end in wanted]
        return self.judge(words, one_sentence=True)


WORD_LISTS = Peer(
    name="word-lists",
    requirements=("vaderSentiment==3.3.2", "textblob==0.20.1", "afinn==0.1"),
    imports="vaderSentiment.vaderSentiment, textblob, afinn",
)
BANDS = {"VADER": 0.05, "TextBlob": 0.0, "AFINN": 0.0}
"""VADER's is its authors' advice; the others have none."""
SCORE_TEXTS = """
import json, sys
from afinn import Afinn
from textblob import TextBlob
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

texts = json.load(sys.stdin)
vader, afinn = SentimentIntensityAnalyzer(), Afinn(emoticons=True)
totals = [afinn.score(text) for text in texts]
scores = {
    "VADER": [vader.polarity_scores(text)["compound"] for text in texts],
    "TextBlob": [TextBlob(text).sentiment.polarity for text in texts],
    "AFINN": [total / (total**2 + 15) ** 0.5 for total in totals],
}
json.dump(scores, sys.stdout)
"""
"""Scores from -1 to 1 of a JSON list of texts; AFINN's sums over words are normalized in the way of VADER."""


def word_lists(cache: Path | None = None) -> list[WordList]:
    """VADER, TextBlob and AFINN in an environment of their own; none, with a note, where they cannot be installed."""
    try:
        python = prepare(WORD_LISTS, cache or default_cache())
    except AbsentPeerError as reason:
        print(f"VADER, TextBlob and AFINN are not here: {reason}")
        return []
    known: dict[str, dict[str, list[float]]] = {}

    def scores(texts: Sequence[str]) -> Mapping[str, list[float]]:
        question = json.dumps(list(texts))
        if question not in known:
            known[question] = _ask_word_lists(python, question)
        return known[question]

    return [WordList(name, band, scores) for name, band in BANDS.items()]


def _ask_word_lists(python: Path, question: str) -> dict[str, list[float]]:
    command = [str(python), "-c", SCORE_TEXTS]
    run = subprocess.run(
        command, input=question, capture_output=True, text=True, check=True, env=worker_environment(threads=1)
    )
    return json.loads(run.stdout)


def gold_sides(rows: Iterable[LabelledText]) -> IndexArray:
    """The labels of a table of texts as numbers: `SIDES`."""
    return np.array([SIDES.index(row.label) for row in rows])
