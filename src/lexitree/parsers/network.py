"""The built-in parser's settings and its network, which scores labels for all spans and tags for all words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Self, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lexitree.arrays import IndexArray
from lexitree.errors import ConfigError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.ops.tree_batch import send
from lexitree.parsers.chart import span_borders
from lexitree.parsers.native_network import forget_weights, run_layer, runs_natively, score_spans
from lexitree.parsers.word_features import WordFeatures, WordNumbers
from lexitree.settings import MAX_SIZE, Setting, Settings

GENERIC_STYLE = ""
"""The style of no treebank in particular, which every parser has."""

_MAX_LAYERS = 64
_MAX_WORDS = 1_000
"""The memory for the scores of all spans grows with the square of the words."""


@dataclass(frozen=True, kw_only=True)
class ParserConfig(Settings):
    """The shape of a parser; the defaults are a small one."""

    labels: Annotated[tuple[str, ...], Setting("Labels of phrases, unary chains joined (S+VP).", unique=True)]
    tags: Annotated[tuple[str, ...], Setting("Labels of words.", unique=True)]
    styles: Annotated[
        tuple[str, ...],
        Setting("Treebanks, or groups of them, whose conventions it can follow.", unique=True),
    ] = ()
    default_style: Annotated[str, Setting("The style it follows unless another is asked for.")] = (
        GENERIC_STYLE
    )
    vector_size: Annotated[
        int, Setting("Size of the fixed word vectors; 0 for none.", at_least=0, at_most=MAX_SIZE)
    ] = 0
    word_size: Annotated[
        int, Setting("Size of the trained vectors of frequent words.", at_least=1, at_most=MAX_SIZE)
    ] = 64
    affix_size: Annotated[
        int,
        Setting(
            "Size of the trained vectors of prefixes, suffixes and word shapes.",
            at_least=1,
            at_most=MAX_SIZE,
        ),
    ] = 64
    affix_rows: Annotated[
        int, Setting("Number of such vectors that affixes are hashed to.", at_least=1, at_most=MAX_SIZE)
    ] = 1 << 13
    style_size: Annotated[int, Setting("Size of a style's vector.", at_least=1, at_most=MAX_SIZE)] = 16
    hidden: Annotated[
        int, Setting("Size of the LSTM's states, in each direction.", at_least=1, at_most=MAX_SIZE)
    ] = 200
    layers: Annotated[int, Setting("Number of LSTM layers.", at_least=1, at_most=_MAX_LAYERS)] = 2
    span_size: Annotated[
        int,
        Setting("Size of the layer between a span and its label scores.", at_least=1, at_most=MAX_SIZE),
    ] = 200
    dropout: Annotated[
        float,
        Setting("Dropout on each layer, the same for all words of a sentence.", at_least=0, below=1),
    ] = 0.33
    max_words: Annotated[
        int, Setting("Longer sentences are split into pieces.", at_least=2, at_most=_MAX_WORDS)
    ] = 250

    def _check_together(self) -> None:
        if not self.labels or not self.tags:
            raise ConfigError("a parser needs labels for phrases and tags for words")
        self.style_index(self.default_style)

    def style_index(self, style: str) -> int:
        """The index of a style; the generic one is 0."""
        if style == GENERIC_STYLE:
            return 0
        if style not in self.styles:
            raise ConfigError(
                f"the parser knows no style {style!r}",
                remedy=f"It knows: {', '.join(self.styles) or 'none but the generic one'}.",
            )
        return self.styles.index(style) + 1

    @cached_property
    def label_numbers(self) -> dict[str, int]:
        """The number of each phrase label, from 1; 0 means no phrase."""
        return {label: number for number, label in enumerate(self.labels, 1)}

    @cached_property
    def tag_numbers(self) -> dict[str, int]:
        """The number of each tag, from 0."""
        return {tag: number for number, tag in enumerate(self.tags)}


@dataclass(frozen=True, slots=True)
class SentenceBatch:
    """Sentences padded to the longest; places are the words plus the start and the end of the sentence."""

    vectors: Int[Tensor, "places trees"]
    words: Int[Tensor, "places trees"]
    affixes: Int[Tensor, "places trees affixes"]
    styles: Int[Tensor, " trees"]
    lengths: Int[Tensor, " trees"]
    """Number of words of each sentence."""
    places: Int[Tensor, " trees"]
    """Number of places of each sentence, on the CPU, where packing sequences needs them."""

    @property
    def num_words(self) -> int:
        """Number of words of the longest sentence."""
        return len(self.words) - 2

    @property
    def is_sorted(self) -> bool:
        """Whether the longest sentences come first; otherwise every layer has to sort them."""
        return bool((self.places[:-1] >= self.places[1:]).all())

    @classmethod
    def of(
        cls, sentences: Sequence[WordNumbers], styles: Sequence[int], device: torch.device | str = "cpu"
    ) -> SentenceBatch:
        """Pad sentences that are numbered one by one."""
        rows = np.concatenate(
            [np.column_stack([sentence.vectors, sentence.words, sentence.affixes]) for sentence in sentences]
        )
        places = np.array([len(sentence.words) for sentence in sentences])
        return cls.pad(rows, np.cumsum(places) - places, places, np.array(styles), device)

    @classmethod
    def pad(
        cls,
        rows: IndexArray,
        first: IndexArray,
        places: IndexArray,
        styles: IndexArray,
        device: torch.device | str = "cpu",
    ) -> SentenceBatch:
        """Pad sentences of a table of many, and send them to a device in one copy.

        Args:
            rows: The features of all places; see `WordFeatures.rows`.
            first: The first place of each sentence.
            places: Its number of places.
            styles: Its style.
            device: Where the tensors are to be.
        """
        longest, num_trees = int(places.max()), len(places)
        index = np.arange(longest)[:, None] + first
        padded = rows[np.where(np.arange(longest)[:, None] < places, index, first)]
        num_padded = longest * num_trees
        columns = padded.reshape(num_padded, -1)
        parts = [columns[:, 0], columns[:, 1], columns[:, 2:].reshape(-1), styles, places]
        buffer = send(torch.from_numpy(np.concatenate(parts)), device)
        vectors, words, affixes, style, lengths = torch.split(buffer, [len(part) for part in parts])
        return cls(
            vectors.view(longest, num_trees),
            words.view(longest, num_trees),
            affixes.view(longest, num_trees, -1),
            style,
            lengths - 2,
            torch.from_numpy(places),
        )


class SharedDropout(nn.Module):
    """Drops the same features at all words of a sentence, so that no neighbour can stand in for them."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Float[Tensor, "rows trees features"]) -> Float[Tensor, "rows trees features"]:
        if not self.training or not self.share:
            return x
        return x * nn.functional.dropout(x.new_ones(x.shape[1:]), self.share)


class WordEncoder(nn.Module):
    """A bidirectional LSTM over the features of each word and the style of the text."""

    def __init__(self, config: ParserConfig, num_vectors: int, num_words: int) -> None:
        super().__init__()
        # Fixed vectors are not weights: they are saved in a separate file and never trained.
        self.register_buffer("vectors", torch.zeros(num_vectors, config.vector_size), persistent=False)
        self.words = nn.Embedding(num_words, config.word_size)
        self.affixes = nn.Embedding(config.affix_rows, config.affix_size)
        self.styles = nn.Embedding(len(config.styles) + 1, config.style_size)
        # Words and affixes start close to zero beside the fixed vectors; a style counts from the start.
        for table, spread in ((self.words, 0.1), (self.affixes, 0.1), (self.styles, 1.0)):
            nn.init.normal_(table.weight, std=spread)
        sizes = [config.vector_size + config.word_size + config.affix_size + config.style_size]
        sizes += [2 * config.hidden] * (config.layers - 1)
        self.layers = nn.ModuleList(nn.LSTM(size, config.hidden, bidirectional=True) for size in sizes)
        self.dropout = SharedDropout(config.dropout)

    def train(self, mode: bool = True) -> Self:
        """Change the mode; what follows may have trained the weights."""
        forget_weights(self.layers)
        return super().train(mode)

    def forward(self, batch: SentenceBatch) -> Float[Tensor, "places trees states"]:
        styles = self.styles(batch.styles).expand(len(batch.words), -1, -1)
        vectors = nn.functional.embedding(batch.vectors, cast(Tensor, self.vectors))
        affixes = self.affixes(batch.affixes).sum(2)
        states = torch.cat([vectors, self.words(batch.words), affixes, styles], 2)
        is_sorted = batch.is_sorted
        if is_sorted and not self.training and runs_natively(states):
            for layer in self.layers:
                states = run_layer(cast(nn.LSTM, layer), states, batch.places)
            return states
        for layer in self.layers:
            packed = pack_padded_sequence(self.dropout(states), batch.places, enforce_sorted=is_sorted)
            states, _ = pad_packed_sequence(layer(packed)[0])
        return self.dropout(states)


class SpanScorer(nn.Module):
    """Scores every label for every span.

    A span is represented by the difference of the LSTM states at its two ends (Wang and Chang 2016; Stern et al.
    2017). Each end is multiplied once, not once per span.
    """

    def __init__(self, config: ParserConfig) -> None:
        super().__init__()
        self.ends = nn.Linear(2 * config.hidden, config.span_size, bias=False)
        self.bias = nn.Parameter(torch.zeros(config.span_size))
        self.norm = nn.LayerNorm(config.span_size)
        self.dropout = SharedDropout(config.dropout)
        self.labels = nn.Linear(config.span_size, len(config.labels) + 1)

    def forward(self, states: Float[Tensor, "places trees states"]) -> Float[Tensor, "spans trees labels"]:
        forwards, backwards = states.chunk(2, 2)
        # Between two words: the forward state of the first and the backward state of the second.
        ends = self.ends(torch.cat([forwards[:-1], backwards[1:]], 2))
        if not self.training and runs_natively(ends):
            return score_spans(ends, self.bias, self.norm, self.labels)
        first, last = span_borders(len(ends) - 1, states.device)
        if torch.is_grad_enabled():
            spans = ends.index_select(0, last) - ends.index_select(0, first) + self.bias
            return self.labels(self.dropout(nn.functional.relu(self.norm(spans))))
        # The same in place: there are many spans, and memory for them costs more than the arithmetic.
        spans = ends.index_select(0, last).sub_(ends.index_select(0, first)).add_(self.bias)
        return self.labels(self.dropout(self.norm(spans).relu_()))


class ParserModel(nn.Module):
    """Scores spans and tags from the numbers of words."""

    def __init__(self, config: ParserConfig, vector_words: Vocabulary, trained_words: Vocabulary) -> None:
        super().__init__()
        self.config = config
        self.features = WordFeatures(vector_words, trained_words, config.affix_rows)
        self.encoder = WordEncoder(config, vector_words.num_rows, trained_words.num_rows)
        self.spans = SpanScorer(config)
        self.tags = nn.Linear(2 * config.hidden, len(config.tags))

    @property
    def device(self) -> torch.device:
        return self.tags.weight.device

    @property
    def vectors(self) -> Float[Tensor, "words vector"]:
        """The fixed vectors; row 0, for unknown words, is zero."""
        return cast(Tensor, self.encoder.vectors)

    def set_vectors(self, vectors: Float[Tensor, "words vector"]) -> None:
        assert vectors.shape == self.vectors.shape
        self.encoder.vectors = vectors.to(self.device, torch.float32)

    def forward(
        self, batch: SentenceBatch
    ) -> tuple[Float[Tensor, "spans trees labels"], Float[Tensor, "words trees tags"]]:
        states = self.encoder(batch)
        return self.spans(states), self.tags(states[1:-1])

    def num_parameters(self) -> int:
        """Return the number of trained weights."""
        return sum(weight.numel() for weight in self.parameters())
