"""The built-in parser's network: scores labels for all spans and tags for all words of a batch of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.ops.tree_batch import send
from lexitree.parsers.chart import span_borders
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.word_features import WordFeatures, WordNumbers


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
        num_places = [len(sentence.words) for sentence in sentences]
        shape = max(num_places), len(sentences)
        vectors, words = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        affixes = np.zeros((*shape, sentences[0].affixes.shape[1]), np.int64)
        for column, sentence in enumerate(sentences):
            vectors[: num_places[column], column] = sentence.vectors
            words[: num_places[column], column] = sentence.words
            affixes[: num_places[column], column] = sentence.affixes
        places = torch.tensor(num_places)
        return cls(
            send(torch.from_numpy(vectors), device),
            send(torch.from_numpy(words), device),
            send(torch.from_numpy(affixes), device),
            send(torch.tensor(styles), device),
            send(places - 2, device),
            places,
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

    def forward(self, batch: SentenceBatch) -> Float[Tensor, "places trees states"]:
        styles = self.styles(batch.styles).expand(len(batch.words), -1, -1)
        vectors = nn.functional.embedding(batch.vectors, cast(Tensor, self.vectors))
        affixes = self.affixes(batch.affixes).sum(2)
        states = torch.cat([vectors, self.words(batch.words), affixes, styles], 2)
        is_sorted = batch.is_sorted
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
        first, last = span_borders(len(ends) - 1, states.device)
        spans = ends.index_select(0, last) - ends.index_select(0, first) + self.bias
        return self.labels(self.dropout(nn.functional.relu(self.norm(spans))))


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
