"""The network of the built-in parser in torch: it scores labels for all spans and tags for all words."""

from __future__ import annotations

from typing import Self, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.chart import span_borders
from lexitree.parsers.native_network import forget_weights, run_layer, runs_natively, score_spans
from lexitree.parsers.numbered_sentences import PaddedSentences
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.sentence_batch import SentenceBatch
from lexitree.parsers.span_network import FoundParses, RankedParses, SpanNetwork
from lexitree.parsers.torch_search import rank_trees, start_search
from lexitree.parsers.word_features import WordFeatures
from lexitree.pending import Pending


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
        if len(batch.places) == 1:
            # Nothing is padded.
            for layer in self.layers:
                states, _ = layer(self.dropout(states))
            return self.dropout(states)
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


class ParserModel(nn.Module, SpanNetwork):
    """Scores spans and tags from the numbers of words, on any device; it can be trained."""

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
    def device_type(self) -> str:
        return self.device.type

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

    def start_search(self, batch: PaddedSentences) -> Pending[FoundParses]:
        """Find the best trees; on a GPU, this does not wait for them."""
        return start_search(self, batch, self.device)

    def rank_trees(self, batch: PaddedSentences, k: int) -> RankedParses:
        return rank_trees(self, SentenceBatch.send(batch, self.device), k)

    def torch_network(self, purpose: str) -> ParserModel:
        del purpose
        return self

    def num_parameters(self) -> int:
        return sum(weight.numel() for weight in self.parameters())
