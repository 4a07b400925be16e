"""The built-in parser: parses sentences of any length in batches, with one tree or the k best for each."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from lexitree.errors import ConfigError, TreeError
from lexitree.limits import Check, Limits, no_check
from lexitree.parsers.flat_parsing import (
    JOINED_LABEL,
    MAX_JOINED,
    batches_by_spans,
    max_spans,
    parse_labels,
    start_parses,
)
from lexitree.parsers.numbered_sentences import NumberedSentences, PaddedSentences
from lexitree.parsers.pointers import LabelledSpan
from lexitree.parsers.protocol import Candidate
from lexitree.parsers.span_network import SpanNetwork, require_finite
from lexitree.parsers.text_parser import TextParser
from lexitree.pending import Pending
from lexitree.results.parsed_text import ParsedText
from lexitree.text.bounded_text import cut_sentence
from lexitree.trees.flat_parses import FlatParses, SentenceParse
from lexitree.trees.tree import Tree


def join_trees(trees: Sequence[Tree]) -> Tree:
    """Join the trees of all pieces under one root; a single tree is returned unchanged.

    A root of very many pieces would be a very deep tree once it is binarized, so these are first joined in groups.
    """
    while len(trees) > MAX_JOINED:
        trees = [_join(trees[first : first + MAX_JOINED]) for first in range(0, len(trees), MAX_JOINED)]
    return _join(trees)


def _join(trees: Sequence[Tree]) -> Tree:
    if len(trees) == 1:
        return trees[0]
    arity = np.concatenate([np.array([len(trees)]), *(tree.arity for tree in trees)])
    labels = [JOINED_LABEL, *(label for tree in trees for label in tree.labels)]
    return Tree(arity, labels, [word for tree in trees for word in tree.words])


def join_candidates(pieces: Sequence[Sequence[Candidate]], k: int) -> list[Candidate]:
    """Return the k best ways to choose one tree per piece; pieces are independent, so probabilities multiply."""
    if len(pieces) == 1:
        return list(pieces[0])
    ways: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for candidates in pieces:
        longer = (
            (chance + candidate.log_probability, (*ranks, rank))
            for chance, ranks in ways
            for rank, candidate in enumerate(candidates)
        )
        ways = heapq.nlargest(k, longer, key=lambda way: way[0])
    return [
        Candidate(
            join_trees([candidates[rank].tree for candidates, rank in zip(pieces, ranks, strict=True)]),
            chance,
        )
        for chance, ranks in ways
    ]


_SENTENCES_AT_ONCE = 256
"""Sentences read ahead, so that they can be sorted by length."""

_MAX_K = 1000

Words = Sequence[str]
Parse = TypeVar("Parse")


class NeuralParser:
    """A trained parser. It takes text, or sentences as words, and finds Penn trees without a ROOT on top.

    Args:
        model: The network, in NumPy or torch.
        style: The treebank whose conventions the trees follow; by default the one chosen in training.
    """

    kind: ClassVar[str] = "parser"
    """The kind of model folder it is saved as."""

    def __init__(self, model: SpanNetwork, *, style: str | None = None) -> None:
        self.model = model.eval()
        self.training_record: dict[str, Any] = {}
        """Data, scores and settings of its training, if it was loaded from a folder."""
        self.style = model.config.default_style if style is None else style
        """The treebank whose conventions the trees follow; "" is the generic style."""
        model.config.style_index(self.style)
        self.parse_labels = parse_labels(model.config)
        """The labels of its trees, by their numbers."""

    def __repr__(self) -> str:
        labels, device = len(self.model.config.labels), self.model.device_type
        return f"NeuralParser({labels} labels, style {self.style!r}, {device})"

    def __call__(self, text: str, *, k: int | None = None, limits: Limits | None = None) -> ParsedText:
        """Parse a text: split it into sentences and tokens, and find the tree of each sentence.

            for sentence in parser("It works. Try it!").sentences:
                print(sentence.text, sentence.tree)

        Args:
            text: The text. For many texts, `TextParser(parser).stream(texts)` is faster.
            k: How many trees to find for each sentence, with their log probabilities; by default the best, without.
            limits: What the text may have; by default `Limits()`.

        Raises:
            TextError: The text is not a string, holds half of a surrogate pair, or is beyond a limit.
        """
        return TextParser(self, limits=limits)(text, k=k)

    def parse(self, words: Words) -> Tree:
        """Return the most probable tree of a sentence."""
        return next(self.parse_all([words]))

    def parse_all(
        self, sentences: Iterable[Words], *, read_ahead: int = _SENTENCES_AT_ONCE
    ) -> Iterator[Tree]:
        """Yield the most probable tree of each sentence, in order.

        Args:
            sentences: The words of each sentence.
            read_ahead: Number of sentences held in memory and sorted into batches at a time.

        Raises:
            TreeError: A sentence is empty, or a string instead of a list of words.
        """
        waiting = iter(sentences)
        while chunk := list(islice(waiting, read_ahead)):
            parses = self.start_parses(chunk).result()
            for number, words in enumerate(chunk):
                yield parses.sentence(number).tree(words)

    def start_parses(self, sentences: Sequence[Words], check: Check = no_check) -> Pending[FlatParses]:
        """Begin to parse sentences into flat arrays.

        On a GPU, this does not wait for the results: `result` of what it returns does.

        Args:
            sentences: The words of each sentence.
            check: Called before each batch of the network; may raise an error to end the work.
        """
        style = self.model.config.style_index(self.style)
        return start_parses(self.model, self.parse_labels, style, list(map(_checked, sentences)), check)

    def parse_k_best(self, words: Words, k: int) -> list[Candidate]:
        """Return up to k distinct trees of a sentence, most probable first."""
        return next(self.parse_all_k_best([words], k))

    def parse_all_k_best(
        self, sentences: Iterable[Words], k: int, *, read_ahead: int = _SENTENCES_AT_ONCE
    ) -> Iterator[list[Candidate]]:
        """Yield up to k distinct trees for each sentence, most probable first.

        The trees differ in their phrases; all have the most probable tags. The probability is that of the phrases;
        for a sentence that was split into pieces it is the product over the pieces.

        Args:
            sentences: The words of each sentence.
            k: How many trees to find.
            read_ahead: Number of sentences held in memory and sorted into batches at a time.

        Raises:
            ConfigError: k is out of range.
            TreeError: A sentence is empty, or a string instead of a list of words.
        """
        if not 1 <= k <= _MAX_K:
            raise ConfigError(f"k must be from 1 to {_MAX_K:,}, not {k}")

        def parse(batch: Sequence[Words]) -> list[list[Candidate]]:
            return self._k_best_of_batch(batch, k)

        for candidates in self._stream(sentences, parse, read_ahead):
            yield join_candidates(candidates, k)

    def _stream(
        self,
        sentences: Iterable[Words],
        parse: Callable[[Sequence[Words]], list[Parse]],
        read_ahead: int,
    ) -> Iterator[list[Parse]]:
        """Yield, for each sentence, the results of `parse` for its pieces."""
        waiting = iter(sentences)
        while chunk := list(islice(waiting, read_ahead)):
            pieces = [cut_sentence(_checked(words), self.model.config.max_words) for words in chunk]
            parses = iter(self._parse_pieces([piece for group in pieces for piece in group], parse))
            for group in pieces:
                yield [next(parses) for _ in group]

    def _parse_pieces(
        self, pieces: Sequence[Words], parse: Callable[[Sequence[Words]], list[Parse]]
    ) -> list[Parse]:
        """Parse all pieces, batched by length."""
        found: dict[int, Parse] = {}
        lengths = np.array([len(piece) for piece in pieces])
        for batch in batches_by_spans(lengths, max_spans(self.model)):
            numbers: list[int] = batch.tolist()
            found.update(zip(numbers, parse([pieces[number] for number in numbers]), strict=True))
        return [found[number] for number in range(len(pieces))]

    def _pad(self, sentences: Sequence[Words]) -> PaddedSentences:
        numbered = NumberedSentences.of(self.model.features, sentences)
        style = self.model.config.style_index(self.style)
        return numbered.pad(np.arange(len(sentences)), np.full(len(sentences), style))

    def _k_best_of_batch(self, sentences: Sequence[Words], k: int) -> list[list[Candidate]]:
        found = self.model.rank_trees(self._pad(sentences), k)
        require_finite(found.is_finite)
        return [
            [
                Candidate(
                    self._tree(words, found.tags[: len(words), number], tree.spans), tree.log_probability
                )
                for tree in found.trees[number]
            ]
            for number, words in enumerate(sentences)
        ]

    def _tree(self, words: Words, tags: npt.NDArray[np.integer], spans: list[LabelledSpan]) -> Tree:
        # Numbers of labels are counted from 1 in a chart.
        phrases = np.array(spans, dtype=np.int32).reshape(-1, 3) - (0, 0, 1)
        return SentenceParse(self.parse_labels, tags.astype(np.int32), phrases).tree(words)


def _checked(words: Words) -> Words:
    if isinstance(words, str) or not words:
        problem = "a string" if words else "an empty one"
        raise TreeError(
            f"a sentence must be a list of words, not {problem}",
            remedy='Split it first: ["It", "works", "."].',
        )
    return words
